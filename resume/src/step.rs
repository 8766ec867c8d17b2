//! What a supervisor does next: a pure table of state and news.
//!
//! ```text
//! state        news                          next state    act
//! running      leader exited 0               done          -            its background processes are its own business
//!              leader ended otherwise        done          -            when nobody else is left
//!                                            terminating   TERM, CONT   when others are
//!              asked to stop, or a limit     terminating   TERM, CONT
//!              nothing                       running       -
//! terminating  leader ended, nobody left     done          -
//!              asked to stop for the first   terminating   -            a person asks once, whatever else is going on
//!                time
//!              grace over, or asked again,   killing       KILL
//!                or it floods its logs
//!              nothing                       terminating   -
//! killing      leader ended, nobody left     done          -
//!              5 s over                      not contained -
//!              nothing                       killing       KILL         again: they may have forked meanwhile
//! ```

use crate::contain::KILL_SECONDS;

/// Why an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal, not ours.
    Killed(i32),
    /// Over its time.
    Timeout,
    /// Silent for too long.
    Silent,
    /// It printed more than it may.
    OutputLimit,
    /// The pass's time is over.
    Budget,
    /// The task was cancelled meanwhile.
    Cancelled,
    /// It moved into a phase that needs a person's word.
    ManualPhase,
    /// `resume` itself was asked to stop.
    Interrupted(i32),
    /// An artifact that it builds on is not as it was recorded: nothing was started.
    ArtifactFault {
        /// One word.
        reason: &'static str,
        /// One sentence.
        detail: String,
    },
    /// The card was ended or given to somebody else before anything was started.
    Overtaken,
    /// It could not be started.
    NotStarted {
        /// By a fault of ours, not of the adapter.
        ours: bool,
        /// One sentence.
        detail: String,
    },
}

/// Where the supervision stands.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It does its work.
    Running,
    /// It was asked to end.
    Terminating {
        /// What made it end.
        why: Ending,
        /// Seconds since the start.
        kill_at: f64,
        /// Somebody asked to stop already.
        asked: bool,
    },
    /// It is killed.
    Killing {
        /// What made it end.
        why: Ending,
        /// Seconds since the start.
        give_up_at: f64,
    },
    /// It ended.
    Done {
        /// What made it end.
        why: Ending,
        /// Nothing of it is left that should have ended.
        contained: bool,
    },
}

/// What is known now.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// Seconds since the start that count.
    pub elapsed: f64,
    /// How the leader ended.
    pub leader: Option<Ending>,
    /// Nobody else of the attempt is left. Only asked when it matters.
    pub all_gone: bool,
    /// The signal that just asked to stop.
    pub stop: Option<i32>,
    /// The limit that is reached.
    pub limit: Option<Ending>,
    /// It was asked to end and prints as much again as it may.
    pub floods: bool,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Nothing,
    /// TERM, then CONT.
    Terminate,
    /// KILL.
    Kill,
}

