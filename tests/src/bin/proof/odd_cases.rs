//! The cases of `odd_files.rs`: what stands where a card, a lock, a history, a log or a folder should be, and how it must end.
//!
//! `prepare` and `then` are shell in the workspace; `$R` is the card folder. It holds the cards `a` (running, revision 3) and `c` (a
//! plain command), folders for locks and history, and a history of `a`; beside it there is a socket to be moved somewhere.

/// What a case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// To change owners, or make devices.
    Root,
    /// Run by somebody whom permissions stop.
    NotRoot,
    /// To mount, in a namespace of its own.
    Mount,
}

/// What becomes of the card of `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Card {
    /// Nothing.
    Kept,
    /// It has the new checkpoint.
    Written,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) what: &'static str,
    pub(crate) needs: Needs,
    pub(crate) prepare: &'static str,
    pub(crate) run: &'static str,
    pub(crate) status: i32,
    /// In the one line on stderr; empty: nothing is said.
    pub(crate) says: &'static str,
    pub(crate) card: Card,
    /// Further files that may change.
    pub(crate) changes: &'static [&'static str],
    /// Must succeed afterwards.
    pub(crate) then: &'static str,
    /// Whether the stand-in can be put through it.
    pub(crate) control: bool,
}

const CHECKPOINT: &str = "exec checkpoint a --message new";
const CREATE: &str = "exec card create a --task-type t --title x";
const RESUME: &str = "exec resume c >/dev/null";
/// Fills the file system under the card folder, which is small and seen by this shell alone.
const FULL: &str = "cp -R $R saved; mount -t tmpfs -o size=64k tmpfs data; mkdir $R; cp -R saved/. $R; \
    cat /dev/zero >data/filler 2>/dev/null || true";
const READ_ONLY: &str =
    "cp -R $R saved; mount -t tmpfs -o size=64k tmpfs data; mkdir $R; cp -R saved/. $R; mount -o remount,ro data";
const LINKED: &str = "mkdir elsewhere; mv $R/a.json elsewhere; ln -s ../../elsewhere/a.json $R/a.json";
const UNCHANGED: &str = "No space left on device; the old one is unchanged";

/// A checkpoint that is refused, and keeps the card.
const fn refused(what: &'static str, prepare: &'static str, status: i32, says: &'static str) -> Case {
    Case {
        what,
        needs: Needs::Nothing,
        prepare,
        run: CHECKPOINT,
        status,
        says,
        card: Card::Kept,
        changes: &[],
        then: "",
        control: false,
    }
}

/// A checkpoint that is written, with a warning or without.
const fn written(what: &'static str, prepare: &'static str, says: &'static str) -> Case {
    Case { card: Card::Written, ..refused(what, prepare, 0, says) }
}

/// A resume of `c` that fails before anything is started.
const fn not_resumed(what: &'static str, prepare: &'static str, says: &'static str) -> Case {
    refused(what, prepare, 74, says).with(RESUME)
}

/// A card that is not made, because there is something of that name.
const fn not_made(what: &'static str, prepare: &'static str) -> Case {
    refused(what, prepare, 73, "exists already").with(CREATE)
}

impl Case {
    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Something else is run.
    const fn with(self, run: &'static str) -> Self {
        Self { run, ..self }
    }

    /// This must be so afterwards.
    const fn then(self, then: &'static str) -> Self {
        Self { then, ..self }
    }

    /// This file may change.
    const fn changing(self, changes: &'static [&'static str]) -> Self {
        Self { changes, ..self }
    }

    /// It fails although the card is written.
    const fn but_exits(self, status: i32) -> Self {
        Self { status, ..self }
    }

    /// The stand-in is put through it, too.
    const fn also(self) -> Self {
        Self { control: true, ..self }
    }
}

