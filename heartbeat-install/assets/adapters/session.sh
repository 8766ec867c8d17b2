# shellcheck shell=sh
# session.sh: what the session adapters share. They source it; nobody runs it.
#
# A session adapter continues an agent's session with a prompt, waits for the
# end of that turn, and answers as every adapter does (see adapter-contract.md):
#
#   completed TEXT   exit 0   the turn ended well, and so the task
#   handed_over      exit 0   the session goes on by itself; nobody waits for it
#   later SECONDS    exit 75  not now: nothing was begun, or a limit ends then
#   person WORD TEXT exit 78  trying again would not help
#   failed TEXT      exit 1   the turn was cut again; counts as an attempt
#
# What failed is said on stderr and never in an answer: a new message would
# count as progress, and the attempts would have no end.

# Set by the adapter: name, here. Given by resume: TASK_ID, TASK_BIN, stdin.
: "${name:?}" "${here:?}" "${TASK_ID:?}" "${TASK_BIN:?}"

card=$(cat)

# A value of a JSON text, bare or as JSON (null when there is none).
value() { printf '%s\n' "$1" | "$TASK_BIN/card" show - --field "$2" 2>/dev/null; }
value_json() {
    found=$(printf '%s\n' "$1" | "$TASK_BIN/card" show - --field "$2" --format json 2>/dev/null)
    printf '%s\n' "${found:-null}"
}

# A value of the card as this attempt was given it.
field() { value "$card" "$1"; }

# A text as a JSON string. Line ends and tabs become spaces.
json_text() { printf '"%s"' "$(printf '%s' "$1" | LC_ALL=C tr '\t\n\r' '   ' | LC_ALL=C tr -d '\000-\037\177' | LC_ALL=C sed 's/[\\"]/\\&/g')"; }

# A word as a shell reads it.
shell_word() {
    case $1 in
    *[!A-Za-z0-9/._-]*) printf "'%s'" "$(printf '%s' "$1" | LC_ALL=C sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

say() { printf '%s: %s\n' "$name" "$1" >&2; }

completed() {
    printf '{"status":"completed","message":%s}\n' "$(json_text "$1")"
    exit 0
}

handed_over() {
    printf '{"status":"running"}\n'
    exit 0
}

# Without a number of seconds the card's own cooldown counts.
later() {
    say "$2"
    [ -z "$1" ] || printf '{"retry_after_seconds":%s}\n' "$1"
    exit 75
}

person() {
    say "$2"
    printf '{"reason":"%s","message":%s}\n' "$1" "$(json_text "$2")"
    exit 78
}

failed() {
    say "$1"
    exit 1
}

# A turn that ended with this error: a limit that has an end, something that
# only a person can mend, or bad luck.
ended_in_error() {
    seconds=$(seconds_until_reset "$1")
    [ -z "$seconds" ] || later "$seconds" "limited, and again in $seconds s: $1"
    case $(printf '%s' "$1" | LC_ALL=C tr '[:upper:]' '[:lower:]') in
    *'http 401'* | *'http 403'* | *'http 404'* | *'error: 401'* | *'error: 403'* | *unauthorized* | *forbidden* | \
        *'invalid api key'* | *'invalid_api_key'* | *'please run /login'* | *'not logged in'* | *'oauth token has expired'* | \
        *billing* | *'credit balance'* | *'insufficient_quota'* | *'payment required'* | *'quota exceeded'* | \
        *'api key not valid'* | *'context limit'* | *余额不足* | *欠费* | *密钥无效* | *密钥已过期* | *上下文长度* | *上下文窗口* | \
        *'context length'* | *'context_length'* | *'context window'* | *'prompt is too long'* | \
        *'model not found'* | *'model_not_found'* | *'no conversation found'* | *'requires a valid session id'* | \
        *'no rollout found'* | *'thread not loaded'* | *'not inside a trusted directory'*)
        person permanent_error "$1"
        ;;
    esac
    failed "llm_error: $1"
}

# A turn that ended well, with these last words. Which field says what completes
# the task: the end of the turn, or only "card complete" ("card").
ended_well() {
    left_as_it_is
    if [ "$(field "$1")" = card ]; then
        say "the turn ended and the task is open: $2"
        exit 0
    fi
    completed "${2:-the turn ended well}"
}

# Ends this attempt when the session itself has ended or blocked the task.
left_as_it_is() {
    case $("$TASK_BIN/card" show "$TASK_ID" --field status) in
    completed | failed | cancelled | needs_attention) exit 0 ;;
    esac
}

# The session of a command line that the card names: its $id. Goes into the
# folder that the card names, if it names one. $1: the word that its fields
# begin with; $2: the program; $3: the variable that names it.
session_of() {
    id=$(field "metadata.$1_session_id")
    [ -n "$id" ] || person no_session "the card has no metadata.$1_session_id"
    command -v "$2" >/dev/null 2>&1 ||
        person "$1_missing" "$2 is not on the PATH of this pass; set $3 to its absolute path"
    folder=$(field "metadata.$1_cwd")
    [ -z "$folder" ] || cd -- "$folder" || person folder_missing "metadata.$1_cwd of the card is no folder any more: $folder"
}

