//! SIGKILL before every call of the installer that changes something: of all that it places, and of each trigger.
//!
//! Each kill is followed by a run that does the same again, and another one by a run that undoes it: what is there then is what is
//! left by runs that nobody disturbs, down to the byte. See `tests::install::killed`.

use tests::install::Bench;
use tests::install::killed::{Case, EVERYTHING, OTHERS, TRIGGERS, survives};
use tests::strace;

use crate::controlled::controlled;
use crate::{Context, Outcome, Passed};

/// So few would mean that the trace was not understood.
const POINTS_MIN: usize = 300;

pub(crate) fn run(_: &Context) -> Outcome {
    if let Err(why) = strace::is_usable() {
        return Ok(Passed::Skipped(why));
    }
    let mut points = 0;
    for case in std::iter::once(&EVERYTHING).chain(&TRIGGERS) {
        points += survives(case, 1)?;
    }
    if points < POINTS_MIN {
        return Err(format!("only {points} points"));
    }
    let names: Vec<&str> = TRIGGERS.iter().map(|case| case.name).collect();
    Ok(Passed::Done(format!("killed before {points} calls, twice each: of all that is placed, and of {}", names.join(", "))))
}

/// An installer of two files and a line of the crontab that believes what it sees first, leaves what it does not see, or empties
/// the crontab before it fills it.
pub(crate) fn control(_: &Context) -> Outcome {
    if let Err(why) = strace::is_usable() {
        return Ok(Passed::Skipped(why));
    }
    let broken = [("believes", "not installed as ever"), ("leaves", "not removed as ever"), ("empties", "are lost")];
    controlled(&broken, |mode| {
        let case =
            Case { name: "the stand-in", bench: bench_of(mode), first: &[], install: &["--install"], remove: &["--uninstall"] };
        survives(&case, 1).map(drop)
    })
}

fn bench_of(mode: &str) -> fn() -> Bench {
    match mode {
        "believes" => || bench("believes"),
        "leaves" => || bench("leaves"),
        "empties" => || bench("empties"),
        _ => || bench("sound"),
    }
}

fn bench(mode: &str) -> Bench {
    let mut bench = Bench::new();
    bench.put("stand-ins/crontab.text", OTHERS);
    std::fs::create_dir(bench.path("release")).expect("a folder");
    bench.workspace.write("release/heartbeat-install", &BROKEN.replace("@MODE@", mode));
    bench.release = bench.path("release");
    bench
}

/// `heartbeat-install --workspace DIR --install|--uninstall`
const BROKEN: &str = r#"#!/bin/sh
set -e
cd "$2"
is() { [ "$1" = @MODE@ ]; }
table=$STAND_INS/crontab.text
line() {
    { grep -v ours "$table" || :; [ "$1" = 0 ] || echo ours; } >"$table.new"
    if is empties; then : >"$table"; cat "$table.new" >"$table"; rm "$table.new"; else mv "$table.new" "$table"; fi
}
case $3 in
--install)
    if ! is believes || [ ! -e one ]; then echo 1 >one; echo 2 >two; fi
    line 1 ;;
--uninstall)
    line 0
    if ! is leaves || [ -e one ]; then rm -f one; rm -f two; fi ;;
esac
"#;
