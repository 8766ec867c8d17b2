//! `resume` as a job of a shell at a terminal.

use std::fs;

use serde_json::Value;
use tests::{Background, eventually, has_tool};

use crate::supervision::{HANG, add_task, holding, lines_of_text};

/// With `stty tostop` a background job that writes to the terminal is stopped, and would keep no limit any more.
#[test]
fn a_job_in_the_background_keeps_its_limits_and_draws_nothing() {
    if !has_tool("script") || !has_tool("stty") {
        return;
    }
    for (ampersand, is_drawn) in [("", true), ("& echo $! >job.pid; wait $!", false)] {
        let workspace = holding();
        add_task(&workspace, "a", &format!("echo $$ >>pids.txt; {HANG}"));
        workspace.write(
            "job.sh",
            &format!("stty tostop; set -m\nresume a --timeout-seconds 3 --grace-seconds 1 >out.jsonl {ampersand}\n: >over\n"),
        );
        let mut command = workspace.shell_command("exec script -qec 'sh job.sh' typescript");
        command.env("TERM", "xterm");
        let script = Background::start(command);
        eventually("it runs", || workspace.lines("pids.txt").len() == 1);
        eventually("it is stopped at its time", || workspace.path("over").exists());
        drop(script.output());
        let lines: Vec<Value> = lines_of_text(&fs::read_to_string(workspace.path("out.jsonl")).unwrap());
        assert_eq!(lines[0]["outcome"], "timeout", "{lines:?}");
        let seen = fs::read_to_string(workspace.path("typescript")).unwrap();
        assert_eq!(seen.contains("a · collect"), is_drawn, "{seen:?}");
    }
}
