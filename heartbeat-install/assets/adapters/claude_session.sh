#!/bin/sh
# claude_session.sh: continues a session of the claude command line that was cut.
#
# The card names it: metadata.claude_session_id, and metadata.claude_cwd, the
# folder in which it was begun (sessions belong to folders). More options of
# claude, such as those that allow tools, are in metadata.claude_args, a JSON array.
# What the session is told is in resume-prompt.en.txt and .zh.txt beside this
# file, or in the card's metadata.resume_prompt.
#
# A turn that ends well completes the task; with metadata.claude_completes
# "card", only "card complete" does, which the prompt asks for. A usage limit
# with a time is waited for, free of charge.
#
# Environment: CLAUDE_PROGRAM, where claude is no word of the PATH (cron!).
set -u
name=claude_session.sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 78
# shellcheck source=heartbeat-install/assets/adapters/session.sh
. "$here/session.sh"

claude=${CLAUDE_PROGRAM:-claude}
session_of claude "$claude" CLAUDE_PROGRAM

more=$(field metadata.claude_args)
set --
while argument=$(value "$more" $#) && [ -n "$argument" ]; do set -- "$@" "$argument"; done
said=$(prompt | "$claude" -p --resume "$id" --output-format json "$@" 2>&1)
rc=$?
# One JSON object, whose fields come in any order.
answer=$(printf '%s\n' "$said" | grep '^{.*"type":"result"' | tail -n 1)
if [ "$(value "$answer" type)" != result ]; then
    ended_in_error "${said:-claude ended with exit status $rc and without a word}"
fi

# Some versions go on under a new ID.
new=$(value "$answer" session_id)
if [ -n "$new" ] && [ "$new" != "$id" ]; then
    "$TASK_BIN/card" update "$TASK_ID" --meta "claude_session_id=$new" >/dev/null || left_as_it_is
fi
text=$(value "$answer" result)
if [ "$(value "$answer" is_error)" = true ]; then
    ended_in_error "${text:-$(value "$answer" subtype) $(value "$answer" errors)}"
fi
case $(value "$answer" subtype) in
success) ended_well metadata.claude_completes "$text" ;;
*) failed "claude stopped early: $(value "$answer" subtype)" ;;
esac
