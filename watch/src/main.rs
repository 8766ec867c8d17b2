//! `watch`: says which cards need something, and what. It writes nothing but stdout.

use std::process::ExitCode;

use shared::cli;
use shared::facts::Observer;
use shared::last_pass::LastPass;

mod args;
mod explain;
mod look;
mod print;

fn main() -> ExitCode {
    cli::run("watch", args::parse, |wanted| {
        let (store, _) = wanted.common.open()?;
        let last_pass = LastPass::load(&store);
        let observer = Observer::new(&store, &last_pass);
        match &wanted.explain {
            Some(id) => explain::explain(&store, &observer, id.as_ref(), &wanted),
            None => print::print(&store, &observer, &last_pass, &wanted),
        }
    })
}
