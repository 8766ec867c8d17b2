//! A stand-in for `openclaw`: answers as 2026.7.35 and 2026.9.6 did when they were recorded.
//!
//! Its state is in the folder `OPENCLAW_STAND_IN`:
//!
//! ```text
//! version        2026.7.35 or 2026.9.6
//! agents.json    what `agents list` answers
//! jobs.json      the jobs; scratch-<job>.json = {"content", "revision"}
//! down           there: no Gateway answers
//! refuse         there: adding a job is refused
//! moved          a number: so often the scratch changes between being read and written
//! calls          each call that was made, one JSON array a line
//! plugins.json   what it knows of a plugin: plugins.rs
//! ```
//!
//! Options that the real one was not seen to take are refused, so a test fails when one is invented.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/openclaw/", $name))
    };
}

mod plugins;

struct StandIn {
    folder: PathBuf,
    old: bool,
}

fn main() -> io::Result<ExitCode> {
    let folder = PathBuf::from(std::env::var_os("OPENCLAW_STAND_IN").unwrap_or_default());
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut calls = fs::OpenOptions::new().create(true).append(true).open(folder.join("calls"))?;
    writeln!(calls, "{}", json!(args))?;
    let old = fs::read_to_string(folder.join("version"))?.trim() == "2026.7.35";
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let stand_in = StandIn { folder, old };
    let (answer, status) = match stand_in.plugins(&words)? {
        Some((answer, complaint, status)) => {
            io::stderr().write_all(complaint.as_bytes())?;
            (answer, status)
        }
        None => stand_in.answer(&words)?,
    };
    io::stdout().write_all(answer.as_bytes())?;
    Ok(ExitCode::from(status))
}

