//! Signals: the handlers only forward, one loop decides.
//!
//! TERM, INT and HUP ask `resume` to end; TSTP (Ctrl-Z) asks it to stop until it is continued; CHLD
//! only wakes it. A signal that was ignored when
//! `resume` was started (nohup) stays ignored.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shared::exit::{Error, cause};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// The signals that came and were not asked for yet.
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// The first signal that asked to end.
    first: Option<i32>,
    /// How many did.
    count: usize,
    /// Those that `wait` has not returned yet.
    unheard: Vec<i32>,
    suspension: bool,
    /// How long this process was stopped, in all.
    stopped: Duration,
    /// A child ended since `wait` last returned: whoever looked before that has to look again.
    child_ended: bool,
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn install() -> Result<Self, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("cannot install signal handlers: {}", cause(error)));
        let (read, write) = UnixStream::pair().map_err(|error| failed(&error))?;
        let ignored = ignored_signals();
        let mut wanted = vec![SIGCHLD];
        wanted.extend([SIGTERM, SIGINT, SIGHUP, SIGTSTP].into_iter().filter(|signal| !ignored.contains(signal)));
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, wanted).map_err(|error| failed(&error))?;
        Ok(Self {
            delivery,
            first: None,
            count: 0,
            unheard: Vec::new(),
            suspension: false,
            stopped: Duration::ZERO,
            child_ended: false,
        })
    }

    /// Waits until a signal comes, one of the files can be read, or the time is over. Returns the signals that ask to end and
    /// were not returned before.
    pub(crate) fn wait(&mut self, files: &[&dyn AsFd], at_most: Duration) -> Vec<i32> {
        self.gather();
        // What came while nobody waited is news, too.
        let is_news = !self.unheard.is_empty() || self.suspension || self.child_ended;
        let at_most = if is_news { Duration::ZERO } else { at_most };
        let millis = u16::try_from(at_most.as_millis()).unwrap_or(u16::MAX).max(u16::from(!at_most.is_zero()));
        let mut waited: Vec<PollFd<'_>> = vec![PollFd::new(self.delivery.get_read().as_fd(), PollFlags::POLLIN)];
        waited.extend(files.iter().map(|file| PollFd::new(file.as_fd(), PollFlags::POLLIN)));
        // An error is EINTR: a signal, which is asked for next.
        poll(&mut waited, PollTimeout::from(millis)).ok();
        self.gather();
        self.child_ended = false;
        std::mem::take(&mut self.unheard)
    }

    /// The first signal that asked to end, ever, up to this moment.
    pub(crate) fn first(&mut self) -> Option<i32> {
        self.gather();
        self.first
    }

    /// Whether more than one signal asked to end: nobody has patience any more.
    pub(crate) fn has_second(&self) -> bool {
        self.count > 1
    }

    /// Whether a person asked to stop for a while, since this was last asked.
    pub(crate) fn take_suspension(&mut self) -> bool {
        std::mem::take(&mut self.suspension)
    }

    /// Stops this process until somebody continues it. Returns how long that took.
    pub(crate) fn suspend(&mut self) -> Duration {
        let begun = Instant::now();
        kill(Pid::this(), Signal::SIGSTOP).ok();
        let time = begun.elapsed();
        self.was_stopped(time);
        time
    }

    /// Remembers time in which this process could do nothing.
    pub(crate) fn was_stopped(&mut self, time: Duration) {
        self.stopped += time;
    }

    /// How long this process was stopped, in all.
    pub(crate) fn stopped(&self) -> Duration {
        self.stopped
    }

    fn gather(&mut self) {
        for signal in self.delivery.pending() {
            match signal {
                SIGCHLD => self.child_ended = true,
                SIGTSTP => self.suspension = true,
                other => {
                    self.first.get_or_insert(other);
                    self.count += 1;
                    self.unheard.push(other);
                }
            }
        }
    }
}

/// The signals that are ignored, as far as the system tells.
fn ignored_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok()).unwrap_or_default();
    (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0).collect()
}
