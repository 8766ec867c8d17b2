//! The shapes that heartbeat texts really have.

use super::section::{Ours, Record, lost, put, take};

fn ours() -> Ours {
    Ours { section: "## Task recovery\n\nRun it.\n".to_owned(), entry: Some(("5m".to_owned(), "Run it.".to_owned())) }
}

const SECTION: &str = "<!-- task-recovery:begin (made by heartbeat-install, which refreshes and removes it) -->\n\
    ## Task recovery\n\nRun it.\n<!-- task-recovery:end -->\n";
const ENTRY: &str = "- name: task-recovery\n  interval: 5m\n  prompt: \"Run it.\"\n";

/// Puts it in, twice, and takes it out; what it was in between.
fn round(text: Option<&str>) -> String {
    let (first, record) = put(text, &ours(), None).unwrap();
    assert_eq!(put(Some(&first), &ours(), Some(&record)).unwrap(), (first.clone(), record.clone()), "not the same again");
    assert_eq!(take(&first, Some(&record)).unwrap().as_deref(), text, "not taken out of {first:?} ({record:?})");
    first
}

#[test]
fn a_text_without_tasks_gets_a_section_at_its_end() {
    assert_eq!(round(None), SECTION);
    for (text, lead) in [
        ("# Mine\n", "\n"),
        ("# Mine", "\n\n"),
        ("# Mine\n\n", ""),
        ("<!-- nothing -->\n\n# H\n", "\n"),
        ("\n", ""),
        ("检查邮件。\n", "\n"),
        ("tasks:\n", "\n"),
        ("tasks:\n\n# Not an entry\n", "\n"),
    ] {
        assert_eq!(round(Some(text)), format!("{text}{lead}{SECTION}"));
    }
    let crlf = "# Mine\r\n\r\nProse.\r\n";
    assert_eq!(round(Some(crlf)), format!("{crlf}\r\n{}", SECTION.replace('\n', "\r\n")));
    // An empty file is no missing file.
    assert_eq!(put(Some(""), &ours(), None).unwrap().0, SECTION);
}

#[test]
fn a_tasks_block_gets_an_entry_behind_its_last() {
    let entry = "- name: mail\n  interval: 30m\n  prompt: \"Check mail\"\n";
    for after in ["", "\n", "\n## Prose\n\nMore.\n", "# Prose\n", "\nplain words\n"] {
        let text = format!("# Mine\n\ntasks:\n\n{entry}\n{entry}{after}");
        assert_eq!(round(Some(&text)), format!("# Mine\n\ntasks:\n\n{entry}\n{entry}{ENTRY}{after}"));
    }
    let open = format!("tasks:\n{}", entry.trim_end());
    assert_eq!(round(Some(&open)), format!("{open}\n{ENTRY}"));
    let indented = "tasks:\n  - name: mail\n    interval: 1h\n";
    let placed = "  - name: task-recovery\n    interval: 5m\n    prompt: \"Run it.\"\n";
    assert_eq!(round(Some(indented)), format!("{indented}{placed}"));
    let crlf = "tasks:\r\n- name: mail\r\n  interval: 1h\r\n\r\nEnd\r\n";
    assert!(round(Some(crlf)).contains("interval: 1h\r\n- name: task-recovery\r\n  interval: 5m\r\n"));
}

#[test]
fn the_predecessors_section_is_replaced_and_comes_back() {
    let old =
        "## Task Runtime Recovery Check\n\n```bash\n# look\npython3 scripts/task_runtime_watch.py --auto-resume\n```\n\nReport.\n";
    for (before, after) in [("", ""), ("# Mine\n\n", ""), ("# Mine\n\n", "\n## More\n\nProse\n"), ("", "\n# More\n")] {
        let text = format!("{before}{old}{after}");
        assert_eq!(round(Some(&text)), format!("{before}{SECTION}{after}"));
        let other = text.replace("## Task Runtime Recovery Check", "## Task Recovery Check");
        assert_eq!(round(Some(&other)), format!("{before}{SECTION}{after}"));
    }
    let open = old.trim_end();
    assert_eq!(round(Some(open)), SECTION.trim_end());
}

