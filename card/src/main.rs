//! `card`: makes, shows, changes, reports and files away run cards.

use std::process::ExitCode;

use shared::cli;

mod archive;
mod args;
mod block;
mod cleanup;
mod create;
mod decide;
mod export;
mod field;
mod import;
mod policies;
mod prune;
mod put;
mod report;
mod scaffold;
mod schema;
mod show;
mod table;
mod tally;
mod update;

use args::Verb;

fn main() -> ExitCode {
    cli::run("card", args::parse, |(common, verb)| match verb {
        Verb::Schema => cli::print(schema::SCHEMA),
        Verb::Field(wanted) => field::print(&common, &wanted),
        Verb::Report(wanted) => report::report(&common, &wanted),
        verb => {
            let (store, place) = common.open()?;
            match verb {
                Verb::Create(wanted) => create::create(&store, &place, &wanted),
                Verb::Show(wanted) => show::show(&store, &wanted),
                Verb::List(filter) => show::list(&store, &filter),
                Verb::Log(id) => show::log(&store, &id),
                Verb::Decide(decision) => decide::decide(&store, &decision),
                Verb::Update(wanted) => update::update(&store, &wanted),
                Verb::Put(id) => put::put(&store, &id),
                Verb::Archive(wanted) => archive::archive(&store, &wanted),
                Verb::Prune(wanted) => prune::prune(&store, &wanted),
                Verb::Import(wanted) => import::import(&store, &wanted),
                Verb::Export(wanted) => export::export(&store, &wanted),
                Verb::Schema => cli::print(schema::SCHEMA),
                Verb::Ask(wanted) => report::ask(&store, &wanted),
                Verb::Monitor(wanted) => report::monitor(&store, &common, &wanted),
                Verb::Report(wanted) => report::report(&common, &wanted),
                Verb::Field(wanted) => field::print(&common, &wanted),
            }
        }
    })
}
