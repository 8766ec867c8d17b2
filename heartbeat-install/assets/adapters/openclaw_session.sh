#!/bin/sh
# openclaw_session.sh: continues a session of OpenClaw whose turn was cut.
#
# The card names it: metadata.openclaw.session_key (or session_id). What the
# session is told is in resume-prompt.en.txt and .zh.txt beside this file, or in
# the card's metadata.resume_prompt.
#
#   look     at the session: nothing is sent to one that runs, or that a person
#            stopped. A turn that an earlier attempt began, and whose end it did
#            not see, is judged now and not begun again.
#   send     openclaw agent … --json, and wait. Inside a command of the agent
#            itself that is refused: then openclaw system event, which only
#            wakes the session.
#   judge    what came back. A lost Gateway means that the outcome is unknown:
#            look again, and otherwise try later, free of charge.
#
# It is safe to run again: before it sends it notes so on the card, in
# metadata.openclaw_sent_ms, until it knows the outcome.
#
# Environment: OPENCLAW_PROGRAM, where openclaw is no word of the PATH (cron!).
set -u
name=openclaw_session.sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 78
# shellcheck source=heartbeat-install/assets/adapters/session.sh
. "$here/session.sh"

openclaw=${OPENCLAW_PROGRAM:-openclaw}
key=$(field metadata.openclaw.session_key)
id=$(field metadata.openclaw.session_id)

[ -n "$key$id" ] || person no_session 'the card has no metadata.openclaw.session_key'
command -v "$openclaw" >/dev/null 2>&1 ||
    person openclaw_missing "$openclaw is not on the PATH of this pass; set OPENCLAW_PROGRAM to its absolute path"

note() { "$TASK_BIN/card" update "$TASK_ID" --meta "openclaw_sent_ms=$1" >/dev/null; }

# The outcome is known. The session itself may have finished the task meanwhile.
forget() {
    note '' 2>/dev/null || {
        rc=$?
        case $("$TASK_BIN/card" show "$TASK_ID" --field status) in completed | failed | cancelled) exit 0 ;; esac
        exit "$rc"
    }
}

# The session in OpenClaw's list: its status and when it last changed. The list
# can be read while the Gateway is down.
look() {
    state='' updated_ms=0 listed_id='' index=0
    sessions=$("$openclaw" sessions --json --active 10080) || return 0
    while :; do
        this=$(value "$sessions" "sessions.$index.key")
        [ -n "$this" ] || return 0
        listed_id=$(value "$sessions" "sessions.$index.sessionId")
        if [ "$this" = "$key" ] || { [ -z "$key" ] && [ "$listed_id" = "$id" ]; }; then
            state=$(value "$sessions" "sessions.$index.status")
            updated_ms=$(value "$sessions" "sessions.$index.updatedAt")
            : "${updated_ms:=0}"
            key=$this
            return 0
        fi
        listed_id=''
        index=$((index + 1))
    done
}

# Ends this attempt if the session is not to be touched.
respect() {
    # A card that an ended run made is about that conversation; one that somebody else made is about the work.
    if [ -n "$id" ] && [ -n "$listed_id" ] && [ "$listed_id" != "$id" ] && [ "$(field metadata.openclaw.made_by)" = import ]; then
        person session_reset "session $key was reset: what goes by that name now knows nothing of the task"
    fi
    case $state in
    running) later 60 "session $key is running" ;;
    killed)
        approved_ms=$(unix_ms "$(field approved_at)")
        [ "${approved_ms:-0}" -gt "$updated_ms" ] ||
            person session_killed "a person stopped session $key; card approve $TASK_ID goes on all the same"
        ;;
    esac
}

# Tells the programs how a turn ended, as the plugin does for every other: what
# it means is decided in one place, and each run is taken once, whoever tells it
# first. $1: the fields of the record that only this end has.
tell() {
    printf '{"session_key":%s,"session_id":%s,"trigger":"user","ended_at":"%s",%s}\n' \
        "$(json_text "$key")" "$(json_text "${listed_id:-$id}")" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" |
        "$TASK_BIN/card" import --from openclaw-run - >/dev/null
}

# A turn that timed out, or failed with this error.
timed_out() {
    tell "\"run_id\":$(value_json "$answer" runId),\"success\":false,\"failure_kind\":\"timeout\",\"error\":$(json_text "$1")"
    failed "llm_timeout: $1"
}
broke() {
    forget
    tell "\"run_id\":$(value_json "$answer" runId),\"success\":false,\"stop_reason\":\"error\",\"error\":$(json_text "$1")"
    ended_in_error "$1"
}

