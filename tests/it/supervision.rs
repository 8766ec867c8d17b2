//! A supervisor that can be trusted with anything: programs that hang, fork, hide, ignore signals, and supervisors that are killed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Background, Workspace, eventually, has_tool, minutes_from_now, word};

/// What an adapter does that hangs until its workspace is gone.
pub(crate) const HANG: &str = "while [ -e hold ]; do sleep 0.05; done";
/// What it does to bring its task forward.
pub(crate) const WORK: &str = "\"$TASK_BIN/checkpoint\" \"$TASK_ID\" --message \"$TASK_ATTEMPT\" >&2";

/// A workspace in which adapters hang, as long as the test runs.
pub(crate) fn holding() -> Workspace {
    let workspace = Workspace::new();
    fs::write(workspace.path("hold"), "").unwrap();
    workspace
}

pub(crate) fn create(workspace: &Workspace, id: &str, adapter: &Path, more: &[&str]) {
    let at = minutes_from_now(-45);
    let args = ["create", id, "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(adapter), "--cooldown-seconds", "0"], more].concat()).ok();
}

/// A task that is silent for 45 minutes.
pub(crate) fn add_task(workspace: &Workspace, id: &str, script: &str) {
    let adapter = workspace.write(&format!("{id}.sh"), &format!("#!/bin/sh\n{script}\n"));
    create(workspace, id, &adapter, &[]);
}

/// Changes a card as it is in the file.
pub(crate) fn change(workspace: &Workspace, id: &str, fields: &Value) {
    let mut card = workspace.card(id);
    card.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    workspace.put_card(id, &card.to_string());
}

/// Nobody else's on this machine, where other tests run, too.
pub(crate) fn token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{:08x}{:08x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A run that was recorded by a supervisor that is gone.
pub(crate) fn run_of_a_dead_supervisor(workspace: &Workspace, token: &str, pid: u32) -> Value {
    let host = workspace.shell("uname -n").stdout().trim().to_owned();
    let run = json!({"attempt": 1, "token": token, "host": host, "pid": pid, "started_at": minutes_from_now(-45), "charged": true});
    json!({"attempt": 1, "run": run})
}

pub(crate) fn start(workspace: &Workspace, args: &[&str]) -> Background {
    let mut command = workspace.command("resume");
    command.args(args);
    Background::start(command)
}

/// Its end, which comes.
pub(crate) fn end_of(mut resume: Background) -> Output {
    eventually("resume ends", || !resume.runs());
    resume.output()
}

pub(crate) fn lines_of(resume: Background) -> Vec<Value> {
    lines_of_text(&String::from_utf8(end_of(resume).stdout).unwrap())
}

pub(crate) fn lines_of_text(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn has_proc() -> bool {
    let there = Path::new("/proc/self/stat").exists();
    if !there {
        tests::skip("there is no /proc");
    }
    there
}

/// Whether this process lives; a zombie does not.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn kill_by_pid(pid: &str) {
    kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).unwrap();
}

/// The living processes that carry such a cookie, with the cookie.
fn carriers(prefix: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.parse::<u32>().is_ok());
    pids.filter_map(|pid| carried(&pid, prefix).map(|cookie| (pid, cookie))).collect()
}

fn carried(pid: &str, prefix: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    entries.filter_map(|entry| entry.strip_prefix("TASK_ATTEMPT=")).find(|cookie| cookie.starts_with(prefix)).map(str::to_owned)
}

/// A process that is none of resume's business, in a group of its own. It notes each signal that it gets.
pub(crate) fn stranger(workspace: &Workspace, name: &str, environment: &[(&str, &str)], stdin: Stdio) -> Background {
    let ready = format!("{name}.ready");
    let script = format!(
        "trap 'echo {name} >>signalled.txt' TERM INT HUP QUIT CONT USR1 USR2; : >{name}.ready\n\
         while [ -e hold ]; do sleep 0.05; done"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(workspace.path("")).env_clear().env("PATH", "/usr/bin:/bin");
    command.envs(environment.iter().copied()).stdin(stdin).process_group(0);
    let process = Background::start(command);
    eventually("the stranger is ready", || workspace.path(&ready).exists());
    process
}

/// Its number, as `/proc` names it.
pub(crate) fn pid_of(process: &Background) -> String {
    process.0.id().to_string()
}

#[test]
fn what_keeps_the_output_after_a_good_end_is_not_waited_for_and_counts_as_alive() {
    let workspace = holding();
    let background = "sh -c 'echo $$ >worker.pid; exec sleep 120' & while [ ! -s worker.pid ]; do sleep 0.02; done";
    add_task(&workspace, "a", &format!("if [ ! -e again ]; then : >again; {background}; else {WORK}; fi"));
    let begun = Instant::now();
    let line = workspace.run("resume", &["a", "--grace-seconds", "60"]).ok().one();
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited: {:?}", begun.elapsed());
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("started"), &json!("background")));
    let worker = workspace.lines("worker.pid")[0].clone();
    assert!(!has_proc() || is_alive(&worker));
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "alive");
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "attempt_alive");
    kill_by_pid(&worker);
    eventually("it is due", || workspace.run("watch", &[]).stdout().contains("attempt_died"));
    assert_eq!(workspace.shell("watch | resume").ok().one()["outcome"], "progressed");
}

