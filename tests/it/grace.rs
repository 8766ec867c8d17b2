//! Between TERM and KILL: what shortens the grace, and what does not.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::eventually;

use crate::supervision::{HANG, WORK, add_task, end_of, has_proc, holding, lines_of, pid_of, start};

#[test]
fn the_first_signal_in_a_grace_shortens_nothing_and_the_second_ends_it() {
    for signals in [&["TERM"][..], &["TERM", "INT"]] {
        let workspace = holding();
        add_task(&workspace, "a", &format!("trap ': >term; {HANG}; {WORK}; exit 1' TERM\n{HANG}"));
        let mut resume = start(&workspace, &["a", "--timeout-seconds", "1", "--grace-seconds", "600"]);
        eventually("its time is over", || workspace.path("term").exists());
        for signal in signals {
            workspace.shell(&format!("kill -{signal} {}", pid_of(&resume))).ok();
        }
        if signals.len() == 1 {
            let begun = Instant::now();
            eventually("it was heard", || begun.elapsed() > Duration::from_millis(1500));
            assert!(resume.runs(), "the grace was cut short");
            fs::remove_file(workspace.path("hold")).unwrap();
        }
        let output = end_of(resume);
        // Of two that come at once the lower number is heard first.
        let heard = if signals.len() == 1 { 15 } else { output.status.code().unwrap() - 128 };
        assert!([2, 15].contains(&heard) && output.status.code() == Some(128 + heard), "{output:?}");
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&line["outcome"], line["progress"] == true), (&json!("timeout"), signals.len() == 1), "{line}");
    }
}

/// It ignores TERM and would fill the disk for ten minutes.
#[test]
fn whoever_prints_as_much_again_after_term_is_killed_at_once() {
    if !has_proc() {
        return;
    }
    let flood = "while [ -e hold ]; do head -c 100000 /dev/zero; sleep 0.02; done";
    for (script, limits, outcome) in [
        (format!("trap '' TERM; {flood}"), &["--output-limit", "1000000"][..], "output_limit"),
        (
            format!("trap ': >term' TERM; while [ ! -e term ]; do sleep 0.05; done; {flood}"),
            &["--output-limit", "1000000", "--timeout-seconds", "1"],
            "timeout",
        ),
    ] {
        let workspace = holding();
        add_task(&workspace, "a", &script);
        let lines = lines_of(start(&workspace, &[&["a", "--grace-seconds", "600"], limits].concat()));
        assert_eq!(lines[0]["outcome"], outcome, "{lines:?}");
        let printed = fs::metadata(workspace.card_path("logs/a/1.out")).unwrap().len();
        assert!(printed > 1_000_000, "{printed}");
    }
}
