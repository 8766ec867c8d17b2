#!/bin/sh
# The job of the demo: a report on this repository's source files, in three
# phases: collect -> analyze -> render. It works in the workspace, which is the
# current folder: it reads source/ and writes work/.
#
# What makes it resumable:
# - it starts in the phase that it is told ($TASK_PHASE);
# - each phase reads only what the phases before it have finished, writes to
#   temporary files, and renames them when they are whole: cut anywhere and run
#   again, it comes to the same result;
# - each phase ends in a checkpoint. A checkpoint that is refused ends the job:
#   a newer attempt has taken over.
set -eu
export LC_ALL=C

work=$PWD/work
mkdir -p "$work"

attempt=${TASK_ATTEMPT#*/}
attempt=${attempt%%/*}

# Only a journal for people and for the demo's proof: nothing is decided by it.
note() {
    printf '%s %s (attempt %s)\n' "$1" "$phase" "$attempt" >>"$work/journal.txt"
}

# Makes the work stand still here, for the demo: else the cut would hit the
# middle of a phase only now and then, because the phase is short. FILE says who
# waits; once FILE is gone, work goes on. The job does nothing else here: it is
# not told that it will be cut, and saves nothing. It waits for a minute at most,
# so that nothing is left behind by a demo that was itself killed.
hold() {
    [ -n "${DEMO_HOLD-}" ] || return 0
    echo "$$" >"$DEMO_HOLD.part"
    mv "$DEMO_HOLD.part" "$DEMO_HOLD"
    polls=0
    while [ -e "$DEMO_HOLD" ]; do
        polls=$((polls + 1))
        if [ "$polls" -gt 600 ]; then
            echo "adapter: held for too long" >&2
            exit 1
        fi
        sleep 0.1 2>/dev/null || { sleep 1; polls=$((polls + 9)); }
    done
}

# Which files are there?
collect() {
    (cd source && find . -type f) | sed 's|^\./||' | sort >"$work/files.part"
    files=$(($(wc -l <"$work/files.part")))
    [ "$files" -gt 0 ] || { echo "adapter: source/ has no files" >&2; exit 78; }
    mv "$work/files.part" "$work/files.txt"

    next=analyze
    message="$files files"
    set_artifacts files
}

# How long is each, and which words does the code use most?
analyze() {
    files=$(($(wc -l <"$work/files.txt")))
    done=0
    : >"$work/counts.part"
    : >"$work/words.part"
    while IFS= read -r file; do
        if [ "$done" -eq $((files / 2)) ]; then
            hold
        fi
        printf '%d %d %s\n' "$(wc -l <"source/$file")" "$(wc -w <"source/$file")" "$file" >>"$work/counts.part"
        case $file in
        *.rs) tr -cs 'A-Za-z0-9_' '\n' <"source/$file" >>"$work/words.part" ;;
        esac
        done=$((done + 1))
    done <"$work/files.txt"
    grep '^[A-Za-z_][A-Za-z0-9_]\{3,\}$' "$work/words.part" | sort | uniq -c |
        sort -k 1,1nr -k 2,2 | awk '{ print $1, $2 }' >"$work/index.part"
    mv "$work/counts.part" "$work/counts.txt"
    mv "$work/index.part" "$work/index.txt"
    rm -f "$work/words.part"

    next=render
    message="$done of $files files counted"
    set_artifacts counts index
}

# The report.
render() {
    {
        printf 'The source files of this repository\n\n'
        printf '%7s %7s %7s  %s\n' files lines words kind
        awk '{
            name = $0
            sub(/^[0-9]+ [0-9]+ /, "", name)
            sub(/.*\//, "", name)
            kind = name
            if (!sub(/.*\./, ".", kind)) kind = "other"
            files[kind]++; lines[kind] += $1; words[kind] += $2
        }
        END { for (kind in files) printf "%7d %7d %7d  %s\n", files[kind], lines[kind], words[kind], kind }
        ' "$work/counts.txt" | sort -k 2,2nr -k 4,4
        awk '{ lines += $1; words += $2 } END { printf "%7d %7d %7d  in all\n", NR, lines, words }' "$work/counts.txt"
        printf '\nThe longest files, in lines\n\n'
        sort -k 1,1nr -k 3 "$work/counts.txt" |
            awk 'NR <= 5 { lines = $1; sub(/^[0-9]+ [0-9]+ /, ""); printf "%7d  %s\n", lines, $0 }'
        printf '\nThe most frequent words of the Rust code\n\n'
        awk 'NR <= 5 { printf "%7d  %s\n", $1, $2 }' "$work/index.txt"
    } >"$work/report.part"
    mv "$work/report.part" "$work/report.txt"

    next=finished
    message="report written"
    set_artifacts report
}

set_artifacts() {
    artifacts=$*
}

phase=$TASK_PHASE
while [ "$phase" != finished ]; do
    note begin
    case $phase in
    collect) collect ;;
    analyze) analyze ;;
    render) render ;;
    *)
        echo "adapter: there is no phase \"$phase\"" >&2
        exit 78 # a person has to look at this
        ;;
    esac
    set --
    for name in $artifacts; do
        set -- "$@" --artifact "$name=$work/$name.txt"
    done
    "$TASK_BIN/checkpoint" "$TASK_ID" --phase "$phase" --next-phase "$next" "$@" --message "$message"
    note finish
    phase=$next
done
"$TASK_BIN/card" complete "$TASK_ID" --message "report: $work/report.txt"
