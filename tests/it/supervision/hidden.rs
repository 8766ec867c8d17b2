//! Programs that hide: daemons, sessions, other names, other streams, zombies.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::{eventually, has_tool, minutes_from_now};

use super::{HANG, WORK, add_task, has_proc, holding, is_alive, leader_is_known, lines_of, pid_of, start};

/// It gives its output away, its environment, its name, or all of them: it is seen, and ended.
#[test]
fn whatever_an_adapter_does_to_its_streams_environment_and_name_it_is_seen_and_ended() {
    if !has_proc() {
        return;
    }
    let perl = "exec perl -e '$0 = \"x\" x 4000; open(my $file, \">>\", \"pids.txt\"); print $file \"$$\\n\"; close $file; \
                select(undef, undef, undef, 0.05) while -e \"hold\"'";
    let shell = format!("sh -c 'echo $$ >>pids.txt; {HANG}'");
    let variants = [
        ("stdout", format!("exec >own.log; exec {shell}")),
        ("stderr", format!("exec 2>own.log; exec {shell}")),
        ("both", format!("exec >own.log 2>&1; exec {shell}")),
        ("closed", format!("exec >&- 2>&-; exec {shell}")),
        ("env", format!("exec env -i PATH=\"$PATH\" {shell}")),
        ("env and stdout", format!("exec >own.log; exec env -i PATH=\"$PATH\" {shell}")),
        ("env and stderr", format!("exec 2>own.log; exec env -i PATH=\"$PATH\" {shell}")),
        ("env and both", format!("exec >own.log 2>&1; exec env -i PATH=\"$PATH\" {shell}")),
        ("session", format!("setsid {shell} & {HANG}")),
        ("perl", perl.to_owned()),
        ("perl and both", format!("exec >own.log 2>&1; {perl}")),
    ];
    for (name, script) in variants {
        if (name.starts_with("perl") && !has_tool("perl")) || (name == "session" && !has_tool("setsid")) {
            continue;
        }
        let workspace = holding();
        add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\n{script}"));
        let begun = |number: usize| {
            eventually("it runs", || workspace.lines("pids.txt").len() == number);
            workspace.lines("pids.txt")[number - 1].clone()
        };
        // Stopped by its supervisor.
        let resume = start(&workspace, &["a", "--grace-seconds", "0.5"]);
        let pid = begun(1);
        assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "supervised", "{name}");
        workspace.shell(&format!("kill -TERM {}", pid_of(&resume))).ok();
        let lines = lines_of(resume);
        assert_eq!(lines[0]["outcome"], "postponed", "{name}: {lines:?}");
        assert!(!is_alive(&pid), "{name}: it lives");
        // Its supervisor is killed: it counts as alive, and is ended when it was silent for too long.
        let mut resume = start(&workspace, &["a"]);
        let pid = begun(2);
        leader_is_known(&workspace, "a", 2);
        resume.kill();
        assert_eq!(workspace.run("watch", &[]).ok().stdout(), "", "{name}");
        assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "alive", "{name}");
        assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "attempt_alive", "{name}");
        fs::write(workspace.path("calm"), "").unwrap();
        let later = minutes_from_now(40);
        let line = workspace.shell(&format!("watch --now {later} | resume --now {later} --grace-seconds 0.5")).ok().one();
        assert_eq!(
            (&line["signal"], &line["attempt"], &line["outcome"]),
            (&json!("recovery"), &json!(3), &json!("progressed")),
            "{name}"
        );
        assert!(!is_alive(&pid), "{name}: it lives");
    }
}

#[test]
fn two_hundred_daemons_that_hide_are_all_found() {
    if !has_proc() || !has_tool("setsid") {
        return;
    }
    let daemon = "(env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM; : >daemons/$$; exec sleep 120' <&- >&- 2>&- &)";
    // A machine that is too slow for all of them to be there in time gets more of it.
    for timeout in [2, 4, 15, 60] {
        let workspace = holding();
        fs::create_dir(workspace.path("daemons")).unwrap();
        let daemons = || -> Vec<String> {
            let entries = fs::read_dir(workspace.path("daemons")).unwrap().flatten();
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
        };
        add_task(&workspace, "a", &format!("i=0; while [ $i -lt 200 ]; do {daemon}; i=$((i+1)); done; {HANG}"));
        let begun = Instant::now();
        let seconds = timeout.to_string();
        let line = workspace.run("resume", &["a", "--timeout-seconds", &seconds, "--grace-seconds", "0.5"]).ok().one();
        let took = begun.elapsed();
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("timeout")), "{line}");
        let all = daemons();
        let left: Vec<&String> = all.iter().filter(|pid| is_alive(pid)).collect();
        assert!(left.is_empty(), "{} of {} live: {left:?}", left.len(), all.len());
        if all.len() == 200 {
            // Three seconds after the grace; one and a half for its start and end on a machine under load.
            assert!(took < Duration::from_secs(timeout + 5), "{took:?}");
            return;
        }
    }
    panic!("two hundred daemons could not be started within a minute");
}

/// In a container whose first process reaps nobody: a zombie is not alive, and nobody waits for it.
#[test]
fn where_nobody_reaps_zombies_what_was_killed_is_gone_all_the_same() {
    if !has_tool("unshare") || !has_tool("mkfifo") {
        return;
    }
    let workspace = holding();
    if workspace.shell("unshare -Urpf --mount-proc true").status() != Some(0) {
        return tests::skip("a new pid namespace is not permitted");
    }
    let child = "sh -c 'echo $$ >>pids.txt; while [ -e hold ]; do sleep 0.05; done' &";
    add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\ntrap '' TERM; echo $$ >>pids.txt; {child} {HANG}"));
    let later = minutes_from_now(40);
    workspace.write(
        "inside.sh",
        &format!(
            "resume a --timeout-seconds 0.5 --grace-seconds 0.3 >first.out\n\
             before=$(wc -l <pids.txt); resume a --force & supervisor=$!\n\
             tries=0; while [ $(wc -l <pids.txt) -lt $((before + 2)) ] && [ $tries -lt 1000 ]; do sleep 0.02; tries=$((tries + 1)); done\n\
             kill -KILL $supervisor; wait $supervisor; : >calm\n\
             resume a --now {later} --grace-seconds 0.3 >second.out\n\
             for pid in $(cat pids.txt); do cat /proc/$pid/stat; done >states.txt 2>/dev/null\n\
             cat /proc/[0-9]*/stat | grep -c ') Z ' >zombies.txt\n\
             echo end >end.fifo\n"
        ),
    );
    // The first process of the namespace reads, and never waits for a child.
    workspace.shell("mkfifo end.fifo && unshare -Urpf --kill-child --mount-proc sh -c 'sh inside.sh & exec cat end.fifo'").ok();
    let line = |name: &str| -> Value { serde_json::from_str(&workspace.lines(name)[0]).unwrap() };
    assert_eq!((&line("first.out")["signal"], &line("first.out")["outcome"]), (&json!("alert"), &json!("timeout")));
    let second = line("second.out");
    assert_eq!((&second["signal"], &second["outcome"]), (&json!("recovery"), &json!("progressed")), "{second}");
    let states = workspace.lines("states.txt");
    assert!(states.iter().all(|stat| stat.contains(") Z ")), "{states:?}");
    assert_ne!(workspace.lines("zombies.txt"), ["0"], "somebody reaped them");
}
