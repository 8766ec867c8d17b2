//! `make bench`: what the programs cost, beside what people would use instead. One table; all rows of one run on one machine.
//!
//! Rivals of a row take turns with each other, and the median of each counts, so that a busy machine is busy for all of them.
//! Figures are for comparison within a run, never a test. `bench PART...` measures some parts only.

use std::io::{self, Write};
use std::process::ExitCode;

mod checkpoint;
mod import;
mod measure;
mod programs;
mod supervision;
mod watch;

type Part = (&'static str, fn(&mut dyn Write) -> io::Result<()>);

const PARTS: [Part; 5] = [
    ("watch", watch::bench),
    ("checkpoint", checkpoint::bench),
    ("import", import::bench),
    ("programs", programs::bench),
    ("supervision", supervision::bench),
];

fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let mut out = io::stdout().lock();
    let wanted: Vec<String> = match arguments.next().as_deref().and_then(|word| word.to_str()) {
        // Its own peak of memory is that of its one child.
        Some(measure::ONCE) => return measure::once(&arguments.collect::<Vec<_>>(), &mut out),
        Some(first) => [first.to_owned()].into_iter().chain(arguments.map(|word| word.to_string_lossy().into_owned())).collect(),
        None => Vec::new(),
    };
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(known, _)| known == name)) {
        writeln!(io::stderr(), "bench: no part {unknown}; parts: {}", PARTS.map(|(name, _)| name).join(", "))?;
        return Ok(ExitCode::from(64));
    }
    programs::machine(&mut out)?;
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part(&mut out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
