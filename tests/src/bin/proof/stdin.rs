//! The layer `stdin`: broken input to what reads standard input: `resume`, `checkpoint -` and `card put`.
//!
//! Most of it goes, in this process, through the code that the programs read with (`readers`); the
//! rest through the programs themselves (`programs`): none may panic, hang, exit with another
//! status than its manual names, change a card that it should not, or lose a sound record beside
//! a broken one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mutator::{mutate, shown};
use crate::random::Random;
use crate::{Context, Outcome, Passed};

mod programs;
mod readers;

/// The ID of the card that is written.
const ID: &str = "t";

/// Runs all of it.
pub(crate) fn run(context: &Context) -> Outcome {
    let in_process = readers::run(context.seed)?;
    let through_programs = programs::run(context.seed)?;
    Ok(Passed::Done(format!(
        "{} mutations: {in_process} in process, {through_programs} through resume, checkpoint - and card put",
        in_process + through_programs
    )))
}

/// Runs it on what is broken on purpose.
pub(crate) fn control(context: &Context) -> Outcome {
    let readers = readers::control(context.seed)?;
    let programs = programs::control(context.seed)?;
    Ok(Passed::Done(format!("{readers} broken readers and {programs} broken programs noticed")))
}

/// What flows in the pipe, with these IDs in it.
fn records(ids: &[&str]) -> Vec<String> {
    let mut records = Vec::new();
    for id in ids {
        records.push(format!(
            r#"{{"signal":"alert","task_id":"{id}","task_type":"report","title":"月报","phase":"collect","status":"running","reason":"silent","stale_for_minutes":45,"retry_count":0,"max_retries":3}}"#
        ));
        records.push(format!(r#"{{"signal":"ready","task_id":"{id}","phase":"render"}}"#));
        records.push(format!(r#"{{"signal":"needs_attention","task_id":"{id}","phase":"send","reason":"no_adapter","detail":"","next":"card show {id}"}}"#));
        records.push(format!(
            r#"{{"signal":"recovery","task_id":"{id}","from_phase":"a","to_phase":"b","attempt":2,"outcome":"progressed"}}"#
        ));
        records.push(format!("{{\n  \"task_id\": \"{id}\",\n  \"revision\": 3,\n  \"status\": \"running\"\n}}"));
        records.push(format!(r#"["{id}", {{"signal":"alert","task_id":"{id}"}}, ["{id}"]]"#));
        records.push(format!(
            r#"{{"alerts":[{{"signal":"alert","task_id":"{id}"}}],"needs_attention":[{{"signal":"needs_attention","task_id":"{id}"}}],"active_needs_attention":[]}}"#
        ));
        records.push(format!("\"{id}\""));
        records.push((*id).to_owned());
    }
    records
}

/// What `checkpoint -` reads.
const ANSWERS: &[&str] = &[
    r#"{"phase":"collect","next_phase":"send","status":"running","message":"250 of 1000","artifacts":{"raw":"raw.json","phase_plan":{"plan":"/tmp/plan.md"}},"steps":[{"name":"one","status":"done","result":"fine"},{"name":"three"}],"context":{"cursor":500},"metadata":{"owner":"bob"},"reason":"blocked","retry_after_seconds":1.5,"continue":true,"other":null}"#,
    r#"{"message":"a sign of life"}"#,
    r#"{"status":"stalled","retry_after_seconds":600}"#,
    r#"{"status":"needs_attention","reason":"captcha","message":"solve it"}"#,
    r#"{"status":"completed","artifacts":{"report":"/tmp/report.html"}}"#,
    "{}",
];

/// Checks one input, and says how to do it again when it fails.
fn examine(seed: u64, number: u64, bytes: &[u8], check: impl FnOnce(&[u8]) -> Result<(), String>) -> Result<(), String> {
    let why = match catch_unwind(AssertUnwindSafe(|| check(bytes))) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(_) => "a panic".to_owned(),
    };
    let path = std::env::temp_dir().join(format!("proof-stdin-{seed}-{number}"));
    let saved = std::fs::write(&path, bytes).map_or_else(|error| error.to_string(), |()| path.display().to_string());
    Err(format!("{why}\n  input {number} of --seed {seed}, saved as {saved}: {}", shown(bytes)))
}

/// A mutation of one of these texts.
fn mutation(seed: u64, number: u64, texts: &[&[u8]]) -> Vec<u8> {
    let mut random = Random::new(seed, number);
    mutate(random.pick(texts), texts, &mut random)
}

fn slices(texts: &[String]) -> Vec<&[u8]> {
    texts.iter().map(String::as_bytes).collect()
}