/// The next state, and what to do on the way there.
#[must_use]
pub fn step(state: State, news: &News, grace_seconds: f64) -> (State, Act) {
    let elapsed = news.elapsed;
    let asked_now = news.stop.is_some();
    let terminate = |why: Ending| (State::Terminating { why, kill_at: elapsed + grace_seconds, asked: asked_now }, Act::Terminate);
    let done = |why: Ending| (State::Done { why, contained: true }, Act::Nothing);
    match state {
        State::Running => match (&news.leader, news.stop, &news.limit) {
            (Some(Ending::Exited(0)), ..) => done(Ending::Exited(0)),
            (Some(ending), ..) if news.all_gone => done(ending.clone()),
            (Some(ending), ..) => terminate(ending.clone()),
            (None, Some(signal), _) => terminate(Ending::Interrupted(signal)),
            (None, None, Some(limit)) => terminate(limit.clone()),
            (None, None, None) => (State::Running, Act::Nothing),
        },
        State::Terminating { why, .. } | State::Killing { why, .. } if news.leader.is_some() && news.all_gone => done(why),
        State::Terminating { why, kill_at, asked } if elapsed >= kill_at || (asked && asked_now) || news.floods => {
            (State::Killing { why, give_up_at: elapsed + KILL_SECONDS }, Act::Kill)
        }
        State::Terminating { why, kill_at, asked } => {
            (State::Terminating { why, kill_at, asked: asked || asked_now }, Act::Nothing)
        }
        State::Killing { why, give_up_at } if elapsed >= give_up_at => (State::Done { why, contained: false }, Act::Nothing),
        killing @ State::Killing { .. } => (killing, Act::Kill),
        done @ State::Done { .. } => (done, Act::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news() -> News {
        News { elapsed: 10.0, leader: None, all_gone: false, stop: None, limit: None, floods: false }
    }

    #[test]
    fn the_table() {
        let terminating = |why: Ending| State::Terminating { why, kill_at: 15.0, asked: false };
        let asked = |why: Ending| State::Terminating { why, kill_at: 15.0, asked: true };
        let killing = |why: Ending| State::Killing { why, give_up_at: 15.0 };
        let done = |why: Ending| State::Done { why, contained: true };
        let failed = Ending::Exited(3);
        let quiet = news();
        let exited = |code, all_gone| News { leader: Some(Ending::Exited(code)), all_gone, ..news() };
        let stop = News { stop: Some(15), ..news() };
        let limit = News { limit: Some(Ending::Timeout), ..news() };
        let flood = News { floods: true, ..news() };
        let later = News { elapsed: 15.0, ..news() };
        for (name, state, news, expected) in [
            ("nothing happens", State::Running, &quiet, (State::Running, Act::Nothing)),
            ("a good end", State::Running, &exited(0, true), (done(Ending::Exited(0)), Act::Nothing)),
            ("a good end that leaves others", State::Running, &exited(0, false), (done(Ending::Exited(0)), Act::Nothing)),
            ("a bad end", State::Running, &exited(3, true), (done(failed.clone()), Act::Nothing)),
            ("a bad end that leaves others", State::Running, &exited(3, false), (terminating(failed.clone()), Act::Terminate)),
            ("asked to stop", State::Running, &stop, (asked(Ending::Interrupted(15)), Act::Terminate)),
            ("a limit", State::Running, &limit, (terminating(Ending::Timeout), Act::Terminate)),
            (
                "an end at the limit is an end",
                State::Running,
                &News { limit: Some(Ending::Timeout), ..exited(0, true) },
                (done(Ending::Exited(0)), Act::Nothing),
            ),
            ("in the grace", terminating(Ending::Timeout), &quiet, (terminating(Ending::Timeout), Act::Nothing)),
            (
                "the leader obeys alone",
                terminating(Ending::Timeout),
                &exited(0, false),
                (terminating(Ending::Timeout), Act::Nothing),
            ),
            ("all obey", terminating(Ending::Timeout), &exited(0, true), (done(Ending::Timeout), Act::Nothing)),
            (
                "the grace is over",
                terminating(Ending::Timeout),
                &later,
                (State::Killing { why: Ending::Timeout, give_up_at: 20.0 }, Act::Kill),
            ),
            ("asked in the grace", terminating(Ending::Timeout), &stop, (asked(Ending::Timeout), Act::Nothing)),
            ("still in the grace", asked(Ending::Timeout), &quiet, (asked(Ending::Timeout), Act::Nothing)),
            ("asked again", asked(Ending::Timeout), &stop, (killing(Ending::Timeout), Act::Kill)),
            ("a flood", terminating(Ending::Timeout), &flood, (killing(Ending::Timeout), Act::Kill)),
            ("not dead yet", killing(Ending::Timeout), &quiet, (killing(Ending::Timeout), Act::Kill)),
            ("dead", killing(Ending::Timeout), &exited(9, true), (done(Ending::Timeout), Act::Nothing)),
            (
                "not to be killed",
                killing(Ending::Timeout),
                &later,
                (State::Done { why: Ending::Timeout, contained: false }, Act::Nothing),
            ),
        ] {
            assert_eq!(step(state, news, 5.0), expected, "{name}");
        }
    }
}
