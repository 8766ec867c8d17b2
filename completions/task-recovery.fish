# Completions of task-recovery's programs for fish 3.1 and later.
#
# Options, verbs, the IDs of tasks that a command is for, and phases of the task that is named. IDs and phases come from the
# programs themselves: from the folder of the program that was typed, never from another one of its name; one call each, and
# nothing is said when it fails. Tasks are read in the workspace of the current folder, or of --workspace.
#
# Source this file, or let "make install" put it where fish looks. What completes another watch stays, until this one is the one
# on the PATH.

# The prefix that the programs were installed with (make install PROGRAM_PREFIX=...).
set -l task_recovery_prefix ''

# What the path of the typed program has before its own name, if all of ours are there.
function __task_recovery_beside
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    string match -q '*/*' -- $program; or set program (command -s -- $program 2>/dev/null)
    set -l beside (string replace -r '(card|checkpoint|watch|resume|heartbeat-install)$' '' -- $program)
    for other in card checkpoint watch resume
        test -x "$beside$other"; or return 1
    end
    echo $beside
end

# Runs the program of ours that was typed, or another beside it, in the workspace of the command line.
function __task_recovery_run
    set -l beside (__task_recovery_beside); or return
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        string match -q -- '--workspace=*' $words[$i]; and set where $words[$i]
        if test "$words[$i]" = --workspace; and test $i -lt (count $words)
            set where --workspace (string replace -r '^~/' "$HOME/" -- $words[(math $i + 1)])
        end
    end
    $beside$argv[1] $argv[2..-1] $where 2>/dev/null </dev/null
end

# The words that are no options and no values of options: card's verb, and IDs.
function __task_recovery_words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --task-id
            case --allow-auto-resume '--no-*' --safe-to-retry --plain --report --explain --exit-status --detach --force --dry-run --archived --cleanup '--*=*'
            case '--*' -j
                set skip 1
            case '-*'
            case '*'
                echo $word
        end
    end
end

function __task_recovery_verb_is
    set -l words (__task_recovery_words)
    contains -- "$words[1]" $argv
end

# Whether this many words are there at most.
function __task_recovery_at_most
    test (count (__task_recovery_words)) -le $argv[1]
end

function __task_recovery_explains
    contains -- --explain (commandline -opc)
end

# The first task_id of a line.
set -g __task_recovery_task_id '^.*?"task_id":"([^"]*)".*$'

# IDs of tasks: due, approve, all, or those with the statuses that are named.
function __task_recovery_ids
    switch $argv[1]
        case due
            __task_recovery_run watch --format ids
        case approve
            # Whatever a person's word would help: watch tells the command.
            __task_recovery_run watch --format jsonl | string match '*"next":"*card approve *' | string replace -rf $__task_recovery_task_id '$1'
        case all
            __task_recovery_run card list --format jsonl | string replace -rf $__task_recovery_task_id '$1'
        case '*'
            __task_recovery_run card list --format jsonl --status=$argv | string replace -rf $__task_recovery_task_id '$1'
    end
end

# The phases of the task that is named; of card it is the word after the verb.
function __task_recovery_phases
    set -l words (__task_recovery_words)
    test (count $words) -ge $argv[1]; or return
    set -l id $words[$argv[1]]
    set -l card (__task_recovery_run card show $id --format json)
    string match -rq '"manual_phases":\["(?<phases>[^\]]*)"\]' -- $card; and string split '","' -- $phases
    string match -ra '"(?:phase|from_phase|to_phase)":"[^"\\\\]+"' -- $card | string replace -r '^.*":"(.*)"$' '$1' | sort -u
end

# Options of all programs.
function __task_recovery_common
    complete -c $argv[1] -f
    complete -c $argv[1] -l workspace -x -a '(__fish_complete_directories)' -d 'The workspace'
    complete -c $argv[1] -l now -x -d 'An RFC 3339 time instead of the clock'
    complete -c $argv[1] -s h -l help -d 'A summary'
    complete -c $argv[1] -s V -l version -d 'The version'
end

# Options that change how a task is brought back: the program, how many words there are up to the ID, a condition.
function __task_recovery_policies
    set -l to complete -c $argv[1] -n $argv[3]
    $to -l title -x -d 'For people'
    $to -l resume-adapter -r -F -d 'The program that continues the work'
    $to -l resume-command -x -d 'A plain command'
    $to -l allow-auto-resume -d 'Bring it back without a person'
    $to -l no-allow-auto-resume -d 'Do not'
    $to -l stale-after-minutes -x -d 'Silence that counts as lost'
    $to -l max-retries -x -d 'Attempts in a row without progress'
    $to -l no-max-retries -d 'The default again'
    $to -l max-failures -x -d 'Attempts that did not end well'
    $to -l timeout-seconds -x -d 'Longest single attempt'
    $to -l cooldown-seconds -x -d 'First wait between attempts'
    $to -l give-up-after-minutes -x -d 'Due for longer: a person decides'
    $to -l manual-phase -x -a "(__task_recovery_phases $argv[2])" -d 'A phase that needs a person'
    $to -l depends-on -x -a '(__task_recovery_ids all)' -d 'A task to be completed first'
    $to -l safe-to-retry -d 'The current phase is not manual'
    $to -l no-safe-to-retry -d 'It is'
    $to -l mode -x -d Kept
    $to -l notes -x -d Kept
    $to -l owner-skill -x -d Kept
    $to -l session-key -x -d 'Of the session that does the work'