# A turn that ended well for OpenClaw: whether its work did, too.
judge() {
    stand
    history=$("$openclaw" gateway call chat.history --params "{\"sessionKey\":$(json_text "$key"),\"limit\":50}" --json) || history='{}'
    calls=0 index=1 tool=null final=null stop=null run=null
    while :; do
        case $(value "$history" "messages.-$index.role") in
        '' | user) break ;;
        toolResult)
            calls=$((calls + 1))
            [ "$tool" != null ] || tool=$(last_tool "messages.-$index")
            ;;
        assistant)
            if [ "$stop" = null ]; then
                stop=$(value_json "$history" "messages.-$index.stopReason")
                final=$(value_json "$history" "messages.-$index.content.-1.text")
                run=$(value_json "$history" "messages.-$index.__openclaw.runId")
            fi
            ;;
        esac
        index=$((index + 1))
    done
    if [ "$stop" = null ]; then
        # No Gateway to ask: what openclaw agent said has to do. Of tools it tells too little.
        stop=$(value_json "$answer" result.meta.stopReason)
        final=$(value_json "$answer" result.payloads.-1.text)
        calls=null
    fi
    [ "$run" != null ] || run=$(value_json "$answer" runId)
    tell "\"run_id\":$run,\"success\":true,\"stop_reason\":$stop,\"tool_calls\":$calls,\"last_tool\":$tool,\"final_text\":$final" ||
        failed 'the end of the turn could not be recorded'
    stand
    # The card is open. Either the turn was cut, or the session goes on when it likes.
    reason=$(value "$now" metadata.openclaw.reason)
    [ -z "$reason" ] || failed "$reason: $(value "$now" metadata.openclaw.last_tool) $final"
    handed_over
}

# Ends this attempt as the card stands, once it no longer says "running": the
# session itself has said how the task stands, or a clean end has completed it.
stand() {
    now=$("$TASK_BIN/card" show "$TASK_ID")
    case $(value "$now" status) in
    running | pending) ;;
    stalled) failed "the session left the task stalled" ;;
    *) exit 0 ;;
    esac
}

# The last tool of the turn. OpenClaw calls a command that failed a success; its
# exit status is in the text.
last_tool() {
    text=$(value "$history" "$1.content.-1.text")
    code=$(printf '%s\n' "$text" | LC_ALL=C sed -n 's/^(Command exited with code \([0-9]\{1,3\}\))$/\1/p' | tail -n 1)
    error=null
    [ "$(value "$history" "$1.isError")" != true ] || error=$(value_json "$history" "$1.content.-1.text")
    printf '{"name":%s,"error":%s,"exit_code":%s}' "$(value_json "$history" "$1.toolName")" "$error" "${code:-null}"
}

# Nobody can tell whether the turn was begun: the session can.
unknown() {
    say "the outcome is unknown: $1"
    look
    respect
    after "$sent_ms"
    later '' "nothing has happened in session $key since"
}

# What has become of a turn that was begun at this time.
after() {
    [ "$updated_ms" -gt "$1" ] || return 0
    case $state in
    done)
        forget
        judge
        ;;
    failed) broke 'the turn that was begun failed' ;;
    timeout)
        forget
        timed_out 'the turn that was begun timed out'
        ;;
    esac
}

# Only queued, and the session is woken: nobody learns here how it ends.
wake() {
    [ -n "$key" ] || person no_session "inside a command of the agent a session is woken by its key, and the card has only its id"
    answer=$("$openclaw" system event --text "$text" --mode now --session-key "$key" --json)
    forget
    [ "$(value "$answer" ok)" != true ] || handed_over
    later '' "openclaw system event: $(value "$answer" error.message)"
}

answer='{}'
look
respect
earlier=$(field metadata.openclaw_sent_ms)
[ -z "$earlier" ] || case $state in
done) after "$earlier" ;;
esac

text=$(prompt)
sent_ms=$(date +%s)000
note "$sent_ms" || exit
[ "${OPENCLAW_SHELL-}" != exec ] || wake

if [ -n "$key" ]; then
    set -- --session-key "$key"
else
    set -- --session-id "$id"
fi
answer=$("$openclaw" agent "$@" -m "$text" --json --timeout "$(turn_seconds 3600)")
rc=$?
case $(value "$answer" status) in
ok)
    forget
    stop=$(value "$answer" result.meta.stopReason)
    if [ "$stop" = toolUse ] || [ "$(value "$answer" result.meta.aborted)" = true ]; then
        look
        respect
    fi
    # Its limit came between two tool calls, and nobody stopped it.
    [ "$stop" != toolUse ] || timed_out 'the turn reached its time limit between two tool calls'
    judge
    ;;
timeout)
    # One version exits with 0 all the same. A turn that a person stopped is called a time-out, too: the session knows better.
    forget
    look
    respect
    timed_out "$(value "$answer" result.payloads.-1.text)"
    ;;
esac
error=$(value "$answer" error.message)
case $error in
*'from agent exec'*) wake ;;
*'Gateway not reachable'*ECONNREFUSED*)
    # Nobody was there to begin anything.
    forget
    later '' "$error"
    ;;
esac
if [ "$(value "$answer" origin)" = gateway ] && [ -n "$(value "$answer" runId)" ]; then
    broke "$error"
fi
unknown "${error:-openclaw agent ended with exit status $rc}"