#[test]
fn an_older_section_is_refreshed_in_place_and_taken_out() {
    let older = "# Mine\n\n<!-- task-recovery:begin -->\nold words\n<!-- task-recovery:end -->\n\nProse\n";
    let (text, record) = put(Some(older), &ours(), None).unwrap();
    assert_eq!(text, format!("# Mine\n\n{SECTION}\nProse\n"));
    assert_eq!(put(Some(&text), &ours(), Some(&record)).unwrap().0, text);
    assert_eq!(take(&text, Some(&record)).unwrap().unwrap(), "# Mine\n\n\nProse\n");
}

#[test]
fn what_others_write_meanwhile_stays() {
    let (text, record) = put(Some("no end"), &ours(), None).unwrap();
    assert_eq!(take(&format!("new\n{text}later\n"), Some(&record)).unwrap().unwrap(), "new\nno end\nlater\n");
    let (text, record) = put(None, &ours(), None).unwrap();
    assert_eq!(take(&format!("{text}later\n"), Some(&record)).unwrap().unwrap(), "later\n");
    // A block that came later turns the section into an entry, one that went away turns it back.
    let (text, record) = put(Some("# Mine\n"), &ours(), None).unwrap();
    let block = "tasks:\n- name: mail\n  interval: 1h\n";
    let (turned, record) = put(Some(&format!("{text}\n{block}")), &ours(), Some(&record)).unwrap();
    assert_eq!(turned, format!("# Mine\n\n{block}{ENTRY}"));
    let (back, record) = put(Some(&turned.replace("- name: mail\n  interval: 1h\n", "")), &ours(), Some(&record)).unwrap();
    assert_eq!(take(&back, Some(&record)).unwrap().unwrap(), "# Mine\n\ntasks:\n");
}

#[test]
fn half_a_mark_is_not_guessed_at() {
    for text in ["<!-- task-recovery:begin -->\nwords\n", "words\n<!-- task-recovery:end -->\n"] {
        assert!(put(Some(text), &ours(), None).is_err());
        assert!(take(text, Some(&Record::default())).is_err());
    }
}

#[test]
fn what_others_wrote_between_our_marks_is_named() {
    let (text, record) = put(Some("# Mine\n"), &ours(), None).unwrap();
    assert_eq!(lost(&text, &record), None);
    let written = text.replace("Run it.\n", "Run it.\n\n  Call my mother.\r\nRun it.\n");
    let told = lost(&written, &record).unwrap();
    assert!(told.contains("taken out: \"Call my mother.\"; write it outside"), "{told}");
    // Ours of an earlier version is ours, also when the update was cut between the record and the text.
    let later = Ours { section: "## Task recovery\n\nRun it twice.\n".to_owned(), entry: None };
    let (_, updated) = put(Some(&text), &later, Some(&record)).unwrap();
    assert_eq!((updated.placed.as_str(), updated.was.as_str()), (later.section.as_str(), ours().section.as_str()));
    assert_eq!(lost(&text, &updated), None);
    // Who placed it is not known.
    assert_eq!(lost(&written, &Record::default()), None);
}

#[test]
fn a_mark_without_the_other_is_found_by_its_line() {
    let why = |text: &str| put(Some(text), &ours(), None).unwrap_err();
    let begin = why(&format!("# Mine\n\n{}", SECTION.replace("<!-- task-recovery:end -->\n", "")));
    assert!(
        begin.starts_with("line 3 is the mark task-recovery:begin") && begin.contains("(<!-- task-recovery:end -->)"),
        "{begin}"
    );
    let end = why(&format!("# Mine\n{}", &SECTION[SECTION.find("##").unwrap()..]));
    assert!(end.starts_with("line 5 is the mark task-recovery:end"), "{end}");
}
