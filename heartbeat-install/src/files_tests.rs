//! Every state that a run that was cut can leave a file in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shared::verified::sha256;

use super::action::Action;
use super::disk::Seen;
use super::files::{Desired, Note, place, take};
use super::manifest::Placed;

const ROOT: &str = "/ws";

/// A disk with these files.
fn disk(files: &[(&str, &str)]) -> impl Fn(&Path) -> Result<Seen, shared::exit::Error> {
    let files: BTreeMap<PathBuf, String> =
        files.iter().map(|(path, text)| (Path::new(ROOT).join(path), sha256(text.as_bytes()))).collect();
    move |path| Ok(files.get(path).map_or(Seen::Missing, |sum| Seen::File { sha256: sum.clone(), executable: true }))
}

fn placed(text: &str, was: Option<&str>, orig: Option<&str>) -> Placed {
    let sum = |text: &str| sha256(text.as_bytes());
    Placed { sha256: sum(text), was: was.map(sum), orig: orig.map(PathBuf::from), changed: None }
}

/// What is done so that "new" is at "f": nothing, or placed and what was there kept as; and what is said.
fn steps(files: &[(&str, &str)], before: Option<&Placed>, is_text: bool) -> (Option<Option<PathBuf>>, Option<Note>, Placed) {
    let desired = Desired { path: "f".into(), bytes: Cow::Borrowed(b"new"), mode: 0o755, is_text };
    let step = place(Path::new(ROOT), &desired, before, &disk(files)).unwrap();
    let action = step.action.map(|action| match action {
        Action::Place { keep_as, .. } => keep_as,
        other => panic!("{other:?}"),
    });
    (action, step.note, step.placed)
}

#[test]
fn a_file_is_placed_once_from_every_state() {
    let orig = PathBuf::from("/ws/f.orig");
    let noted = placed("new", None, Some("f.orig"));
    for (name, files, before, expected) in [
        ("nothing there", &[] as &[(&str, &str)], None, (Some(None), None)),
        ("noted, not placed", &[], Some(placed("new", None, None)), (Some(None), None)),
        ("placed", &[("f", "new")], Some(placed("new", None, None)), (None, None)),
        ("foreign", &[("f", "mine")], None, (Some(Some(orig.clone())), Some(Note::KeptAs(orig.clone())))),
        (
            "foreign, noted, not kept yet",
            &[("f", "mine")],
            Some(noted.clone()),
            (Some(Some(orig.clone())), Some(Note::KeptAs(orig))),
        ),
        ("foreign, kept, not placed yet", &[("f.orig", "mine")], Some(noted.clone()), (Some(None), None)),
        ("foreign, kept, placed", &[("f", "new"), ("f.orig", "mine")], Some(noted), (None, None)),
        ("an older one of ours", &[("f", "old")], Some(placed("old", None, None)), (Some(None), None)),
        ("an update that was cut", &[("f", "old")], Some(placed("new", Some("old"), None)), (Some(None), None)),
    ] {
        let (action, note, after) = steps(files, before.as_ref(), true);
        assert_eq!((action, note), expected, "{name}");
        assert_eq!(after.sha256, sha256(b"new"), "{name}");
    }
}

#[test]
fn a_persons_text_is_left_and_a_replaced_program_is_not() {
    let before = placed("new", None, None);
    let (action, note, after) = steps(&[("f", "mine")], Some(&before), true);
    assert_eq!((action, note, after.changed), (None, Some(Note::Kept), Some(sha256(b"mine"))));
    let (action, note, _) = steps(&[("f", "mine")], Some(&before), false);
    assert_eq!((action, note), (Some(None), Some(Note::Replaced)));
}

#[test]
fn what_was_there_comes_back_from_every_state() {
    for (name, files, before, removed, restored, kept) in [
        ("placed", &[("f", "new")] as &[(&str, &str)], placed("new", None, None), true, false, false),
        ("never placed", &[], placed("new", None, None), false, false, false),
        ("over another one", &[("f", "new"), ("f.orig", "mine")], placed("new", None, Some("f.orig")), true, true, false),
        ("removed, not back yet", &[("f.orig", "mine")], placed("new", None, Some("f.orig")), false, true, false),
        ("back already", &[("f", "mine")], placed("new", None, Some("f.orig")), false, false, false),
        ("an update that was cut", &[("f", "old")], placed("new", Some("old"), None), true, false, false),
        ("changed", &[("f", "other")], placed("new", None, None), false, false, true),
        (
            "changed, over another one",
            &[("f", "other"), ("f.orig", "mine")],
            placed("new", None, Some("f.orig")),
            false,
            false,
            true,
        ),
    ] {
        let (actions, left) = take(Path::new(ROOT), &BTreeMap::from([("f".into(), before)]), &disk(files)).unwrap();
        let has = |wanted: fn(&Action) -> bool| actions.iter().any(wanted);
        assert_eq!(has(|action| matches!(action, Action::Remove(_))), removed, "{name}");
        assert_eq!(has(|action| matches!(action, Action::Restore { .. })), restored, "{name}");
        assert_eq!(!left.is_empty(), kept, "{name}");
    }
}
