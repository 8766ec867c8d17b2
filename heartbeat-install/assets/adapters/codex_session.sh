#!/bin/sh
# codex_session.sh: continues a session of the codex command line that was cut.
#
# The card names it: metadata.codex_session_id (codex calls it thread_id), and
# metadata.codex_cwd, the folder to work in. More options of "codex exec" are in
# metadata.codex_args, a JSON array. What the session is told is in
# resume-prompt.en.txt and .zh.txt beside this file, or in the card's
# metadata.resume_prompt.
#
# A turn that ends well completes the task; with metadata.codex_completes
# "card", only "card complete" does, which the prompt asks for. A usage limit
# with a time is waited for, free of charge.
#
# Environment: CODEX_PROGRAM, where codex is no word of the PATH (cron!).
set -u
name=codex_session.sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 78
# shellcheck source=heartbeat-install/assets/adapters/session.sh
. "$here/session.sh"

codex=${CODEX_PROGRAM:-codex}
session_of codex "$codex" CODEX_PROGRAM

more=$(field metadata.codex_args)
set --
while argument=$(value "$more" $#) && [ -n "$argument" ]; do set -- "$@" "$argument"; done
# One JSON object a line. Older versions take options before "resume" only.
said=$(prompt | "$codex" exec --json "$@" resume "$id" - 2>&1)
rc=$?
case $(printf '%s\n' "$said" | grep '^{"type":"turn\.' | tail -n 1) in
'{"type":"turn.completed"'*)
    last=$(printf '%s\n' "$said" | grep '^{"type":"item.completed".*"type":"agent_message"' | tail -n 1)
    ended_well metadata.codex_completes "$(value "$last" item.text)"
    ;;
'{"type":"turn.failed"'*)
    end=$(printf '%s\n' "$said" | grep '^{"type":"turn.failed"' | tail -n 1)
    ended_in_error "$(value "$end" error.message)"
    ;;
esac
end=$(printf '%s\n' "$said" | grep '^{"type":"error"' | tail -n 1)
[ -z "$end" ] || ended_in_error "$(value "$end" message)"
# It did not come to a turn, or was cut in one: what else it said tells why.
said=$(printf '%s\n' "$said" | sed '/^Stack backtrace:/,$d; /^{/d; /^ *$/d' | tail -n 5)
ended_in_error "${said:-codex ended with exit status $rc in the middle of a turn}"
