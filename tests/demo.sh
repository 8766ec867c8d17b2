#!/bin/sh
# usage: sh tests/demo.sh FOLDER
#
# Shows, with the programs built in FOLDER, how a long job survives being killed
# in the middle: it is cut by SIGKILL, noticed by watch, finished by resume, and
# its result is compared with that of a run that nobody disturbed. Everything
# happens in a temporary folder, which is removed at the end. Exit status: 0 all
# of it was so, 1 something was not, 64 usage.
set -eu
export LC_ALL=C
exec </dev/null

# Nothing of the caller's own tasks may get in here.
unset TASK_ID TASK_PHASE TASK_ATTEMPT TASK_CARD TASK_RUNS_DIR TASK_TIMEOUT_SECONDS TASK_BIN
unset OPENCLAW_WORKSPACE OPENCLAW_WORKSPACE_DIR DEMO_HOLD CDPATH

if [ "$#" -ne 1 ] || [ ! -d "$1" ]; then
    echo "usage: sh tests/demo.sh FOLDER, the folder with the built programs" >&2
    exit 64
fi
bin=$(cd -- "$1" && pwd -P)
for program in card checkpoint watch resume; do
    if [ ! -x "$bin/$program" ]; then
        echo "demo: $bin has no program $program: build the programs first" >&2
        exit 64
    fi
done
root=$(cd -- "$(dirname -- "$0")/.." && pwd -P)

# --- helpers -----------------------------------------------------------------

say() {
    printf '\n%s\n' "$*"
}

# Shows a command, runs it, shows what it printed; that stays in $output.
run() {
    printf '\n    $ %s\n' "$1"
    eval "$1" >"$output" 2>&1 || fail "the command failed with exit status $?"
    sed 's/^/    /' "$output"
}

