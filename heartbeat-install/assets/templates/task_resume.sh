#!/bin/sh
# task_resume.sh: continues one long task from the phase in which it was cut.
#
# When the task went silent, resume runs this file in the workspace as
#     task_resume.sh --task-id ID --timeout-seconds N
# with TASK_ID, TASK_PHASE and TASK_BIN in its environment, and the card on
# stdin. What you put here may be cut anywhere and is then run again, so:
#
#   - a phase reads only what the phases before it have finished, and checks it;
#   - it writes to a temporary file and renames that when it is whole;
#   - it says how far it is ("250 of 1000"): silence counts as death;
#   - it ends in a checkpoint that names the next phase. A checkpoint that is
#     refused ends the job (set -e): a newer attempt has taken over;
#   - what must not happen twice (a mail, a payment) is a phase of its own, made
#     manual by "card create --manual-phase NAME". After the checkpoint that
#     leads to it, print {"continue": true} and exit 0: a person is asked at
#     once, and the next run begins in it when that person has said yes.
#
# Exit status: 0 it went well, 75 not now (try later, free of charge), 78 a
# person has to look, anything else: failed, tried again after a while.
#
# As it stands it works: it counts the words of the workspace's Markdown files.
# Put your own work into the three functions.
set -eu
export LC_ALL=C

task=${TASK_ID-}
while [ $# -gt 0 ]; do
    case $1 in
    --task-id) task=$2 ;;
    --timeout-seconds) ;;
    *) echo "task_resume.sh: $1 is no option" >&2; exit 64 ;;
    esac
    shift 2
done

# What belongs to the task is beside this file: tmp/task-runtime/<task_id>/.
work=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
: "${task:=${work##*/}}"

# Run by hand: the workspace is above this file, the programs are in its bin/ or on the PATH.
if [ -z "${TASK_BIN-}" ]; then
    cd "$work"
    while [ ! -d data/task-runs ] && [ "$PWD" != / ]; do cd ..; done
    TASK_BIN=$PWD/bin
    [ -x "$TASK_BIN/checkpoint" ] || TASK_BIN=$(dirname -- "$(command -v checkpoint)")
fi

checkpoint() { "$TASK_BIN/checkpoint" "$task" "$@" >/dev/null; }
card() { "$TASK_BIN/card" "$@" >/dev/null; }
lines() { echo $(($(wc -l <"$1"))); }

# What is there to be done?
collect() {
    find . -name '*.md' -type f ! -path '*/.*' | sort >"$work/files.part"
    mv "$work/files.part" "$work/files.txt"
    checkpoint --phase collect --next-phase process --artifact files="$work/files.txt" \
        --message "$(lines "$work/files.txt") files to count"
    phase=process
}

# The long part. It goes on behind what an attempt before this one has done.
process() {
    [ -f "$work/files.txt" ] || { echo "task_resume.sh: $work/files.txt is gone" >&2; exit 78; }
    total=$(lines "$work/files.txt")
    touch "$work/counts.txt"
    count=$(lines "$work/counts.txt")
    # That attempt may have been cut in the middle of a line: only whole ones count.
    head -n "$count" "$work/counts.txt" >"$work/counts.part"
    mv "$work/counts.part" "$work/counts.txt"
    tail -n "+$((count + 1))" "$work/files.txt" | while IFS= read -r file; do
        words=$(wc -w <"$file") || words=0
        printf '%d %s\n' "$words" "$file" >>"$work/counts.txt"
        count=$((count + 1))
        if [ $((count % 25)) -eq 0 ]; then
            checkpoint --phase process --message "$count of $total files counted"
        fi
    done
    checkpoint --phase process --next-phase finish --artifact counts="$work/counts.txt" \
        --message "all $total files counted"
    phase=finish
}

# What people get, and the end of the task.
finish() {
    sort -k 1,1nr -k 2 "$work/counts.txt" | head -n 10 >"$work/longest.part"
    mv "$work/longest.part" "$work/longest.txt"
    card complete "$task" --phase finish --artifact longest="$work/longest.txt" \
        --message "the longest files are in $work/longest.txt"
    phase=
}

# The phase that the card is in. Run by hand, the card is asked for it.
phase=${TASK_PHASE-$("$TASK_BIN/watch" --explain "$task" | sed -n 's/.*"phase":"\([^"]*\)".*/\1/p')}
: "${phase:=collect}"
while [ -n "$phase" ]; do
    case $phase in
    collect) collect ;;
    process) process ;;
    finish) finish ;;
    *) echo "task_resume.sh: there is no phase \"$phase\"" >&2; exit 78 ;;
    esac
done