#[test]
fn what_ignores_term_is_gone_soon_after_the_grace() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    // One of them obeys, which tells when the grace began.
    let child = "sh -c 'echo $$ >>pids.txt; while [ -e hold ]; do sleep 0.05; done' &";
    let teller = "sh -c 'trap \": >term; exit\" TERM; : >ready; while [ -e hold ]; do sleep 0.02; done' &";
    add_task(
        &workspace,
        "a",
        &format!("{teller} while [ ! -e ready ]; do sleep 0.02; done; trap '' TERM; echo $$ >>pids.txt; {child} {HANG}"),
    );
    let resume = start(&workspace, &["a", "--timeout-seconds", "1.5", "--grace-seconds", "1"]);
    eventually("both run", || workspace.lines("pids.txt").len() == 2);
    eventually("the time is over", || workspace.path("term").exists());
    let begun = Instant::now();
    let pids = workspace.lines("pids.txt");
    // It gets its grace, of which the first part is over when this is seen.
    eventually("half of the grace is over", || begun.elapsed() > Duration::from_millis(500));
    let all_there = begun.elapsed() > Duration::from_millis(900) || pids.iter().all(|pid| is_alive(pid));
    assert!(all_there, "ended before the grace was over");
    eventually("both are gone", || !pids.iter().any(|pid| is_alive(pid)));
    // One second of grace and one after KILL; two for a machine under load.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("alert"), &json!("timeout")), "{lines:?}");
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

/// Numbers are given out anew after a restart of a container, or when they went round.
#[test]
fn strangers_under_the_pids_of_a_dead_attempt_and_its_supervisor_are_left_alone() {
    if !has_tool("unshare") || !has_tool("mkfifo") {
        return;
    }
    let workspace = holding();
    let asks = "echo 5000 >/proc/sys/kernel/ns_last_pid";
    if workspace.shell(&format!("unshare -Urpf --mount-proc sh -c '{asks}'")).status() != Some(0) {
        return tests::skip("a new pid namespace, or choosing a pid in it, is not permitted");
    }
    add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\necho $$ >pid.txt; {HANG}"));
    // It starts no process of its own, whose number could be the wanted one.
    let waits = "exec 3<>never.fifo; while :; do read line <&3; done";
    workspace.write("stranger.sh", &format!("trap 'echo TERM >>signalled.txt' TERM\necho $$ >>strangers.txt\n{waits}\n"));
    let wait_for =
        |condition: &str| format!("tries=0; until {condition} || [ $tries -gt 3000 ]; do sleep 0.02; tries=$((tries + 1)); done\n");
    workspace.write(
        "inside.sh",
        &format!(
            "mkfifo never.fifo; resume a & supervisor=$!\n{}kill -KILL $supervisor; wait $supervisor\n\
             leader=$(cat pid.txt); kill -KILL -$leader; {}\
             echo $supervisor >dead.txt; echo $leader >>dead.txt\n\
             for pid in $supervisor $leader; do\n\
             echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid; setsid sh stranger.sh &\n{}done\n\
             : >calm; watch >watch.out; resume --grace-seconds 0.3 <watch.out >resume.out\n\
             for pid in $(cat strangers.txt); do kill -0 $pid && echo $pid >>alive.txt; done\n",
            wait_for("[ -s pid.txt ]"),
            // A number is free when it is no longer anyone's group either.
            wait_for("! kill -0 -$leader 2>/dev/null"),
            wait_for("grep -qsx $pid strangers.txt"),
        ),
    );
    workspace.shell("unshare -Urpf --kill-child --mount-proc sh -c 'sh inside.sh; exit 0'").ok();
    let dead = workspace.lines("dead.txt");
    assert_eq!((dead.len(), workspace.lines("strangers.txt")), (2, dead.clone()), "they got other numbers");
    let line = |name: &str| -> Value { serde_json::from_str(&workspace.lines(name)[0]).unwrap() };
    assert_eq!(line("watch.out")["reason"], "attempt_died");
    assert_eq!((&line("resume.out")["signal"], &line("resume.out")["outcome"]), (&json!("recovery"), &json!("progressed")));
    assert_eq!((workspace.lines("alive.txt"), workspace.lines("signalled.txt")), (dead, vec![]));
}