# The time that a turn may take, in whole seconds: what resume grants less what
# the answer needs to be read. Without a limit: $1.
turn_seconds() {
    granted=${TASK_TIMEOUT_SECONDS:-0}
    granted=${granted%%.*}
    case $granted in
    '' | 0) echo "$1" ;;
    *)
        spare=$((granted / 10))
        [ "$spare" -le 20 ] || spare=20
        echo "$((granted - spare))"
        ;;
    esac
}

# Milliseconds since 1970 of a time as the programs write it.
unix_ms() {
    printf '%s\n' "$1" | awk -F '[-T:.Z]' 'NF >= 6 {
        y = $1 - ($2 <= 2); m = ($2 + 9) % 12
        days = 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m + 2) / 5) + $3 - 1 - 719468
        printf "%.0f\n", (days * 86400 + $4 * 3600 + $5 * 60 + $6) * 1000
    }'
}

# What the session is told: the card's own metadata.resume_prompt, else the
# template beside this file, with {{names}} replaced in one go, so that nothing
# in a value is taken for a name.
prompt() {
    own=$(field metadata.resume_prompt)
    if [ -z "$own" ]; then
        lang=$(field metadata.lang)
        case ${lang:-${LC_ALL:-${LC_MESSAGES:-${LANG-}}}} in
        zh*) own=$(cat "$here/resume-prompt.zh.txt") ;;
        *) own=$(cat "$here/resume-prompt.en.txt") ;;
        esac
    fi
    artifacts=$(field artifacts)
    [ "${#artifacts}" -le 8192 ] || artifacts="$(shell_word "$TASK_BIN")/card show $TASK_ID --field artifacts"
    kind=$(field outcome.kind)
    detail=$(field outcome.detail)
    # Of later attempts the outcome tells less than what the run itself ended in.
    reason=$(field metadata.openclaw.reason)
    if [ -n "$reason" ] && [ "$reason" != "$kind" ]; then
        kind=$reason
        detail=$(field metadata.openclaw.last_tool)
    fi
    printf '%s\n' "$own" |
        P_task_id=$TASK_ID P_bin=$(shell_word "$TASK_BIN") P_title=$(field title) P_phase=${TASK_PHASE:--} \
            P_reason="${kind:--}${detail:+: $detail}" P_artifacts=${artifacts:--} \
            P_checkpoint="$(field last_checkpoint_at) $(field checkpoints.-1.message)" \
            LC_ALL=C awk '{
                line = $0; out = ""
                while (match(line, /[{][{][a-z_]+[}][}]/)) {
                    name = substr(line, RSTART + 2, RLENGTH - 4)
                    known = ("P_" name) in ENVIRON
                    out = out substr(line, 1, RSTART - 1) (known ? ENVIRON["P_" name] : substr(line, RSTART, RLENGTH))
                    line = substr(line, RSTART + RLENGTH)
                }
                print out line
            }'
}

