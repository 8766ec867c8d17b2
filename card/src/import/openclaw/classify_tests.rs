//! `runs.jsonl`: ended runs as they were measured and as they are told of, each with the class that is expected of it, whether its
//! session has an open card, and whether it was finished in truth.

use serde_json::Value;

use super::*;

const RUNS: &str = include_str!("runs.jsonl");

fn cases() -> Vec<Value> {
    RUNS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn class(case: &Value) -> Class {
    let run = Run::of_record(case["run"].as_object().unwrap()).unwrap();
    classify(&run, &Phrases::default(), case["open_card"].as_bool().unwrap())
}

fn word(class: Class) -> &'static str {
    match class {
        Class::Interrupted(reason) => reason.word(),
        Class::Finished => "finished",
        Class::Ignore(_) => "ignore",
    }
}

#[test]
fn every_run_is_what_is_expected() {
    let wrong: Vec<String> = cases()
        .iter()
        .filter(|case| word(class(case)) != case["class"])
        .map(|case| format!("{}: {} was expected, it is {}", case["case"], case["class"], word(class(case))))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let chinese = cases().iter().filter(|case| case["run"].to_string().chars().any(|c| c > '\u{3000}')).count();
    assert!(cases().len() >= 60 && chinese >= 15, "{} cases, {chinese} of them Chinese", cases().len());
}

/// A finished run that is resumed, and an unfinished one that completes its card, are the mistakes that cost.
#[test]
fn no_finished_run_is_resumed_and_no_other_completes_a_card() {
    for case in cases() {
        let finished = case["is_finished"] == true;
        for open_card in [false, true] {
            let mut case = case.clone();
            case["open_card"] = open_card.into();
            match class(&case) {
                // Without a card an announcement is an answer, and completes nothing.
                Class::Finished => assert!(finished || !open_card, "{case}"),
                // A card says that a task is under way: then a failed tool is not the whole answer.
                Class::Interrupted(_) => assert!(!finished || (open_card && case["class"] == "ignore"), "{case}"),
                Class::Ignore(_) => {}
            }
        }
    }
}
