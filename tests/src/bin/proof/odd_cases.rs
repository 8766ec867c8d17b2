//! The cases of `odd_files.rs`: what stands where a card, a lock, a history, a log or a folder should be, and how it must end.
//!
//! `prepare` and `then` are shell in the workspace; `$R` is the card folder. It holds the cards `a` (running, revision 3) and `c` (a
//! plain command), folders for locks and history, and a history of `a`.

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

#[derive(Debug)]
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
const RESUME: &str = "exec resume c >/dev/null";

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
    Case { run: RESUME, ..refused(what, prepare, 74, says) }
}

const fn needs(needs: Needs, case: Case) -> Case {
    Case { needs, ..case }
}

/// With something else to be run.
const fn with(run: &'static str, case: Case) -> Case {
    Case { run, ..case }
}

/// With something that must be so afterwards.
const fn then(then: &'static str, case: Case) -> Case {
    Case { then, ..case }
}

/// Also for the stand-in.
const fn also(case: Case) -> Case {
    Case { control: true, ..case }
}

pub(crate) const CASES: &[Case] = &[
    // The card.
    also(then("test -p $R/a.json", refused("card: a FIFO", "rm $R/a.json; mkfifo $R/a.json", 74, "a FIFO, not a regular file"))),
    refused(
        "card: a socket",
        "rm $R/a.json; cd $R; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind(\\\"a.json\\\")\"",
        74,
        "a socket, not a regular file",
    ),
    then("test -d $R/a.json", refused("card: a folder", "rm $R/a.json; mkdir $R/a.json", 74, "a folder, not a regular file")),
    also(then(
        "test -L $R/a.json",
        refused(
            "card: a symbolic link",
            "mkdir elsewhere; mv $R/a.json elsewhere; ln -s ../../elsewhere/a.json $R/a.json",
            74,
            "a symbolic link, not a regular file",
        ),
    )),
    refused("card: a symbolic link to nothing", "ln -sf nothing $R/a.json", 74, "a symbolic link, not a regular file"),
    also(then(
        "grep -q '\"revision\":3' elsewhere/a.json",
        written("card: a hard link", "mkdir elsewhere; ln $R/a.json elsewhere/a.json", ""),
    )),
    also(refused("card: 0 bytes", ": >$R/a.json", 65, "is not valid")),
    refused("card: 5 MiB", "head -c 5242880 /dev/zero | tr \"\\0\" \" \" >>$R/a.json", 74, "larger than 4194304 bytes"),
    refused("card: 64 GiB", "truncate -s 64G $R/a.json", 74, "larger than 4194304 bytes"),
    refused("card: everyone may write it", "chmod 666 $R/a.json", 77, "everyone may write it"),
    needs(Needs::Root, refused("card: of another owner", "chown nobody $R/a.json", 77, "it is owned by uid")),
    needs(Needs::Root, refused("card: a device", "rm $R/a.json; mknod $R/a.json c 1 5", 74, "a device, not a regular file")),
    needs(Needs::NotRoot, refused("card: no permission", "chmod 0 $R/a.json", 74, "Permission denied")),
    with(
        "exec card create a --task-type t --title x",
        refused("create: where a FIFO is", "rm $R/a.json; mkfifo $R/a.json", 73, "exists already"),
    ),
    with(
        "exec card create a --task-type t --title x",
        refused("create: where a link to nothing is", "ln -sf nothing $R/a.json", 73, "exists already"),
    ),
    with(
        "exec card create a --task-type t --title x",
        refused("create: where it is filed away", "mkdir $R/archive; mv $R/a.json $R/archive", 73, "exists already"),
    ),
    with(
        "exec watch >/dev/null",
        refused("watch: a FIFO, a socket, a loop", "mkfifo $R/f.json; ln -s l.json $R/l.json; mkdir $R/d.json", 0, ""),
    ),
    // Its temporary file.
    refused(
        "temporary file: a folder",
        "mkdir $R/a.json.tmp",
        74,
        "unlink of an old temporary file: Is a directory; the old one is unchanged",
    ),
    then("test ! -e $R/a.json.tmp", written("temporary file: left behind", "echo torn >$R/a.json.tmp", "")),
    then("test ! -e $R/a.json.tmp", written("temporary file: a FIFO", "mkfifo $R/a.json.tmp", "")),
    written(
        "temporary file: a symbolic link",
        "mkdir elsewhere; echo mine >elsewhere/file; ln -s ../../elsewhere/file $R/a.json.tmp",
        "",
    ),
    // The lock.
    refused("lock: a folder", "mkdir $R/.locks/a", 74, "cannot lock a: "),
    also(refused(
        "lock: a symbolic link",
        "mkdir elsewhere; echo mine >elsewhere/file; ln -s ../../../elsewhere/file $R/.locks/a",
        74,
        "cannot lock a: ",
    )),
    // It can be locked as well as a file.
    then("test -p $R/.locks/a", written("lock: a FIFO", "mkfifo $R/.locks/a", "")),
    refused("locks: a file", "rmdir $R/.locks; echo mine >$R/.locks", 74, "cannot make "),
    needs(Needs::NotRoot, refused("lock: no permission", ": >$R/.locks/a; chmod 0 $R/.locks/a", 74, "Permission denied")),
    // The history: best effort.
    then(
        "test -p $R/history/a.jsonl",
        written("history: a FIFO", "rm $R/history/a.jsonl; mkfifo $R/history/a.jsonl", "lacks the event: it is no regular file"),
    ),
    written("history: a folder", "rm $R/history/a.jsonl; mkdir $R/history/a.jsonl", "lacks the event: Is a directory"),
    written(
        "history: a symbolic link",
        "mkdir elsewhere; echo mine >elsewhere/file; ln -sf ../../../elsewhere/file $R/history/a.jsonl",
        "lacks the event: ",
    ),
    written("history folder: a file", "rm -r $R/history; echo mine >$R/history", "lacks the event: File exists"),
    written("history: 70 KiB without a line's end", "head -c 71680 /dev/zero | tr \"\\0\" x >$R/history/a.jsonl", ""),
    needs(Needs::NotRoot, written("history: no permission", "chmod 0 $R/history/a.jsonl", "lacks the event: Permission denied")),
    with(
        "exec card log a >/dev/null",
        refused("log: of a FIFO", "rm $R/history/a.jsonl; mkfifo $R/history/a.jsonl", 74, "it is no regular file"),
    ),
    // The logs of attempts.
    not_resumed("logs: a file", "echo mine >$R/logs", "cannot "),
    not_resumed("logs of the task: a file", "mkdir $R/logs; echo mine >$R/logs/c", "cannot list "),
    needs(
        Needs::NotRoot,
        not_resumed("logs of the task: no permission", "mkdir -p $R/logs/c; chmod 500 $R/logs/c", "Permission denied"),
    ),
    Case {
        changes: &["c.json"],
        ..then(
            "grep -q completed $R/c.json && test -p $R/logs/c/1.in",
            with(RESUME, refused("log: a FIFO", "mkdir -p $R/logs/c; mkfifo $R/logs/c/1.in", 0, "")),
        )
    },
    // Folders, limits and disks.
    needs(Needs::NotRoot, refused("folder: read-only", "chmod 500 $R", 74, "Permission denied; the old one is unchanged")),
    needs(Needs::NotRoot, refused("folder: not to be searched", "chmod 0 data", 78, "Permission denied")),
    needs(Needs::Root, refused("folder: another user's, for root", "chown nobody $R", 77, "run it as nobody, not as root")),
    with("TASK_RUNS_DIR=$R/a.json exec checkpoint a", refused("folder: a file", "true", 78, "Not a directory")),
    also(with(
        "ulimit -f 0; exec checkpoint a --message new",
        refused("a file size limit", "true", 74, "File too large; the old one is unchanged"),
    )),
    with(
        "ulimit -f 8; exec checkpoint a --message new",
        written(
            "a file size limit that only the history meets",
            "yes \"{}\" | head -c 9000 >$R/history/a.jsonl",
            "lacks the event: File too large",
        ),
    ),
    with("ulimit -n 4; exec checkpoint a --message new", refused("no descriptors left", "true", 74, "Too many open files")),
    with(
        "checkpoint a",
        needs(Needs::Mount, refused("a full disk", FULL, 74, "No space left on device; the old one is unchanged")),
    ),
    with(
        "card complete a",
        needs(Needs::Mount, refused("a full disk, complete", FULL, 74, "No space left on device; the old one is unchanged")),
    ),
    with("resume c >/dev/null", needs(Needs::Mount, refused("a full disk, resume", FULL, 74, "No space left on device"))),
    with(
        "checkpoint a",
        needs(
            Needs::Mount,
            refused(
                "a disk mounted read-only",
                "cp -R $R saved; mount -t tmpfs -o size=64k tmpfs data; mkdir $R; cp saved/a.json $R; mount -o remount,ro data",
                74,
                "Read-only file system",
            ),
        ),
    ),
    with(
        "exec checkpoint a >/dev/full",
        Case { status: 74, ..written("standard output: full", "true", "cannot write to standard output: No space left on device") },
    ),
    with(
        "exec card put a <$R",
        refused("put: standard input is a folder", "true", 74, "cannot read standard input: Is a directory"),
    ),
];

const FULL: &str = "cp -R $R saved; mount -t tmpfs -o size=64k tmpfs data; mkdir $R; cp -R saved/. $R; cat /dev/zero >data/filler 2>/dev/null || true";