end

function __task_recovery_card
    set -l unfinished pending running stalled needs_attention
    set -l verbs create update put show list log report complete fail block cancel approve import export archive prune schema
    __task_recovery_common $argv[1]
    complete -c $argv[1] -n '__task_recovery_at_most 0' -a "$verbs"
    __task_recovery_policies $argv[1] 2 '__task_recovery_verb_is create update'
    set -l to complete -c $argv[1] -n '__task_recovery_at_most 1'
    $to -n '__task_recovery_verb_is show log put export' -a '(__task_recovery_ids all)'
    $to -n '__task_recovery_verb_is update complete fail block cancel' -a "(__task_recovery_ids $unfinished)"
    $to -n '__task_recovery_verb_is approve' -a '(__task_recovery_ids approve)'
    complete -c $argv[1] -n '__task_recovery_verb_is report' -a "(__task_recovery_ids $unfinished)"
    complete -c $argv[1] -n '__task_recovery_verb_is import' -F
    complete -c $argv[1] -n '__task_recovery_verb_is export; and not __task_recovery_at_most 1' -F
    set to complete -c $argv[1] -n
    $to '__task_recovery_verb_is show log put export' -l task-id -x -a '(__task_recovery_ids all)' -d 'The ID'
    $to '__task_recovery_verb_is create' -l task-id -x -d 'The ID'
    $to '__task_recovery_verb_is update report complete fail block cancel' -l task-id -x -a "(__task_recovery_ids $unfinished)" -d 'The ID'
    $to '__task_recovery_verb_is approve' -l task-id -x -a '(__task_recovery_ids approve)' -d 'The ID'
    $to '__task_recovery_verb_is create update list' -l task-type -x -d 'What kind of work it is'
    $to '__task_recovery_verb_is create' -l status -x -a 'pending running' -d 'To begin with'
    $to '__task_recovery_verb_is update' -l status -x -a 'running stalled needs_attention completed failed cancelled' -d 'Where it goes'
    $to '__task_recovery_verb_is list' -l status -x -a "$unfinished completed failed cancelled" -d 'Only these'
    $to '__task_recovery_verb_is list' -l archived -d 'Those of the archive'
    $to '__task_recovery_verb_is archive' -a '(__task_recovery_ids completed failed cancelled)'
    $to '__task_recovery_verb_is archive' -l status -x -a 'completed failed cancelled' -d 'Only these'
    $to '__task_recovery_verb_is archive' -l task-id -x -a '(__task_recovery_ids completed failed cancelled)' -d 'The ID'
    $to '__task_recovery_verb_is archive prune' -l older-than -x -a '7d 30d 90d' -d 'Finished for so long'
    $to '__task_recovery_verb_is archive' -l cleanup -d 'Remove what metadata.cleanup names'
    $to '__task_recovery_verb_is archive prune' -l dry-run -d 'Change nothing'
    $to '__task_recovery_verb_is create' -l scaffold -x -a 'sh python' -d 'Make the adapter from a template'
    $to '__task_recovery_verb_is create update complete fail block cancel approve' -l phase -x -a '(__task_recovery_phases 2)' -d 'The phase'
    $to '__task_recovery_verb_is create update complete fail block cancel approve' -l artifact -r -F -d 'A file of this phase: NAME=PATH'
    $to '__task_recovery_verb_is create update complete fail block cancel approve' -l meta -x -d 'Into metadata: KEY=VALUE'
    $to '__task_recovery_verb_is create update' -l context -x -d 'Into context: KEY=VALUE'
    $to '__task_recovery_verb_is create update' -l step -x -d 'A step to be done'
    $to '__task_recovery_verb_is complete fail block cancel approve' -l message -x -d 'What was done'
    $to '__task_recovery_verb_is block' -l reason -x -d 'One word'
    $to '__task_recovery_verb_is block' -l detail -x -d 'One sentence'
    $to '__task_recovery_verb_is show' -l format -x -a 'json text' -d 'How it is printed'
    $to '__task_recovery_verb_is show' -l field -x -d 'One value of it'
    $to '__task_recovery_verb_is list' -l format -x -a 'jsonl text' -d 'How it is printed'
    $to '__task_recovery_verb_is report' -l format -x -a 'text chat html prometheus' -d 'How it is printed'
    $to '__task_recovery_verb_is report' -l refresh -x -d 'Seconds until a browser loads it again'
    $to '__task_recovery_verb_is report' -l lang -x -a 'en zh' -d 'The language'
    $to '__task_recovery_verb_is report' -l plain -d 'Without pictures'
    $to '__task_recovery_verb_is report' -l quiet-token -x -d 'When there is nothing to say'
    $to '__task_recovery_verb_is import' -l from -x -a 'task-state task-status task-runtime openclaw-run openclaw-sessions' -d Whose
    $to '__task_recovery_verb_is import' -l intent-phrase -x -d 'What announces a next step'
    $to '__task_recovery_verb_is export' -l to -x -a task-state -d 'The form'
