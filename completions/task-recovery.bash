# shellcheck shell=bash
# Completions of task-recovery's programs for bash 4.2 and later.
#
# Options, verbs, the IDs of tasks that a command is for, and phases of the task that is named. IDs and phases come from the
# programs themselves: from the folder of the program that was typed, never from another one of its name; one call each, and
# nothing is said when it fails. Tasks are read in the workspace of the current folder, or of --workspace.
#
# Source this file, or let "make install" put it where bash-completion finds it.

# The prefix that the programs were installed with (make install PROGRAM_PREFIX=...).
_task_recovery_prefix=

_task_recovery_common='--workspace --now --help --version'
_task_recovery_policies='--title --resume-adapter --resume-command --allow-auto-resume --no-allow-auto-resume
--stale-after-minutes --max-retries --max-failures --timeout-seconds --cooldown-seconds --give-up-after-minutes
--manual-phase --depends-on --safe-to-retry --no-safe-to-retry --mode --notes --owner-skill --session-key --no-max-retries'
_task_recovery_verbs='create update put show list log report complete fail block cancel approve import export archive prune schema'

# Options of a program, or of card's verb.
_task_recovery_options() {
    case $1 in
    create) echo "--task-id --task-type --phase --status --scaffold --step --artifact --meta --context $_task_recovery_policies" ;;
    update) echo "--task-id --task-type --phase --status --step --artifact --meta --context $_task_recovery_policies" ;;
    show) echo "--task-id --format --field" ;;
    list) echo "--archived --status --task-type --format" ;;
    archive) echo "--task-id --older-than --status --cleanup --dry-run" ;;
    prune) echo "--older-than --dry-run" ;;
    report) echo "--task-id --plain --format --lang --quiet-token --refresh" ;;
    complete | fail | cancel | approve) echo "--task-id --message --phase --artifact --meta" ;;
    block) echo "--task-id --message --phase --artifact --meta --reason --detail" ;;
    import) echo "--from --intent-phrase" ;;
    export) echo "--to --task-id" ;;
    put | log) echo "--task-id" ;;
    checkpoint)
        echo "--task-id --phase --next-phase --message --artifact --verified-artifact --step --result --status --meta --context"
        echo "$_task_recovery_policies"
        ;;
    watch) echo "--task-type --format --report --explain --exit-status" ;;
    heartbeat-install)
        echo "--workspace --all-agents --trigger --every --agents-md --python-shim --plugin --enable --lang --dry-run --check --uninstall --format"
        ;;
    resume)
        echo "--task-id --jobs --timeout-seconds --grace-seconds --budget-seconds --output-limit --detach --wait-seconds"
        echo "--force --dry-run --format --report --exit-status"
        ;;
    esac
}

# Whether the folder of this program holds all of ours: only those are run.
_task_recovery_is_ours() {
    local other
    for other in card checkpoint watch resume; do
        [[ -x $1$other ]] || return 1
    done
}

# Runs the program of ours that was typed, or another beside it: by its name, in the folder and workspace of the command line.
_task_recovery_run() {
    local program=$1
    shift
    "$_task_recovery_beside$program" "$@" "${_task_recovery_where[@]}" 2>/dev/null </dev/null
}

# The values of a text field in cards or signal lines, one a line.
_task_recovery_field() {
    grep -o "\"\\($1\\)\":\"[^\"\\\\]\\{1,\\}\"" 2>/dev/null | sed 's/^"[^"]*":"\(.*\)"$/\1/'
}

# The first task_id of each line.
_task_recovery_task_id() {
    sed -n 's/"task_id":"\([^"]*\)".*/<\1/; t found
        d
        :found
        s/^.*<//p' 2>/dev/null
}

# IDs of the tasks that a command is for: due, approve, all, or those with these statuses.
_task_recovery_ids() {
    local status
    local -a chosen=()
    case $1 in
    due) _task_recovery_run watch --format ids ;;
    # Whatever a person's word would help: watch tells the command.
    approve) _task_recovery_run watch --format jsonl | grep '"next":"[^"]*card approve ' | _task_recovery_task_id ;;
    *)
        [[ $1 == all ]] || for status in $1; do chosen+=(--status "$status"); done
        _task_recovery_run card list --format jsonl "${chosen[@]}" | _task_recovery_task_id
        ;;
    esac
}

