//! `make proof`: layers of checks that people can repeat, each with a figure and with a negative control.
//!
//! A layer does one kind of harm to the real programs (or, for the simulation, to their decisions)
//! and asserts what may never happen. Its control does the same to a stand-in that is broken on
//! purpose, and fails unless the layer notices: a check that cannot fail proves nothing.
//!
//! ```text
//! proof [--seed N] [--no-control] [LAYER]...
//! ```

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use lexopt::prelude::{Long, Value};

mod call_order;
mod checkpointer;
mod concurrency;
mod controlled;
mod errnos;
mod installs;
mod kill_points;

mod killed_writers;
mod malformed;
mod mutator;
mod odd_cases;
mod odd_files;
mod power_loss;
mod random;
mod simulation;
mod stdin;
mod supervision;

/// What a layer is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// Everything random follows from it.
    pub(crate) seed: u64,
}

/// How a layer, or its control, ended well.
#[derive(Debug)]
pub(crate) enum Passed {
    /// What was done, with its figure: "812 points of 9 commands".
    Done(String),
    /// Why it could not be done here.
    Skipped(String),
}

impl Passed {
    /// Both of them: one that was skipped counts for both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Done(one), Self::Done(two)) => Self::Done(format!("{one}; {two}")),
            (skipped @ Self::Skipped(_), _) | (_, skipped) => skipped,
        }
    }
}

/// The error is the first thing that was wrong, with what is needed to repeat it.
pub(crate) type Outcome = Result<Passed, String>;

/// One kind of harm.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// Does it to the real programs.
    pub(crate) run: fn(&Context) -> Outcome,
    /// Does it to what is broken on purpose: done when that was noticed, with what was noticed.
    pub(crate) control: fn(&Context) -> Outcome,
}

const LAYERS: &[Layer] = &[
    Layer { name: "simulation", run: simulation::run, control: simulation::control },
    Layer { name: "malformed-cards", run: malformed::run, control: malformed::control },
    Layer { name: "stdin", run: stdin::run, control: stdin::control },
    Layer { name: "kill-points", run: kill_points::run, control: kill_points::control },
    Layer { name: "installs", run: installs::run, control: installs::control },
    Layer { name: "errnos", run: errnos::run, control: errnos::control },
    Layer { name: "call-order", run: call_order::run, control: call_order::control },
    Layer { name: "odd-files", run: odd_files::run, control: odd_files::control },
    Layer { name: "killed-writers", run: killed_writers::run, control: killed_writers::control },
    Layer { name: "concurrency", run: concurrency::run, control: concurrency::control },
    Layer { name: "power-loss-ext4", run: power_loss::ext4, control: power_loss::ext4_control },
    Layer { name: "power-loss-btrfs", run: power_loss::btrfs, control: power_loss::btrfs_control },
    Layer { name: "supervision", run: supervision::run, control: supervision::control },
];

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
}

fn main() -> io::Result<ExitCode> {
    let (context, with_controls, layers) = match parse() {
        Ok(parsed) => parsed,
        Err(error) => {
            writeln!(
                io::stderr(),
                "proof: {error}; layers: {}",
                LAYERS.iter().map(|layer| layer.name).collect::<Vec<_>>().join(", ")
            )?;
            return Ok(ExitCode::from(64));
        }
    };
    writeln!(io::stdout(), "seed {}", context.seed)?;
    let mut count = Count::default();
    for layer in layers {
        report(&mut count, layer.name, || (layer.run)(&context))?;
        if with_controls {
            report(&mut count, &format!("{} (control)", layer.name), || (layer.control)(&context))?;
        }
    }
    // The test runner's own closing line.
    writeln!(io::stdout(), "\n{} passed, {} failed, {} skipped", count.passed, count.failed, count.skipped)?;
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse() -> Result<(Context, bool, Vec<&'static Layer>), lexopt::Error> {
    let mut context = Context { seed: u64::from(SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.subsec_nanos())) };
    let mut with_controls = true;
    let mut layers = Vec::new();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => context.seed = parser.value()?.to_string_lossy().parse().map_err(|_| "--seed needs a number")?,
            Long("no-control") => with_controls = false,
            Value(name) => {
                let found = LAYERS.iter().find(|layer| name == layer.name);
                layers.push(found.ok_or_else(|| format!("no layer {}", name.to_string_lossy()))?);
            }
            other => return Err(other.unexpected()),
        }
    }
    if layers.is_empty() {
        layers.extend(LAYERS);
    }
    Ok((context, with_controls, layers))
}

fn report(count: &mut Count, name: &str, work: impl FnOnce() -> Outcome) -> io::Result<()> {
    let start = Instant::now();
    let outcome =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| Err("a panic, see above".to_owned()));
    let seconds = start.elapsed().as_secs_f64();
    let (word, what) = match &outcome {
        Ok(Passed::Done(what)) => ("ok", what),
        Ok(Passed::Skipped(why)) => ("SKIPPED", why),
        Err(what) => ("FAILED", what),
    };
    match outcome {
        Ok(Passed::Done(_)) => count.passed += 1,
        Ok(Passed::Skipped(_)) => count.skipped += 1,
        Err(_) => count.failed += 1,
    }
    writeln!(io::stdout(), "{name:<28} {word:<8} {seconds:>7.1} s  {what}")
}