fail() {
    {
        printf '\ndemo: FAILED: %s\n' "$*"
        for file in "$output" work/journal.txt data/task-runs/*.json \
            data/task-runs/history/* data/task-runs/logs/*/*.err data/task-runs/logs/*/*.out \
            work/report.txt ../undisturbed/work/report.txt; do
            [ -s "$file" ] || continue
            printf '\n--- %s\n' "$file"
            cat "$file"
        done
    } >&2
    exit 1
}

# The last command's output has this.
expect() {
    grep -F -q -e "$1" "$output" || fail "expected $1 in the output"
}

expect_lines() {
    [ "$(($(wc -l <"$output")))" -eq "$1" ] || fail "expected this number of lines of output: $1"
}

# The job's journal has this line so many times.
expect_journal() {
    times=$(grep -c -e "^$2 " work/journal.txt) || :
    [ "$times" -eq "$1" ] || fail "the journal should have \"$2\" $1 times, and has it $times times"
}

tick() {
    sleep 0.1 2>/dev/null || sleep 1
}

# Has the process ended? One whose exit status nobody has asked for yet (a
# zombie) has.
ended() {
    kill -0 "$1" 2>/dev/null || return 0
    if [ -r /proc/self/stat ]; then
        { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
        state=${line##*) }
    else
        state=$(ps -o stat= -p "$1") || return 0
    fi
    case $state in Z* | X*) return 0 ;; esac
    return 1
}

# Has the whole process group ended?
group_ended() {
    kill -0 "-$1" 2>/dev/null || return 0
    [ -r /proc/self/stat ] || return 1
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        # shellcheck disable=SC2086 # split on purpose: state, parent, group, …
        set -- "$1" ${line##*) }
        case $2 in Z | X) continue ;; esac
        [ "$4" != "$1" ] || return 1
    done
    return 0
}

# wait_for WHAT COMMAND [ARG]: asks again until the command says yes, for about
# a minute at most.
wait_for() {
    what=$1
    shift
    polls=0
    until "$@"; do
        polls=$((polls + 1))
        [ "$polls" -le 600 ] || fail "waited too long for $what"
        tick
    done
}

# The attempt that waits in the middle of its phase, once there is one. Its
# process ID is that of its process group, too: each attempt gets its own group.
read_adapter() {
    adapter=
    [ -f "$DEMO_HOLD" ] || return 1
    read -r adapter <"$DEMO_HOLD" || return 1
    case $adapter in '' | *[!0-9]* | 0 | 1) return 1 ;; esac
}

held_or_over() {
    read_adapter || ended "$supervisor"
}

# However the demo ends, it leaves no process and no file behind. $! is the one
# process that it starts in the background.
cleanup() {
    status=$?
    trap - EXIT
    trap '' HUP INT QUIT PIPE TERM
    if [ -z "$cut" ] && [ -n "${!-}" ]; then
        # The supervisor stops its attempt, then ends.
        kill -TERM "$!" 2>/dev/null || :
        polls=0
        until ended "$!" || [ "$polls" -ge 150 ]; do
            polls=$((polls + 1))
            tick
        done
        kill -KILL "$!" 2>/dev/null || :
        wait "$!" 2>/dev/null || :
        if read_adapter && ! group_ended "$adapter"; then
            kill -KILL "-$adapter" 2>/dev/null || :
        fi
    fi
    cd /
    chmod -R u+w "$tmp" 2>/dev/null || :
    rm -rf "$tmp" || status=1
    exit "$status"
}

# --- the demo ------------------------------------------------------------------

cut=
killed=
tmp=$(mktemp -d "${TMPDIR:-/tmp}/task-recovery-demo.XXXXXX")
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 131' QUIT
trap 'exit 141' PIPE
trap 'exit 143' TERM
tmp=$(cd -- "$tmp" && pwd -P)
output=$tmp/output
: >"$output"

# The job reads a copy of the crates' folders, so that both runs read the same,
# even when somebody edits a file meanwhile. The adapter is copied, too: resume
# runs none that belongs to somebody else, as a checkout's may, seen from root.
mkdir "$tmp/source" "$tmp/undisturbed" "$tmp/cut"
for manifest in "$root"/*/Cargo.toml; do
    cp -R "${manifest%/Cargo.toml}" "$tmp/source/"
done
for workspace in "$tmp/undisturbed" "$tmp/cut"; do
    cp "$root/tests/demo/adapter.sh" "$workspace/adapter.sh"
    chmod u+x "$workspace/adapter.sh"
    [ -x "$workspace/adapter.sh" ] || fail "no program can run in $tmp: set TMPDIR to a folder where one can"
    ln -s ../source "$workspace/source"
done
export OPENCLAW_WORKSPACE
PATH=$bin:$PATH
# Some shells have commands of their own before those on PATH: a busybox may have
# a watch and a resume, which are something else. An alias comes before both.
alias card='"$bin/card"' watch='"$bin/watch"' resume='"$bin/resume"' 2>/dev/null || :

say "The job: a report on this repository's source files, in three phases:
collect -> analyze -> render. tests/demo/adapter.sh does the work, and records a
checkpoint after each phase. First a run that nobody disturbs, for comparison."

# shellcheck disable=SC2016 # expanded when it is run
create='card create source-report --task-type report --title "Source report" \
        --status pending --phase collect --allow-auto-resume \
        --resume-adapter "$OPENCLAW_WORKSPACE/adapter.sh"'

OPENCLAW_WORKSPACE=$tmp/undisturbed
cd "$OPENCLAW_WORKSPACE"
eval "$create | resume" >"$output" 2>&1 || fail "the undisturbed run failed with exit status $?"
expect '"outcome":"completed"'
[ -s work/report.txt ] || fail "the undisturbed run wrote no report"

say "1. The same job again, in a workspace of its own. A run card says what is to be
done and how it is brought back; resume starts it and stays as its supervisor."

OPENCLAW_WORKSPACE=$tmp/cut
cd "$OPENCLAW_WORKSPACE"
DEMO_HOLD=$tmp/hold
export DEMO_HOLD
run "$create | resume &"
supervisor=$!
wait_for "the middle of the second phase" held_or_over
read_adapter || fail "the job ended before it could be cut"

say "It is in the middle of the second phase now, and stands still there, so that
the cut hits the middle. Half of the files are counted:"
run 'cat work/journal.txt'
run 'wc -l work/files.txt work/counts.part'

say "Its supervisor is there, so watch has nothing to say:"
run 'watch'
expect_lines 0

say "2. As in a crash: all of the job's processes are killed, and the supervisor, too.
There is no time to save anything, and nobody is left who knows of it."
card show source-report >"$output" || fail "the card cannot be shown"
expect "\"pid\":$supervisor,"
kill -0 "-$adapter" || fail "the attempt should have a process group of its own, $adapter"
printf '\n    $ kill -KILL %s -%s\n' "$supervisor" "$adapter"
{
    # Together, because some shells say on stderr which of their jobs was killed.
    kill -KILL "$supervisor" "-$adapter" && killed=yes
    wait "$supervisor" || :
} 2>"$output"
[ -n "$killed" ] || fail "they could not be killed"
wait_for "the attempt's processes to be gone" group_ended "$adapter"
ended "$supervisor" || fail "the supervisor should be gone"
cut=yes
unset DEMO_HOLD
[ ! -e work/counts.txt ] || fail "the second phase should have been cut"

say "3. watch sees it at once, and says why it is to be brought back:"
run 'watch'
expect_lines 1
expect '"signal":"alert"'
expect '"task_id":"source-report"'
expect '"reason":"attempt_died"'
expect '"phase":"analyze"'

say "4. resume finishes it, from the last checkpoint. This line is all that cron would
have to call:"
run 'watch | resume'
expect_lines 1
expect '"signal":"recovery"'
expect '"task_id":"source-report"'
expect '"outcome":"completed"'
expect '"from_phase":"analyze"'
expect '"attempt":2'

say "The finished phase was not done again; the one that was cut began anew:"
run 'cat work/journal.txt'
expect_journal 1 'begin collect'
expect_journal 1 'finish collect'
expect_journal 2 'begin analyze'
expect_journal 1 'finish analyze'
expect_journal 1 'begin render'
expect_journal 1 'finish render'

say "5. The result is that of the undisturbed run, byte for byte, and all is quiet:"
run 'cmp ../undisturbed/work/report.txt work/report.txt && echo the same'
expect 'the same'
run 'watch'
expect_lines 0
run 'cat work/report.txt'

say "6. What happened is on record:"
run 'card log source-report'
expect '"outcome":"completed"'

say "Each of these claims was checked: all of them hold."