_task_recovery_phases() {
    local card
    [[ $1 ]] || return
    card=$(_task_recovery_run card show "$1" --format json) || return
    if [[ $card =~ \"manual_phases\":\[\"([^]]*)\"\] ]]; then
        printf '%s\n' "${BASH_REMATCH[1]//\",\"/$'\n'}"
    fi
    _task_recovery_field 'phase\|from_phase\|to_phase' <<<"$card"
}

# Offers the lines of a command that begin with what was typed.
_task_recovery_offer() {
    local word
    while IFS= read -r word; do
        [[ $word && $word == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
    done < <("$@" | sort -u)
}

_task_recovery_words() {
    # shellcheck disable=SC2086 # words
    _task_recovery_offer printf '%s\n' $1
}

_task_recovery() {
    local cur=$2 prev=$3 program path name kind verb='' id='' ids='' word after='' i
    local _task_recovery_beside
    local -a _task_recovery_where=()
    COMPREPLY=()
    # The tilde is in the word that was typed.
    # shellcheck disable=SC2088
    case $1 in '~/'*) program=$HOME/${1#'~/'} ;; *) program=$1 ;; esac
    path=$(type -P -- "$program") || return 0
    name=${path##*/}
    case $name in
    *checkpoint) kind=checkpoint ;;
    *card) kind=card ;;
    *watch) kind=watch ;;
    *resume) kind=resume ;;
    *heartbeat-install) kind=heartbeat-install ;;
    *) return 0 ;;
    esac
    _task_recovery_beside=${path%"$kind"}
    if ! _task_recovery_is_ours "$_task_recovery_beside"; then
        compopt -o default -o bashdefault 2>/dev/null
        return 0
    fi

    # What was typed so far. Bash makes words of their own of "=" and of what stands around it.
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $after ]]; then
            [[ $word == = ]] && continue
            case $after in
            --workspace)
                # As the shell would read it, as far as that needs no running of anything.
                word=${word//[\\\"\']/}
                # shellcheck disable=SC2088
                case $word in '~/'*) word=$HOME/${word#'~/'} ;; esac
                _task_recovery_where=(--workspace "$word")
                ;;
            --task-id) id=$word ;;
            esac
            after=
            continue
        fi
        case $word in
        --) return 0 ;;
        --explain) ;;
        --workspace | --task-id) after=$word ;;
        --allow-auto-resume | --no-* | --safe-to-retry | --plain | --report | --exit-status | --detach | --force | --dry-run) ;;
        --archived | --cleanup | --all-agents | --agents-md | --python-shim | --plugin | --enable | --check | --uninstall) ;;
        --help | --version) ;;
        --*) after=skipped ;;
        - | -*) ;;
        =) ((i++)) ;;
        *) if [[ $kind == card && ! $verb ]]; then verb=$word; elif [[ ! $id ]]; then id=$word; fi ;;
        esac
    done
    if [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $cur == = ]]; then
        cur=
    fi
    case $kind/$verb in
    checkpoint/) ids=running ;;
    watch/) ids=all ;;
    resume/) ids=due ;;
    card/approve) ids=approve ;;
    card/archive) ids='completed failed cancelled' ;;
    card/show | card/log | card/put | card/export) ids=all ;;
    card/update | card/complete | card/fail | card/block | card/cancel | card/report) ids='pending running stalled needs_attention' ;;
    esac

    case $prev in
    --workspace) compopt -o dirnames 2>/dev/null ;;
    --resume-adapter) compopt -o default 2>/dev/null ;;
    --task-id) [[ $ids ]] && _task_recovery_offer _task_recovery_ids "$ids" ;;
    --depends-on) _task_recovery_offer _task_recovery_ids all ;;
    --phase | --next-phase | --manual-phase) _task_recovery_offer _task_recovery_phases "$id" ;;
    --status)
        case $kind/$verb in
        card/create) _task_recovery_words 'pending running' ;;
        card/archive) _task_recovery_words 'completed failed cancelled' ;;
        card/list) _task_recovery_words 'pending running stalled needs_attention completed failed cancelled' ;;
        *) _task_recovery_words 'running stalled needs_attention completed failed cancelled' ;;
        esac
        ;;
    --format)
        case $kind/$verb in
        card/show) _task_recovery_words 'json text' ;;
        card/list) _task_recovery_words 'jsonl text' ;;
        card/report) _task_recovery_words 'text chat html prometheus' ;;
        watch/) _task_recovery_words 'jsonl text report ids' ;;
        resume/) _task_recovery_words 'jsonl text report' ;;
        heartbeat-install/) _task_recovery_words 'json text' ;;
        esac
        ;;
    --trigger) _task_recovery_words 'automation heartbeat cron systemd none auto' ;;
    --older-than) _task_recovery_words '7d 30d 90d' ;;
    --every) _task_recovery_words '5m 10m 1h' ;;
    --scaffold) _task_recovery_words 'sh python' ;;
    --lang) _task_recovery_words 'en zh' ;;
    --from) _task_recovery_words 'task-state task-status task-runtime openclaw-run openclaw-sessions' ;;
    --to) _task_recovery_words 'task-state' ;;
    --artifact | --verified-artifact) compopt -o nospace 2>/dev/null ;;
    --task-type | --title | --message | --step | --result | --meta | --context | --mode | --notes | --owner-skill | --session-key | --reason) ;;
    --detail | --quiet-token | --now | --resume-command | --stale-after-minutes | --max-* | --*-seconds) ;;
    --intent-phrase | --refresh | --give-up-after-minutes | --jobs | -j | --output-limit) ;;
    *)
        if [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
            # The file of NAME=FILE.
            compopt -o default 2>/dev/null
        elif [[ $cur == -* ]]; then
            word=$_task_recovery_common
            [[ $verb == schema ]] && word='--help --version'
            _task_recovery_words "$(_task_recovery_options "${verb:-$kind}") $word"
        elif [[ $kind == card && ! $verb ]]; then
            _task_recovery_words "$_task_recovery_verbs"
        elif [[ $kind/$verb == card/import || ($kind/$verb == card/export && $id) ]]; then
            compopt -o default 2>/dev/null
        elif [[ $kind == watch && $prev != --explain ]]; then
            _task_recovery_words "$(_task_recovery_options watch) $_task_recovery_common"
        elif [[ $kind == heartbeat-install ]]; then
            _task_recovery_words "$(_task_recovery_options "$kind") $_task_recovery_common"
        elif [[ $ids && (! $id || $kind == resume || $verb == report || $verb == archive) ]]; then
            _task_recovery_offer _task_recovery_ids "$ids"
        fi
        ;;
    esac
    return 0
}

complete -F _task_recovery card checkpoint resume heartbeat-install
# What completes another watch stays, until this one is the one on the PATH.
if _task_recovery_watch=$(type -P watch) && _task_recovery_is_ours "${_task_recovery_watch%watch}"; then
    complete -F _task_recovery watch
fi
unset _task_recovery_watch
if [[ $_task_recovery_prefix ]]; then
    complete -F _task_recovery "$_task_recovery_prefix"{card,checkpoint,watch,resume,heartbeat-install}
fi
