//! Many runs of the same kind, on all cores; and the one that is most often made: a writer killed at a point.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::strace::{self, Point};
use crate::writers::{self, Writer};

/// Does the work for each item, until so many failed.
///
/// # Errors
/// The first failure, and the first line of each further one.
pub fn each<T: Sync>(items: &[T], failures_max: usize, work: impl Fn(&T) -> Result<(), String> + Sync) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(item) {
                        let mut failures = failures.lock().expect("no worker panicked");
                        failures.push(error);
                        if failures.len() >= failures_max {
                            next.store(items.len(), Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no worker panicked");
    let Some((first, others)) = failures.split_first() else { return Ok(()) };
    let others = others.iter().map(|other| format!("\nand {}", other.lines().next().unwrap_or_default()));
    Err(first.clone() + &others.collect::<String>())
}

/// The points of a writer, from a trace of it: with `everything` before each call, else before those about files and the answer.
///
/// # Errors
/// When it fails without any harm.
pub fn points(writer: &Writer, everything: bool) -> Result<Vec<Point>, String> {
    let workspace = writer.workspace();
    let calls = strace::calls(&workspace, writer)?;
    Ok(strace::points(&workspace, &calls, everything))
}

/// Kills a writer at a point: each card is the old one or a newer one, what was answered is in it, and whoever comes next can go on.
///
/// # Errors
/// What is not so; and that it was not killed.
pub fn kill(writer: &Writer, point: &Point) -> Result<(), String> {
    for _ in 0..writer.tries() {
        let workspace = writer.workspace();
        let before = writers::cards(&workspace)?;
        let command = strace::under(&writer.command(&workspace), point.harmed(&workspace, "signal=KILL"), "/dev/null");
        let ran = workspace.finish(command, writer.input());
        let check = || {
            let after = writers::cards(&workspace)?;
            writers::are_old_or_new(&before, &after)?;
            writers::is_kept(&ran.stdout(), &after)?;
            writers::next_works(&workspace, writer)
        };
        check().map_err(|what| format!("{}, killed before {point}: {what}\n{ran}", writer.name))?;
        if writers::was_killed(&ran) {
            return Ok(());
        }
    }
    Err(format!("{}: it was not killed before {point}", writer.name))
}

/// Kills a writer before each of its calls about files, one a run. Returns how many there are.
///
/// # Errors
/// As `kill`.
pub fn kill_everywhere(writer: &Writer) -> Result<usize, String> {
    let points = points(writer, false)?;
    each(&points, 1, |point| kill(writer, point))?;
    Ok(points.len())
}
