//! Supervisors that are killed again and again: attempts of a task never overlap.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tests::{Background, eventually, has_tool, minutes_from_now};

use super::{create, has_proc, holding, start};

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
