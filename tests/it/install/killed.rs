//! Killed at any moment, it can simply be run again. Quick samples: `make proof` kills it before every call that changes something.

use tests::install::killed::{EVERYTHING, TRIGGERS, survives};
use tests::{skip, strace};

#[test]
fn an_installation_and_its_removal_that_are_killed_are_run_again() {
    if let Err(why) = strace::is_usable() {
        return skip(&why);
    }
    let points = survives(&EVERYTHING, 61).unwrap();
    assert!(points >= 5, "only {points} points");
}

#[test]
fn each_trigger_that_is_cut_short_is_put_in_or_taken_out_by_the_next_run() {
    if let Err(why) = strace::is_usable() {
        return skip(&why);
    }
    for case in TRIGGERS {
        let points = survives(&case, 11).unwrap();
        assert!(points >= 2, "only {points} points of {}", case.name);
    }
}
