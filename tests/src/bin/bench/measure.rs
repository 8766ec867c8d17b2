//! Runs rivals in turns and measures each as a whole process: seconds and peak memory.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// The hidden first argument with which this program measures one command in a process of its own.
pub(crate) const ONCE: &str = "measure-once";

/// One of those that do the same.
#[derive(Debug)]
pub(crate) struct Rival {
    pub(crate) name: String,
    pub(crate) argv: Vec<OsString>,
}

impl Rival {
    pub(crate) fn new<W: AsRef<OsStr>>(name: &str, argv: impl IntoIterator<Item = W>) -> Self {
        Self { name: name.to_owned(), argv: argv.into_iter().map(|word| word.as_ref().to_owned()).collect() }
    }
}

/// What it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// Peak of resident memory, in MiB, of the largest process of it. Never less than what this program has itself: until it
    /// executes something else, a child counts as its copy.
    pub(crate) mebibytes: f64,
}

/// Runs one command and prints its cost: `seconds kibibytes status`.
pub(crate) fn once(argv: &[OsString], out: &mut dyn Write) -> io::Result<ExitCode> {
    let (program, args) = argv.split_first().ok_or_else(|| io::Error::other("a command is needed"))?;
    let start = Instant::now();
    let status = Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    writeln!(out, "{seconds} {peak} {}", status.code().unwrap_or(128))?;
    Ok(ExitCode::SUCCESS)
}

/// The medians of all rivals over some rounds, in which they take turns; one round more comes first, to warm up.
pub(crate) fn compare(rivals: &[Rival], folder: &Path, rounds: usize) -> io::Result<Vec<Cost>> {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); rivals.len()];
    for round in 0..=rounds {
        for (rival, costs) in rivals.iter().zip(&mut costs) {
            let cost = run(rival, folder)?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let median_of = |costs: &[Cost], of: fn(&Cost) -> f64| median(costs.iter().map(of).collect());
    Ok(costs
        .iter()
        .map(|costs| Cost { seconds: median_of(costs, |cost| cost.seconds), mebibytes: median_of(costs, |cost| cost.mebibytes) })
        .collect())
}

fn run(rival: &Rival, folder: &Path) -> io::Result<Cost> {
    let output = Command::new(std::env::current_exe()?).arg(ONCE).args(&rival.argv).current_dir(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        // Who fails has not done the same work.
        [seconds, kibibytes, 0.0] => Ok(Cost { seconds, mebibytes: kibibytes / 1024.0 }),
        _ => {
            let said: String = String::from_utf8_lossy(&output.stderr).chars().take(300).collect();
            Err(io::Error::other(format!("{}: {text} {said}", rival.name)))
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The file of a tool that is installed.
pub(crate) fn tool(name: &str) -> Option<OsString> {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file()).map(Into::into)
}

/// Python itself, not a launcher of it.
pub(crate) fn python() -> Option<OsString> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !path.is_empty()).then(|| path.into())
}

/// One row: a name, its seconds, and how the first of the table compares with it.
pub(crate) fn row(out: &mut dyn Write, name: &str, cost: Cost, ours: Option<Cost>) -> io::Result<()> {
    let ratio = ours.map(|ours| format!("{:>7.2}x", ours.seconds / cost.seconds)).unwrap_or_default();
    writeln!(out, "  {name:<46} {:>10.2} ms {:>8.1} MiB {ratio}", cost.seconds * 1000.0, cost.mebibytes)
}