#[test]
fn two_hundred_daemons_that_hide_are_all_found() {
    if !has_proc() || !has_tool("setsid") {
        return;
    }
    let daemon = "(env -i PATH=\"$PATH\" setsid sh -c 'trap \"\" TERM; : >daemons/$$; exec sleep 120' <&- >&- 2>&- &)";
    // A machine that is too slow for all of them to be there in time gets more of it.
    for timeout in [4, 15, 60] {
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

/// Stops the observer when the test ends, well or not.
struct Watching<'a>(&'a AtomicBool);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Two attempts that were alive at one time.
fn overlaps(prefix: &str, watching: &AtomicBool) -> Vec<String> {
    let mut found = Vec::new();
    while watching.load(Ordering::Relaxed) {
        let seen = carriers(prefix);
        let newest = seen.iter().max_by_key(|(_, cookie)| number_of(cookie));
        if let Some((_, newest)) = newest {
            // An older one that still lives when a newer one was seen.
            let older = seen.iter().filter(|(_, cookie)| number_of(cookie) < number_of(newest));
            let both = older.filter(|(pid, cookie)| carried(pid, prefix).as_ref() == Some(cookie));
            found.extend(both.map(|(_, cookie)| format!("{cookie} and {newest}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    found
}

fn number_of(cookie: &str) -> u64 {
    cookie.split('/').nth(1).unwrap().parse().unwrap()
}

#[test]
fn attempts_never_overlap_however_often_their_supervisors_are_killed() {
    if !has_proc() || !has_tool("flock") {
        return;
    }
    const ROUNDS: u64 = 40;
    let workspace = holding();
    // Nobody else's, on the whole machine.
    let id = format!("cut_{}", std::process::id());
    let script = "exec 9>>mutex; flock -n 9 || echo \"$TASK_ATTEMPT\" >>overlaps.txt\n\
                  trap '' TERM; echo \"$TASK_ATTEMPT\" >>begun.txt; n=0\n\
                  while [ -e hold ]; do\n\
                  \"$TASK_BIN/checkpoint\" $TASK_ID --message \"$TASK_ATTEMPT $n\" >/dev/null 2>&1\n\
                  [ $? != 77 ] || echo \"$TASK_ATTEMPT\" >>late.txt\n\
                  n=$((n+1)); sleep 0.02; done\n\
                  \"$TASK_BIN/card\" complete $TASK_ID";
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\n{script}\n"));
    create(&workspace, &id, &adapter, &["--max-retries", "10000", "--max-failures", "10000", "--timeout-seconds", "0"]);
    // Silent for whoever claims next.
    let later = minutes_from_now(40);
    let supervisor = |grace: &str| start(&workspace, &[&id, "--now", &later, "--grace-seconds", grace]);
    // A supervisor until this is true, then none.
    let until = |what: &str, grace: &str, condition: &dyn Fn() -> bool| {
        let mut current = supervisor(grace);
        eventually(what, || {
            let met = condition();
            if !met && !current.runs() {
                current = supervisor(grace);
            }
            met
        });
        current.kill();
    };
    let attempt = || workspace.card(&id)["attempt"].as_u64().unwrap_or_default();
    let has = |file: &str, number: u64| workspace.lines(file).iter().any(|cookie| number_of(cookie) == number);
    let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let mut random = u64::from(seed) | 1;
    let watching = AtomicBool::new(true);
    let prefix = format!("{id}/");
    let seen = std::thread::scope(|scope| {
        let observer = scope.spawn(|| overlaps(&prefix, &watching));
        let stop = Watching(&watching);
        // The kills fall into the time that a start takes here, and as much after it.
        let begun = Instant::now();
        until("the first attempt works", "0", &|| has("begun.txt", attempt()));
        let longest = 2 * u64::try_from(begun.elapsed().as_millis()).unwrap().clamp(50, 500);
        for round in 0..ROUNDS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if round % 5 == 4 {
                // Two in a row are killed after the claim and before they could end the one before them, which lives and is fenced.
                while !has("begun.txt", attempt()) {
                    until("the newest attempt works", "0", &|| has("begun.txt", attempt()));
                }
                let old = attempt();
                // Not the next number: a supervisor that was killed before its claim stood leaves logs, whose number is not used again.
                for _ in 0..2 {
                    let before = attempt();
                    until("the next one is claimed", "30", &|| attempt() > before);
                }
                eventually("it is told that it is superseded", || has("late.txt", old));
            } else {
                let mut rivals: Vec<Background> =
                    (0..1 + random % 2).map(|_| supervisor(["0", "0.1"][(random >> 8) as usize % 2])).collect();
                std::thread::sleep(Duration::from_millis((random >> 16) % longest));
                rivals.iter_mut().for_each(Background::kill);
            }
        }
        drop(stop);
        observer.join().unwrap()
    });
    assert_eq!(seen, [""; 0], "seed {seed}");
    assert_eq!(workspace.lines("overlaps.txt"), [""; 0], "seed {seed}");
    let begun = workspace.lines("begun.txt");
    assert!(begun.len() >= 9, "only {} attempts began: seed {seed}", begun.len());
    assert_eq!(begun.iter().collect::<BTreeSet<_>>().len(), begun.len(), "an attempt began twice: {begun:?}");
    assert!(workspace.lines("late.txt").iter().collect::<BTreeSet<_>>().len() >= 8);
    fs::remove_file(workspace.path("hold")).unwrap();
    until("the task is finished", "0", &|| workspace.card(&id)["status"] == "completed");
    eventually("nothing of it lives", || carriers(&prefix).is_empty());
    assert_eq!(workspace.lines("overlaps.txt"), [""; 0], "seed {seed}");
}

/// Forty rounds when `TASK_TESTS_LONG` is set.
#[test]
fn sixteen_passes_at_once_run_each_of_eight_tasks_once() {
    let rounds = if std::env::var_os("TASK_TESTS_LONG").is_some() { 40 } else { 10 };
    let workspace = holding();
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\necho $TASK_ID >>ran.txt; {WORK}\n"));
    create(&workspace, "template", &adapter, &[]);
    let template = workspace.card("template");
    fs::remove_file(workspace.card_path("template.json")).unwrap();
    let busy = || Background::start(workspace.shell_command("while [ -e hold ]; do :; done"));
    let _busy = [busy(), busy()];
    for round in 0..rounds {
        let ids: Vec<String> = (0..8).map(|number| format!("r{round}_{number}")).collect();
        for id in &ids {
            let mut card = template.clone();
            card["task_id"] = id.as_str().into();
            workspace.put_card(id, &card.to_string());
        }
        let passes: Vec<Background> = (0..16).map(|_| Background::start(workspace.shell_command("watch | resume"))).collect();
        let mut lines = Vec::new();
        for pass in passes {
            let output = pass.output();
            let text = String::from_utf8(output.stdout).unwrap();
            // On a machine that is slow enough somebody waits for a card's lock in vain, says so and leaves the task to the others.
            let gave_up = output.status.code() == Some(75) && text.contains("\"reason\":\"busy\"");
            assert!(output.status.success() || gave_up, "{}", String::from_utf8_lossy(&output.stderr));
            lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        let mut ran = workspace.lines("ran.txt");
        ran.sort_unstable();
        assert_eq!(ran, ids, "round {round}: {lines:?}");
        let mut told: Vec<&str> =
            lines.iter().filter(|line| line["signal"] == "recovery").map(|line| line["task_id"].as_str().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(told, ids, "round {round}: {lines:?}");
        assert!(lines.iter().all(|line| line["signal"] == "recovery" || line["signal"] == "skipped"), "{lines:?}");
        for id in &ids {
            assert_eq!(workspace.card(id)["attempt"], 1);
            fs::remove_file(workspace.card_path(&format!("{id}.json"))).unwrap();
        }
        fs::remove_file(workspace.path("ran.txt")).unwrap();
    }
}

/// The supervisor is gone, by a crash or with the whole machine, and its number is somebody else's now.
#[test]
fn a_stranger_under_a_recorded_number_is_never_signalled() {
    for logs in [false, true] {
        let workspace = holding();
        add_task(&workspace, "a", &format!("echo $TASK_ATTEMPT >>ran.txt; {HANG}"));
        add_task(&workspace, "b", HANG);
        let mut other = stranger(&workspace, "stranger", &[], Stdio::null());
        let own = token();
        change(&workspace, "a", &run_of_a_dead_supervisor(&workspace, &own, other.0.id()));
        change(&workspace, "b", &run_of_a_dead_supervisor(&workspace, &token(), other.0.id()));
        if logs {
            // After a new start of the machine they are still there, and no lock is.
            for id in ["a", "b"] {
                workspace
                    .shell(&format!("mkdir -p data/task-runs/logs/{id} && cd data/task-runs/logs/{id} && : >1.in >1.out >1.err"))
                    .ok();
            }
        }
        let lines = workspace.run("watch", &[]).ok().json();
        assert!(lines.len() == 2 && lines.iter().all(|line| line["reason"] == "attempt_died"), "{lines:?}");
        workspace.run("card", &["cancel", "b"]).ok();
        assert_eq!(workspace.run("watch", &[]).ok().json().len(), 1, "nothing of it lives");
        workspace.run("resume", &["b"]).ok();
        // The next attempt is ended by its time-out, and nobody else.
        let line = workspace.shell("watch | resume --timeout-seconds 0.5 --grace-seconds 0.2").ok().one();
        assert_eq!((&line["outcome"], &line["attempt"]), (&json!("timeout"), &json!(2)), "{line}");
        assert_eq!(workspace.lines("ran.txt"), [format!("a/2/{own}")]);
        assert!(other.runs());
        assert_eq!(workspace.lines("signalled.txt"), [""; 0]);
    }
}

#[test]
fn whoever_carries_a_similar_cookie_is_never_signalled() {
    if !has_proc() {
        return;
    }
    let own = token();
    let workspace = holding();
    add_task(&workspace, "report_1", HANG);
    change(&workspace, "report_1", &run_of_a_dead_supervisor(&workspace, &own, 1));
    workspace.shell("mkdir -p data/task-runs/logs/report_1 && cd data/task-runs/logs/report_1 && : >1.in >1.out >1.err").ok();
    let cookies = [
        ("TASK_ATTEMPT", format!("report_10/1/{own}")),
        ("TASK_ATTEMPT", format!("report_10/2/{own}")),
        ("TASK_ATTEMPT", format!("report_/1/{own}")),
        ("TASK_ATTEMPT", format!("xreport_1/1/{own}")),
        ("TASK_ATTEMPT", "report_1/1/fedcba9876543210".to_owned()),
        ("TASK_ATTEMPT", "report_1/2/fedcba9876543210".to_owned()),
        ("TASK_ATTEMPT", format!("report_1/1/{own}0")),
        ("TASK_ATTEMPT", format!("report_1/1/{own}/1")),
        ("TASK_ATTEMPT", format!("report_1/12/{own}")),
        ("TASK_ATTEMPT", format!("report_1/3/{own}")),
        ("TASK_ATTEMPTS", format!("report_1/1/{own}")),
        ("OLD_TASK_ATTEMPT", format!("report_1/2/{own}")),
        ("NOTE", format!("TASK_ATTEMPT=report_1/1/{own}")),
    ];
    let mut strangers: Vec<Background> = (0..)
        .zip(&cookies)
        .map(|(number, (name, value)): (usize, _)| stranger(&workspace, &format!("s{number}"), &[(name, value)], Stdio::null()))
        .collect();
    // Somebody who reads the log of the attempt.
    let log = fs::File::open(workspace.card_path("logs/report_1/1.out")).unwrap();
    strangers.push(stranger(&workspace, "reader", &[], log.into()));
    let survivor = stranger(&workspace, "survivor", &[("TASK_ATTEMPT", &format!("report_1/1/{own}"))], Stdio::null());
    // Its logs were just made.
    let later = minutes_from_now(40);
    assert_eq!(workspace.run("watch", &["--now", &later]).ok().one()["reason"], "attempt_silent");
    // The survivor is ended before the next attempt starts, and that by its time-out.
    let resume = format!("watch --now {later} | resume --now {later} --timeout-seconds 0.5 --grace-seconds 0.3");
    let line = workspace.shell(&resume).ok().one();
    assert_eq!((&line["outcome"], &line["attempt"]), (&json!("timeout"), &json!(2)), "{line}");
    assert!(!is_alive(&pid_of(&survivor)), "the survivor lives");
    assert!(workspace.lines("signalled.txt").iter().all(|name| name == "survivor"), "{:?}", workspace.lines("signalled.txt"));
    for (number, process) in strangers.iter_mut().enumerate() {
        assert!(process.runs(), "{number}: {:?}", cookies.get(number));
    }
}

#[test]
fn an_attempt_of_another_task_or_workspace_goes_on_when_one_is_ended() {
    let script = format!("trap 'echo $TASK_ID >>signalled.txt' TERM CONT; echo $TASK_ID >>ran.txt; {HANG}; {WORK}");
    let (here, elsewhere) = (holding(), holding());
    let tasks = [(&here, "report_1"), (&here, "report_10"), (&elsewhere, "report_1"), (&elsewhere, "report_10")];
    for (workspace, id) in tasks {
        add_task(workspace, id, &script);
    }
    let others: Vec<Background> = tasks[1..].iter().map(|(workspace, id)| start(workspace, &[id])).collect();
    eventually("the others run", || here.lines("ran.txt").len() == 1 && elsewhere.lines("ran.txt").len() == 2);
    let line = here.run("resume", &["report_1", "--timeout-seconds", "0.7", "--grace-seconds", "0.3"]).ok().one();
    assert_eq!(line["outcome"], "timeout");
    assert!(here.lines("signalled.txt").iter().all(|id| id == "report_1"));
    for workspace in [&here, &elsewhere] {
        fs::remove_file(workspace.path("hold")).unwrap();
    }
    for other in others {
        let lines = lines_of(other);
        assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("recovery"), &json!("progressed")), "{lines:?}");
    }
    assert_eq!(elsewhere.lines("signalled.txt"), [""; 0]);
    assert!(here.lines("signalled.txt").iter().all(|id| id == "report_1"));
}

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
        // The adapter may be quicker than its supervisor writes down which process that is.
        let leader = workspace.path("data/task-runs/logs/a/2.pid");
        eventually("its leader is known", || fs::read_to_string(&leader).is_ok_and(|text| text.ends_with('\n')));
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
fn three_hundred_megabytes_on_both_streams_block_nobody() {
    let workspace = holding();
    add_task(
        &workspace,
        "a",
        &format!(
            "head -c 150000000 /dev/zero >&2 & head -c 150000000 /dev/zero; wait\n{WORK}\n\
             [ $(($(wc -c <data/task-runs/logs/a/1.out) + $(wc -c <data/task-runs/logs/a/1.err))) -ge 300000000 ] || exit 3"
        ),
    );
    add_task(&workspace, "b", &format!("head -c 1000000 /dev/zero >&2; {HANG}"));
    assert_eq!(workspace.run("resume", &["a"]).ok().one()["outcome"], "progressed");
    let line =
        workspace.run("resume", &["b", "--output-limit", "999999", "--grace-seconds", "0.2", "--timeout-seconds", "60"]).ok().one();
    assert_eq!(line["outcome"], "output_limit", "{line}");
}

#[test]
fn a_pool_that_is_asked_to_end_leaves_nothing_running_and_all_go_on_in_the_next_pass() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let workspace = holding();
        let ids = ["a", "b", "c", "d"];
        // One child each obeys nobody.
        let child = format!("sh -c 'trap \"\" TERM INT HUP; echo $$ >>pids.txt; {HANG}' &");
        for id in ids {
            add_task(&workspace, id, &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\necho $$ >>pids.txt; {child} {HANG}"));
        }
        let mut command = workspace.command("resume");
        command.args(ids).args(["--grace-seconds", "0.3"]).process_group(0);
        let resume = Background::start(command);
        eventually("all run", || workspace.lines("pids.txt").len() == 8);
        // As a terminal does it: to the whole group.
        killpg(Pid::from_raw(i32::try_from(resume.0.id()).unwrap()), signal).unwrap();
        let output = end_of(resume);
        assert_eq!(output.status.code(), Some(128 + signal as i32));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((text.lines().count(), text.matches("\"postponed\"").count()), (4, 4), "{text}");
        for pid in workspace.lines("pids.txt").iter().filter(|_| has_proc()) {
            assert!(!is_alive(pid), "{signal}: {pid} lives");
        }
        for id in ids {
            let card = workspace.card(id);
            assert_eq!(
                (&card["status"], &card["outcome"]["kind"], card.get("run")),
                (&json!("stalled"), &json!("postponed"), None)
            );
            assert_eq!((card["retry_count"].as_u64(), card["failures"].as_u64(), card.get("not_before")), (Some(0), Some(0), None));
        }
        fs::write(workspace.path("calm"), "").unwrap();
        let lines = workspace.shell("watch | resume").ok().json();
        let again: BTreeSet<&str> = lines.iter().map(|line| line["task_id"].as_str().unwrap()).collect();
        assert!(lines.iter().all(|line| line["outcome"] == "progressed" && line["attempt"] == 2), "{lines:?}");
        assert_eq!(again, BTreeSet::from(ids));
    }
}

#[test]
fn one_that_hangs_to_its_time_out_delays_no_other() {
    // A machine that is too slow for all others to be done in time gets more of it.
    for timeout in ["6", "20", "60"] {
        let workspace = holding();
        let adapter =
            workspace.write("adapter.sh", &format!("#!/bin/sh\n[ $TASK_ID != t00 ] || {{ : >hangs; {HANG}; }}\n{WORK}\n"));
        create(&workspace, "t00", &adapter, &["--timeout-seconds", timeout]);
        let first = workspace.card("t00");
        let ids: Vec<String> = (0..50).map(|number| format!("t{number:02}")).collect();
        for id in &ids[1..] {
            let mut card = first.clone();
            card["task_id"] = id.as_str().into();
            card["timeout_seconds"] = 300.into();
            workspace.put_card(id, &card.to_string());
        }
        let args: Vec<&str> = ids.iter().map(String::as_str).chain(["--jobs", "4", "--grace-seconds", "0.2"]).collect();
        let lines = workspace.run("resume", &args).ok().json();
        assert_eq!(lines.len(), 50, "{lines:?}");
        assert!(workspace.path("hangs").exists());
        for line in &lines {
            assert_eq!(line["outcome"], if line["task_id"] == "t00" { "timeout" } else { "progressed" }, "{line}");
        }
        // Lines come as attempts end.
        if lines[49]["task_id"] == "t00" {
            return;
        }
    }
    panic!("the other 49 were not done within a minute");
}

#[test]
fn a_passs_time_is_kept() {
    let workspace = holding();
    for id in ["a", "b"] {
        add_task(&workspace, id, &format!("trap '' TERM; {HANG}"));
    }
    let begun = Instant::now();
    let lines = workspace.run("resume", &["a", "b", "--budget-seconds", "1.5", "--grace-seconds", "0.5"]).ok().json();
    let took = begun.elapsed();
    assert!(lines.len() == 2 && lines.iter().all(|line| line["outcome"] == "budget"), "{lines:?}");
    // The budget, the grace and a second; one and a half for a machine under load.
    assert!((Duration::from_millis(1500)..Duration::from_millis(4500)).contains(&took), "{took:?}");
}

#[test]
fn a_detached_attempt_from_cron_outlives_everything_that_started_it() {
    let workspace = holding();
    add_task(&workspace, "a", &format!("echo $$ >>pids.txt; {HANG}; {WORK}"));
    let bin = tests::programs().display();
    let folder = word(&workspace.path("")).to_owned();
    let script = format!("cd '{folder}' && '{bin}/watch' | '{bin}/resume' --detach >>data/recovery.log 2>&1");
    let mut cron = Command::new("/bin/sh");
    cron.args(["-c", &script]).env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("SHELL", "/bin/sh")]);
    cron.stdin(Stdio::null()).process_group(0);
    let pass = Background::start(cron);
    let group = Pid::from_raw(i32::try_from(pass.0.id()).unwrap());
    assert!(end_of(pass).status.success());
    // Whoever was left in its group is killed; nobody was.
    assert!(killpg(group, Signal::SIGKILL).is_err(), "something was left in the group");
    let line: Value = serde_json::from_str(&workspace.lines("data/recovery.log")[0]).unwrap();
    assert_eq!(line, json!({"signal": "started", "task_id": "a", "attempt": 1}));
    eventually("it runs", || workspace.lines("pids.txt").len() == 1);
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "supervised");
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
    fs::remove_file(workspace.path("hold")).unwrap();
    eventually("it is settled", || workspace.card_path(".outbox/a.1").exists());
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!((&line["signal"], &line["task_id"], &line["outcome"]), (&json!("recovery"), &json!("a"), &json!("progressed")));
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
}

/// What cannot work is a person's, and nothing is claimed; what was found out by trying is a failed attempt.
#[test]
fn an_adapter_that_cannot_be_started_is_told_with_its_own_reason() {
    let cases = [
        ("chmod 644 a.sh", "adapter_missing", "a.sh is not executable; run chmod +x on it"),
        ("rm a.sh", "adapter_missing", "a.sh: No such file or directory"),
        ("rm a.sh; mkdir a.sh", "adapter_missing", "a.sh is no regular file"),
        ("rm a.sh; ln -s nowhere a.sh", "adapter_missing", "a.sh: No such file or directory"),
        ("chmod 777 a.sh", "adapter_insecure", "a.sh: "),
        ("chmod 777 .", "adapter_insecure", "a.sh: everyone may write its folder"),
    ];
    for (spoil, reason, detail) in cases {
        let workspace = Workspace::new();
        add_task(&workspace, "a", "echo run >>ran.txt");
        workspace.shell(spoil).ok();
        let before = workspace.card("a");
        for script in ["watch | resume", "resume a"] {
            let line = workspace.shell(script).ok().one();
            assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!(reason)), "{spoil}: {line}");
            assert!(line["detail"].as_str().unwrap().contains(detail), "{spoil}: {line}");
        }
        assert_eq!(workspace.card("a"), before, "{spoil}");
        assert!(workspace.lines("ran.txt").is_empty(), "{spoil}");
    }
    let cases = [
        ("#!/nowhere/sh\necho run >>ran.txt\n", "its first line names an interpreter that is not there: /nowhere/sh"),
        ("#!/bin/sh\r\necho run >>ran.txt\r\n", "its first line ends with a carriage return; save it with Unix line ends"),
        ("echo run >>ran.txt\n", "it is neither a program nor a script with a #! line"),
        ("", "it is neither a program nor a script with a #! line"),
    ];
    for (text, detail) in cases {
        let workspace = Workspace::new();
        add_task(&workspace, "a", "");
        let adapter = workspace.write("a.sh", text);
        let line = workspace.shell("watch | resume").ok().one();
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("failed")), "{text:?}: {line}");
        let shown = line["detail"].as_str().unwrap();
        assert!(shown.starts_with(&format!("cannot start {}: ", word(&adapter))) && shown.contains(detail), "{text:?}: {line}");
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
        assert!(workspace.lines("ran.txt").is_empty(), "{text:?}");
    }
}