impl StandIn {
    fn answer(&self, words: &[&str]) -> io::Result<(String, u8)> {
        match words {
            ["--version"] => {
                let text = if self.old { recorded!("2026.7.35/version.txt") } else { recorded!("2026.9.6/version.txt") };
                Ok((text.to_owned(), 0))
            }
            ["agents", "list", "--json"] => Ok((fs::read_to_string(self.folder.join("agents.json"))?, 0)),
            _ if self.has("down") => Ok((recorded!("2026.9.6/gateway-down-cron-list.json").to_owned(), 1)),
            ["cron", "list", "--all", "--json"] => Ok((self.jobs()?.to_string(), 0)),
            ["cron", "add", ..] if self.has("refuse") => Ok((recorded!("2026.9.6/refused.json").to_owned(), 1)),
            ["cron", "add", options @ ..] => self.add(options),
            ["cron", "rm", id, "--json"] => self.remove(id),
            ["cron", "scratch", ..] if self.old => {
                io::stderr().write_all(recorded!("2026.7.35/scratch-unknown.err").as_bytes())?;
                Ok((String::new(), 1))
            }
            ["cron", "scratch", job, "--json"] => Ok((self.scratch(job)?.to_string(), 0)),
            ["cron", "scratch", job, "--file", "-", "--expected-revision", revision, "--json"] => self.write(job, revision),
            _ => {
                writeln!(io::stderr(), "error: unknown command or option: {words:?}")?;
                Ok((String::new(), 1))
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    fn jobs(&self) -> io::Result<Value> {
        let recorded = if self.old { recorded!("2026.7.35/cron-list.json") } else { recorded!("2026.9.6/cron-list.json") };
        let mut list: Value = serde_json::from_str(recorded)?;
        if let Ok(text) = fs::read_to_string(self.folder.join("jobs.json")) {
            list["jobs"] = serde_json::from_str(&text)?;
        }
        list["total"] = list["jobs"].as_array().map_or(0, Vec::len).into();
        Ok(list)
    }

    /// Whole or not at all, as OpenClaw does it.
    fn save(&self, list: &Value) -> io::Result<()> {
        let new = self.folder.join(format!("jobs.json.{}", std::process::id()));
        fs::write(&new, list["jobs"].to_string())?;
        fs::rename(new, self.folder.join("jobs.json"))
    }

    fn add(&self, options: &[&str]) -> io::Result<(String, u8)> {
        let (mut options, mut deliver) = (options.iter(), true);
        let mut of = std::collections::BTreeMap::new();
        while let Some(option) = options.next() {
            match *option {
                "--no-deliver" => deliver = false,
                "--json" => {}
                "--name" | "--declaration-key" | "--every" | "--command-argv" | "--command-cwd" => {
                    of.insert(*option, *options.next().unwrap_or(&""));
                }
                unknown => return Ok((format!("error: unknown option '{unknown}'\n"), 1)),
            }
        }
        let text = |name: &str| of.get(name).copied().unwrap_or_default();
        let recorded = if self.old { recorded!("2026.7.35/cron-add.json") } else { recorded!("2026.9.6/cron-add.json") };
        let mut answer: Value = serde_json::from_str(recorded)?;
        let mut list = self.jobs()?;
        let jobs = list["jobs"].as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        let mut job = answer["job"].take();
        job["declarationKey"] = text("--declaration-key").into();
        job["name"] = text("--name").into();
        job["schedule"]["everyMs"] = milliseconds(text("--every")).into();
        job["payload"] = json!({"kind": "command", "argv": serde_json::from_str::<Value>(text("--command-argv"))?, "cwd": text("--command-cwd")});
        job["delivery"]["mode"] = if deliver { "announce" } else { "none" }.into();
        match jobs.iter_mut().find(|old| old["declarationKey"] == job["declarationKey"]) {
            Some(old) => {
                job["id"] = old["id"].clone();
                answer["created"] = false.into();
                answer["updated"] = (*old != job).into();
                *old = job.clone();
            }
            None => {
                job["id"] = format!("00000000-0000-4000-8000-{:012}", jobs.len()).into();
                answer["created"] = true.into();
                jobs.push(job.clone());
            }
        }
        answer["job"] = job;
        self.save(&list)?;
        Ok((answer.to_string(), 0))
    }

    fn remove(&self, id: &str) -> io::Result<(String, u8)> {
        let mut list = self.jobs()?;
        let jobs = list["jobs"].as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        let before = jobs.len();
        jobs.retain(|job| job["id"] != id);
        let mut answer: Value = serde_json::from_str(recorded!("2026.9.6/cron-rm.json"))?;
        answer["removed"] = (jobs.len() < before).into();
        self.save(&list)?;
        Ok((answer.to_string(), 0))
    }

    fn scratch(&self, job: &str) -> io::Result<Value> {
        let Ok(text) = fs::read_to_string(scratch_path(&self.folder, job)) else {
            return Ok(serde_json::from_str(recorded!("2026.9.6/scratch-empty.json"))?);
        };
        let held: Value = serde_json::from_str(&text)?;
        let mut answer: Value = serde_json::from_str(recorded!("2026.9.6/scratch-read.json"))?;
        for name in ["content", "revision"] {
            answer["scratch"][name] = held[name].clone();
        }
        answer["currentRevision"] = held["revision"].clone();
        Ok(answer)
    }

    fn write(&self, job: &str, expected: &str) -> io::Result<(String, u8)> {
        let mut content = String::new();
        io::stdin().read_to_string(&mut content)?;
        let mut revision = self.scratch(job)?["currentRevision"].as_u64().unwrap_or(0);
        // Someone else is quicker.
        let moved =
            fs::read_to_string(self.folder.join("moved")).ok().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
        if moved > 0 {
            fs::write(self.folder.join("moved"), (moved - 1).to_string())?;
            revision += 1;
            let theirs = format!("Theirs, {moved}.\n");
            fs::write(scratch_path(&self.folder, job), json!({"content": theirs, "revision": revision}).to_string())?;
        }
        if expected != revision.to_string() {
            let mut answer: Value = serde_json::from_str(recorded!("2026.9.6/scratch-stale-revision.json"))?;
            answer["error"]["message"] = format!("cron scratch changed concurrently (current revision {revision})").into();
            return Ok((answer.to_string(), 1));
        }
        fs::write(scratch_path(&self.folder, job), json!({"content": content, "revision": revision + 1}).to_string())?;
        let mut answer: Value = serde_json::from_str(recorded!("2026.9.6/scratch-write.json"))?;
        answer["scratch"] = json!({"content": content, "revision": revision + 1});
        answer["currentRevision"] = (revision + 1).into();
        Ok((answer.to_string(), 0))
    }
}

fn scratch_path(folder: &Path, job: &str) -> PathBuf {
    folder.join(format!("scratch-{job}.json"))
}

fn milliseconds(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let unit_ms = match unit {
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    number.parse::<u64>().unwrap_or(0) * unit_ms
}