pub(crate) const CASES: &[Case] = &[
    // The card.
    refused("card: a FIFO", "rm $R/a.json; mkfifo $R/a.json", 74, "a FIFO, not a regular file").then("test -p $R/a.json").also(),
    refused("card: a socket", "mv socket $R/a.json", 74, "a socket, not a regular file"),
    refused("card: a folder", "rm $R/a.json; mkdir $R/a.json", 74, "a folder, not a regular file").then("test -d $R/a.json"),
    refused("card: a symbolic link", LINKED, 74, "a symbolic link, not a regular file").then("test -L $R/a.json").also(),
    refused("card: a symbolic link to nothing", "ln -sf nothing $R/a.json", 74, "a symbolic link, not a regular file"),
    written("card: a hard link", "mkdir elsewhere; ln $R/a.json elsewhere", "").then("grep -q :3, elsewhere/a.json").also(),
    refused("card: 0 bytes", ": >$R/a.json", 65, "is not valid").also(),
    refused("card: 5 MiB", "head -c 5242880 /dev/zero >>$R/a.json", 74, "larger than 4194304 bytes"),
    refused("card: 64 GiB of nothing", "truncate -s 64G $R/a.json", 74, "larger than 4194304 bytes"),
    refused("card: everyone may write it", "chmod 666 $R/a.json", 77, "everyone may write it"),
    refused("card: of another owner", "chown nobody $R/a.json", 77, "it is owned by uid").needs(Needs::Root),
    refused("card: a device", "rm $R/a.json; mknod $R/a.json c 1 5", 74, "a device, not a regular file").needs(Needs::Root),
    refused("card: no permission", "chmod 0 $R/a.json", 74, "Permission denied").needs(Needs::NotRoot),
    not_made("create: where a FIFO is", "rm $R/a.json; mkfifo $R/a.json"),
    not_made("create: where a link to nothing is", "ln -sf nothing $R/a.json"),
    not_made("create: where it is filed away", "mkdir $R/archive; mv $R/a.json $R/archive"),
    refused("watch: all of them", "cd $R; mkfifo f.json; ln -s l.json l.json; mkdir d.json; mv ../../socket s.json", 0, "")
        .with("test $(watch | grep -c card_unreadable) = 4"),
    // Its temporary file.
    refused("temporary file: a folder", "mkdir $R/a.json.tmp", 74, "Is a directory; the old one is unchanged"),
    written("temporary file: left behind", "echo torn >$R/a.json.tmp", "").then("test ! -e $R/a.json.tmp"),
    written("temporary file: a FIFO", "mkfifo $R/a.json.tmp", "").then("test ! -e $R/a.json.tmp"),
    written("temporary file: a symbolic link", "mkdir elsewhere; echo my >elsewhere/f; ln -s ../../elsewhere/f $R/a.json.tmp", ""),
    // The lock.
    refused("lock: a folder", "mkdir $R/.locks/a", 74, "cannot lock a: "),
    refused(
        "lock: a symbolic link",
        "mkdir elsewhere; echo my >elsewhere/f; ln -s ../../../elsewhere/f $R/.locks/a",
        74,
        "cannot lock a: ",
    )
    .also(),
    refused("lock: a socket", "mv socket $R/.locks/a", 74, "cannot lock a: "),
    // It can be locked as well as a file.
    written("lock: a FIFO", "mkfifo $R/.locks/a", "").then("test -p $R/.locks/a"),
    refused("locks: a file", "rmdir $R/.locks; echo my >$R/.locks", 74, "cannot make "),
    refused("lock: no permission", ": >$R/.locks/a; chmod 0 $R/.locks/a", 74, "Permission denied").needs(Needs::NotRoot),
    // The history: best effort.
    written("history: a FIFO", "rm $R/history/a.jsonl; mkfifo $R/history/a.jsonl", "lacks the event: it is no regular file")
        .then("test -p $R/history/a.jsonl"),
    written("history: a socket", "mv socket $R/history/a.jsonl", "lacks the event: "),
    written("history: a folder", "rm $R/history/a.jsonl; mkdir $R/history/a.jsonl", "lacks the event: Is a directory"),
    written(
        "history: a symbolic link",
        "mkdir elsewhere; echo my >elsewhere/f; ln -sf ../../../elsewhere/f $R/history/a.jsonl",
        "lacks the event: ",
    ),
    written("history folder: a file", "rm -r $R/history; echo my >$R/history", "lacks the event: File exists"),
    written("history: 70 KiB without a line's end", "head -c 71680 /dev/zero >$R/history/a.jsonl", ""),
    written("history: no permission", "chmod 0 $R/history/a.jsonl", "lacks the event: Permission denied").needs(Needs::NotRoot),
    refused("log: of a FIFO", "rm $R/history/a.jsonl; mkfifo $R/history/a.jsonl", 74, "it is no regular file")
        .with("exec card log a"),
    // The logs of attempts.
    not_resumed("logs: a file", "echo my >$R/logs", "Not a directory"),
    not_resumed("logs of the task: a file", "mkdir $R/logs; echo my >$R/logs/c", "Not a directory"),
    not_resumed("logs of the task: no permission", "mkdir -p $R/logs/c; chmod 500 $R/logs/c", "Permission denied")
        .needs(Needs::NotRoot),
    refused("log of an attempt: a FIFO", "mkdir -p $R/logs/c; mkfifo $R/logs/c/1.in", 0, "")
        .with(RESUME)
        .changing(&["c.json"])
        .then("grep -q completed $R/c.json && test -p $R/logs/c/1.in"),
    // Folders, limits and disks.
    refused("folder: read-only", "chmod 500 $R", 74, "Permission denied; the old one is unchanged").needs(Needs::NotRoot),
    refused("folder: not to be searched", "chmod 0 data", 78, "Permission denied").needs(Needs::NotRoot),
    refused("folder: another user's, for root", "chown nobody $R", 77, "run it as nobody, not as root").needs(Needs::Root),
    refused("folder: a file", "true", 78, "Not a directory").with("TASK_RUNS_DIR=$R/a.json exec checkpoint a"),
    refused("a file size limit", "true", 74, "File too large; the old one is unchanged")
        .with("ulimit -f 0; exec checkpoint a --message new")
        .also(),
    written(
        "a file size limit that only the history meets",
        "yes {} | head -c 9000 >$R/history/a.jsonl",
        "lacks the event: File too",
    )
    .with("ulimit -f 8; exec checkpoint a --message new"),
    refused("no descriptors left", "true", 74, "Too many open files").with("ulimit -n 4; exec checkpoint a"),
    refused("a full disk", FULL, 74, UNCHANGED).with("checkpoint a").needs(Needs::Mount),
    refused("a full disk, complete", FULL, 74, UNCHANGED).with("card complete a").needs(Needs::Mount),
    refused("a full disk, resume", FULL, 74, "No space left on device").with("resume c >/dev/null").needs(Needs::Mount),
    refused("a disk mounted read-only", READ_ONLY, 74, "Read-only file system").with("checkpoint a").needs(Needs::Mount),
    written("standard output: full", "true", "cannot write to standard output: No space left on device")
        .with("exec checkpoint a >/dev/full")
        .but_exits(74),
    refused("put: standard input is a folder", "true", 74, "cannot read standard input: Is a directory")
        .with("exec card put a <$R"),
];