/// Between the claim and the start an earlier attempt has its grace; the adapter is deleted in that time.
#[test]
fn an_adapter_that_is_deleted_after_the_claim_is_a_failed_attempt() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    add_task(&workspace, "a", "echo run >>ran.txt");
    let own = token();
    let mut survivor = stranger(&workspace, "survivor", &[("TASK_ATTEMPT", &format!("a/1/{own}"))], Stdio::null());
    change(&workspace, "a", &run_of_a_dead_supervisor(&workspace, &own, 1));
    let resume = start(&workspace, &["a", "--grace-seconds", "30"]);
    eventually("the survivor was asked to end", || !workspace.lines("signalled.txt").is_empty());
    assert_eq!(workspace.card("a")["attempt"], 2);
    fs::remove_file(workspace.path("a.sh")).unwrap();
    survivor.kill();
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("alert"), &json!("failed")), "{lines:?}");
    assert!(lines[0]["detail"].as_str().unwrap().ends_with("a.sh: No such file or directory"), "{lines:?}");
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
    assert_eq!(workspace.run("watch", &[]).ok().one()["reason"], "adapter_missing");
    assert!(workspace.lines("ran.txt").is_empty());
}

#[test]
fn an_attempt_that_completes_its_task_itself_may_finish_its_own_work() {
    let workspace = holding();
    let complete = "\"$TASK_BIN/card\" complete a --message done >&2";
    add_task(
        &workspace,
        "a",
        &format!("trap 'echo TERM >>signalled.txt' TERM; {complete}; echo $$ >pid.txt; {HANG}; echo over >after.txt"),
    );
    let mut resume = start(&workspace, &["a"]);
    eventually("it is completed", || workspace.card("a")["status"] == "completed" && !workspace.lines("pid.txt").is_empty());
    let begun = Instant::now();
    eventually("its supervisor looked at the card more than once", || begun.elapsed() > Duration::from_millis(2500));
    assert!(resume.runs());
    fs::remove_file(workspace.path("hold")).unwrap();
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("recovery"), &json!("completed")), "{lines:?}");
    assert_eq!((workspace.lines("after.txt"), workspace.lines("signalled.txt")), (vec!["over".to_owned()], vec![]));
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
}