# Seconds until the end of a limit, when a text tells it; at most a week.
#
#   Claude AI usage limit reached|1755615600        resets_in_seconds":13872
#   try again in 5 days 22 hours 11 minutes         Retry-After: 30
#   try again at 12:16 PM                           resets 10pm (Europe/Berlin)
#   try again at Jul 5th, 2026 8:19 PM              resets Feb 7, 11am (Asia/Seoul)
#   regain access on 2026-04-01 at 00:00 UTC        请在 1 分 30 秒后重试
#   额度将在 2026-04-01 02:03:04 重置
#
# A connection that was reset tells no time. A time of day is one of the zone in brackets, else of this machine.
seconds_until_reset() {
    zone=$(printf '%s' "$1" | LC_ALL=C tr '\n' ' ' | LC_ALL=C sed -n 's/.*(\([A-Za-z_]\{1,\}\/[A-Za-z_\/+-]\{1,\}\)).*/\1/p')
    case $1 in *UTC*) zone=UTC ;; esac
    if [ -n "$zone" ]; then
        civil=$(TZ=$zone date '+%Y %m %d %H %M %S')
    else
        civil=$(date '+%Y %m %d %H %M %S')
    fi
    printf '%s' "$1" | LC_ALL=C tr '\n' ' ' | LC_ALL=C tr '[:upper:]' '[:lower:]' | LC_ALL=C awk -v unix="$(date +%s)" -v civil="$civil" '
        # What follows the match of a pattern; whether it matched is in "hit".
        function after(pattern) { hit = match(text, pattern); return hit ? substr(text, RSTART + RLENGTH) : "" }
        function day(y, m, d) {
            y -= (m <= 2); m = (m + 9) % 12
            return 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m + 2) / 5) + d - 1
        }
        # The seconds of "8:19 pm" or "20:19" into its day; -1 when there is no time.
        function of_day(s,    h, m, part) {
            if (!match(s, /^[ ,]*(at )?[0-9]+(:[0-9]+)?(:[0-9]+)? ?(am|pm)?/)) return -1
            s = substr(s, 1, RLENGTH); sub(/^[ ,]*(at )?/, "", s)
            if (s !~ /:/ && s !~ /m$/) return -1
            split(s, part, ":"); h = part[1] + 0; m = part[2] + 0
            if (s ~ /pm$/ && h < 12) h += 12
            if (s ~ /am$/ && h == 12) h = 0
            return (h > 24 || m > 59) ? -1 : h * 3600 + m * 60 + part[3]
        }
        function tell(seconds) {
            seconds = int(seconds)
            # Over already, by this clock: not at once all the same.
            if (seconds < 1) seconds = 60
            print (seconds > 604800 ? 604800 : seconds)
            exit
        }
        function span(s,    total, n, unit) {
            total = 0
            while (match(s, /^[ ,]*(and )?[0-9]+([.][0-9]+)? ?(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|ms|s)/)) {
                n = substr(s, 1, RLENGTH); s = substr(s, RLENGTH + 1)
                unit = n; sub(/^[ ,]*(and )?[0-9.]+ ?/, "", unit); sub(/^[ ,]*(and )?/, "", n)
                if (unit == "ms") total += n / 1000
                else total += n * (unit ~ /^d/ ? 86400 : unit ~ /^h/ ? 3600 : unit ~ /^m/ ? 60 : 1)
            }
            return total
        }
        {
            text = $0
            gsub(/(connection|stream|socket|was|been) reset|econnreset/, "gone", text)
            split(civil, c, " ")
            today = day(c[1], c[2], c[3]); now = c[4] * 3600 + c[5] * 60 + c[6]

            rest = after("resets_in_seconds\"?[: ]+"); if (hit && rest + 0 > 0) tell(rest + 0)
            rest = after("(retry[-_ ]after_ms|retry-after-ms)\"?[: ]+"); if (hit && rest + 0 > 0) tell(rest / 1000)
            rest = after("retry_?delay\"?[: ]+\"?"); if (hit && span(rest) > 0) tell(span(rest))
            rest = after("retry[-_ ]after\"?[: ]+"); if (hit && rest ~ /^[0-9]/ && rest !~ /^[0-9]+[-:]/) tell(span(rest) ? span(rest) : rest + 0)
            rest = after("limit reached[|]"); if (hit && rest + 0 > 1000000000) tell(rest + 0 - unix)
            rest = after("resets_at\"?[: ]+"); if (hit && rest + 0 > 1000000000) tell(rest + 0 - unix)
            rest = after("(try again|available again|available|resets?|retry) in "); if (hit && span(rest) > 0) tell(span(rest))

            # Chinese says what for behind the time.
            gsub(/ *(个小时|小时)/, "h", text); gsub(/ *(分钟|分)/, "m", text); gsub(/ *(秒钟|秒)/, "s", text); gsub(/ *天/, "d", text)
            if (match(text, /[0-9][0-9.]*[dhms][0-9dhms. ]*(之|以)?后/)) tell(span(substr(text, RSTART)))
            if (match(text, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][ t][0-9:]+ *(后)? *(重置|恢复|重试|再试)/)) {
                s = substr(text, RSTART)
                tell((day(substr(s, 1, 4) + 0, substr(s, 6, 2) + 0, substr(s, 9, 2) + 0) - today) * 86400 + of_day(substr(s, 12)) - now)
            }

            # Such words can stand elsewhere in the text, too: the first with a time after it counts.
            for (;;) {
                rest = after("(try again|available again|available|resets?|will reset|regain access|retry after)( at| on)? +")
                if (!hit) exit
                if (match(rest, /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/)) {
                    s = substr(rest, RLENGTH + 1); sub(/^(t| at | )/, "", s)
                    at = of_day(s); if (at < 0) at = 0
                    tell((day(substr(rest, 1, 4) + 0, substr(rest, 6, 2) + 0, substr(rest, 9, 2) + 0) - today) * 86400 + at - now)
                }
                if (match(rest, /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* [0-9]+(st|nd|rd|th)?/)) {
                    date = substr(rest, 1, RLENGTH); s = substr(rest, RLENGTH + 1)
                    month = (index("janfebmaraprmayjunjulaugsepoctnovdec", substr(date, 1, 3)) + 2) / 3
                    sub(/^[a-z]+ /, "", date)
                    year = c[1]
                    if (match(s, /^,? [0-9][0-9][0-9][0-9]/)) { year = substr(s, RLENGTH - 3, 4) + 0; s = substr(s, RLENGTH + 1) }
                    else if (day(year, month, date + 0) < today - 180) year++
                    at = of_day(s); if (at < 0) at = 0
                    tell((day(year, month, date + 0) - today) * 86400 + at - now)
                }
                tomorrow = sub(/^tomorrow */, "", rest)
                at = of_day(rest)
                if (at < 0) { text = rest; continue }
                # A time that has just gone by is not tomorrow.
                tell(tomorrow ? 86400 + at - now : at > now ? at - now : now - at < 600 ? 0 : at - now + 86400)
            }
        }'
}