end

function __task_recovery_checkpoint
    __task_recovery_common $argv[1]
    __task_recovery_policies $argv[1] 1 true
    set -l to complete -c $argv[1]
    $to -n '__task_recovery_at_most 0' -a '(__task_recovery_ids running)'
    $to -l task-id -x -a '(__task_recovery_ids running)' -d 'The ID'
    $to -l phase -x -a '(__task_recovery_phases 1)' -d 'The phase that the work was done in'
    $to -l next-phase -x -a '(__task_recovery_phases 1)' -d 'The phase that comes next'
    $to -l message -x -d 'What was done'
    $to -l artifact -r -F -d 'A file of this phase: NAME=PATH'
    $to -l verified-artifact -r -F -d 'The same, measured'
    $to -l step -x -d 'A step that is done'
    $to -l result -x -d 'What came of it'
    $to -l status -x -a 'running stalled needs_attention completed failed cancelled' -d 'Where the task stands'
    $to -l meta -x -d 'Into metadata: KEY=VALUE'
    $to -l context -x -d 'Into context: KEY=VALUE'
end

function __task_recovery_watch
    __task_recovery_common $argv[1]
    set -l to complete -c $argv[1]
    $to -l task-type -x -d 'Only this type'
    $to -l format -x -a 'jsonl text report ids' -d 'How signals are printed'
    $to -l report -d 'One object'
    $to -l explain -d 'The verdict on every card, or on one'
    $to -n '__task_recovery_explains; and __task_recovery_at_most 0' -a '(__task_recovery_ids all)'
    $to -l exit-status -d 'Exit with 1 when something needs a person'
end

function __task_recovery_resume
    __task_recovery_common $argv[1]
    set -l to complete -c $argv[1]
    $to -a '(__task_recovery_ids due)'
    $to -l task-id -x -a '(__task_recovery_ids due)' -d 'An ID'
    $to -s j -l jobs -x -d 'Attempts at a time'
    $to -l timeout-seconds -x -d 'Longest attempt'
    $to -l grace-seconds -x -d 'Between TERM and KILL'
    $to -l budget-seconds -x -d 'For the whole pass'
    $to -l output-limit -x -d 'Bytes of one attempt'
    $to -l detach -d 'Return at once'
    $to -l wait-seconds -x -d 'For tasks that are due soon'
    $to -l force -d 'Start a named task now'
    $to -l dry-run -d 'Change nothing'
    $to -l format -x -a 'jsonl text report' -d 'How lines are printed'
    $to -l report -d 'One object'
    $to -l exit-status -d 'Exit with 1 when something needs a person'
end

function __task_recovery_heartbeat-install
    __task_recovery_common $argv[1]
    set -l to complete -c $argv[1]
    $to -l all-agents -d 'The workspaces of all agents'
    $to -l trigger -x -a 'automation heartbeat cron systemd none auto' -d 'What calls the pass'
    $to -l every -x -a '5m 10m 1h' -d 'How often'
    $to -l agents-md -d 'Add to AGENTS.md'
    $to -l enable -d 'Have OpenClaw run the plugin'
    $to -l plugin -d 'A plugin of OpenClaw that tells how runs end'
    $to -l python-shim -d 'For adapters of the Python predecessor'
    $to -l lang -x -a 'en zh' -d 'The language'
    $to -l dry-run -d 'Write nothing'
    $to -l check -d 'Is everything in its place'
    $to -l uninstall -d 'Take everything out again'
    $to -l format -x -a 'json text' -d 'How it is printed'
end

for program in card checkpoint resume heartbeat-install
    __task_recovery_$program $program
end
set -l task_recovery_watch (command -s watch)
if test -n "$task_recovery_watch"; and test -x (string replace -r 'watch$' checkpoint -- $task_recovery_watch)
    __task_recovery_watch watch
end
if test -n "$task_recovery_prefix"
    for program in card checkpoint watch resume heartbeat-install
        __task_recovery_$program $task_recovery_prefix$program
    end
end
