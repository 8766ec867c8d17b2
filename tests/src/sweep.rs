//! Many runs of the same kind, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
