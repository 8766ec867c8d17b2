//! What the end of a run means: a pure decision over what is known of it.
//!
//! ```text
//! a heartbeat's own, still running, stopped by a person     ignore
//! the model's last call failed
//!   401, 403, 404, billing, context length                  permanent_error
//!   a time-out, by its kind or its text                     llm_timeout
//!   anything else that is known to be a failure             llm_error
//! it did not succeed, and nothing tells why: a person
//! may have stopped it between two calls                    ignore
//! the last tool call failed, and no later one went well
//!   nothing was said after it, or that it failed            tool_failure
//!   a question, a long answer, a failure that may be what
//!   was to be found out                                     tool_failure with an open card, else ignore
//!   something else: with an exit status that proves nothing ignore; thrown, with an open card: tool_failure
//!   it is said to be done all the same, or that something
//!   is not there, which is what a search finds out          ignore
//! it stopped by itself
//!   a next step is announced, nothing was called            non_action with an open card, else finished
//!   a question, work that is left, cut off                  ignore with an open card, else finished
//!   else                                                    finished
//! anything else                                             ignore
//! ```
//! Two mistakes cost more than a missed chance: to resume what was finished, and to call finished
//! what was not. So an exit status alone proves nothing about the answer after it (`grep` that
//! finds nothing exits with 1), and whatever is in doubt is left alone. An open card of the session
//! says that a task is under way, which settles most doubts.

use shared::time::Timestamp;

use super::errors;
use super::phrases::{self, Intent, Phrases};
use super::record::{Run, State};
use super::reset::reset;

/// Longer texts are answers, whatever they contain. In characters.
const ANSWER_CHARS_MIN: usize = 600;
/// The end of a text where it says how it ends. In characters.
const ENDING_CHARS: usize = 300;

/// What a run's end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Interrupted(Reason),
    Finished,
    Ignore(Why),
}

/// Why a run is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    LlmTimeout,
    LlmError,
    ToolFailure,
    NonAction,
    /// Only a person can do something about it.
    PermanentError,
}

/// Why a run is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Running,
    /// Of a heartbeat, or of a session that OpenClaw keeps for itself.
    OpenClaws,
    Killed,
    Unsure,
}

impl Reason {
    pub(super) const ALL: [Self; 5] = [Self::LlmTimeout, Self::LlmError, Self::ToolFailure, Self::NonAction, Self::PermanentError];

    /// The word on the card.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::LlmTimeout => "llm_timeout",
            Self::LlmError => "llm_error",
            Self::ToolFailure => "tool_failure",
            Self::NonAction => "non_action",
            Self::PermanentError => "permanent_error",
        }
    }
}

/// Decides. `open_card`: the session has a card that is not finished.
pub(super) fn classify(run: &Run, phrases: &Phrases, open_card: bool) -> Class {
    let internal = run.session_key.contains(":internal-session-effects:");
    if run.trigger == "heartbeat" || run.session_key.ends_with(":heartbeat") || internal {
        return Class::Ignore(Why::OpenClaws);
    }
    match run.state {
        Some(State::Running) => return Class::Ignore(Why::Running),
        Some(State::Killed) => return Class::Ignore(Why::Killed),
        _ => {}
    }
    let stopped_by_itself = is_stop(&run.stop_reason) && run.success != Some(false);
    if !stopped_by_itself && let Some(class) = model_failure(run) {
        return class;
    }
    // Cut between two calls, and by whom is not told: OpenClaw's time limit and a person's stop look alike, and a tool that failed
    // may have failed because of it.
    if run.success == Some(false) && !is_stop(&run.stop_reason) {
        return Class::Ignore(Why::Unsure);
    }
    if run.last_tool.as_ref().is_some_and(super::record::Tool::failed) {
        let thrown = run.last_tool.as_ref().is_some_and(|tool| !tool.error.is_empty());
        return tool_failure(&run.final_text, thrown, open_card);
    }
    let well = run.success == Some(true) && is_stop(&run.stop_reason);
    match run.state {
        // OpenClaw's list of sessions tells no more than that.
        Some(State::Done) if run.stop_reason.is_empty() && run.success.is_none() => Class::Finished,
        _ if well => good_end(run, phrases, open_card),
        _ => Class::Ignore(Why::Unsure),
    }
}

fn is_stop(stop_reason: &str) -> bool {
    matches!(stop_reason, "stop" | "end_turn" | "endTurn" | "stop_sequence")
}

/// How the model's last call failed, if it did.
fn model_failure(run: &Run) -> Option<Class> {
    let interrupted = |reason| Some(Class::Interrupted(reason));
    if run.state == Some(State::Timeout) || run.failure_kind == "timeout" {
        return interrupted(Reason::LlmTimeout);
    }
    let aborted = run.failure_kind == "aborted" || run.stop_reason == "aborted" || errors::tells_of_abort(&run.error);
    if aborted {
        // OpenClaw aborts a call that took too long, too, and says so in the text.
        let late = errors::tells_of_timeout(&run.error);
        return if late { interrupted(Reason::LlmTimeout) } else { Some(Class::Ignore(Why::Killed)) };
    }
    let failed = run.state == Some(State::Failed) || run.stop_reason == "error" || !run.failure_kind.is_empty();
    // Without a word of why, a run that did not succeed may have been stopped by a person.
    if !failed && (run.success != Some(false) || run.error.is_empty()) {
        return None;
    }
    let tells_when = reset(&run.error, run.ended_at.unwrap_or(Timestamp::from_unix_ms(0))).is_some();
    if errors::is_permanent(&run.error, tells_when) {
        return interrupted(Reason::PermanentError);
    }
    interrupted(if errors::tells_of_timeout(&run.error) { Reason::LlmTimeout } else { Reason::LlmError })
}

fn tool_failure(text: &str, thrown: bool, open_card: bool) -> Class {
    let failure = Class::Interrupted(Reason::ToolFailure);
    let unsure = Class::Ignore(Why::Unsure);
    let text = phrases::plain(text);
    if text.is_empty() {
        return failure;
    }
    let is_answer = text.chars().count() >= ANSWER_CHARS_MIN;
    let end = phrases::ending(&text, ENDING_CHARS);
    let admitted = phrases::admits_failure(end);
    match () {
        () if is_answer => {
            if admitted && open_card {
                failure
            } else {
                unsure
            }
        }
        () if phrases::claims_success(&text) || phrases::reports_absence(&text) && !phrases::admits_own_failure(&text) => unsure,
        () if open_card && (thrown || phrases::admits_failure(&text)) => failure,
        () if phrases::admits_own_failure(end) && !phrases::asks(&text) && !phrases::answers_yes_or_no(&text) => failure,
        () => unsure,
    }
}

fn good_end(run: &Run, phrases: &Phrases, open_card: bool) -> Class {
    let text = phrases::plain(&run.final_text);
    if text.is_empty() || phrases::is_quiet_token(&text) {
        // What was said elsewhere, or nothing to say: that is no answer to tell from.
        return Class::Ignore(Why::Unsure);
    }
    if !open_card {
        return Class::Finished;
    }
    let is_answer = text.chars().count() >= ANSWER_CHARS_MIN;
    match phrases.intent(&text) {
        Intent::Sure if !is_answer && run.tool_calls == Some(0) => return Class::Interrupted(Reason::NonAction),
        Intent::Sure | Intent::Perhaps => return Class::Ignore(Why::Unsure),
        Intent::None => {}
    }
    let end = phrases::ending(&text, ENDING_CHARS);
    if phrases::asks(end) || phrases::leaves_work(end) || phrases::is_cut_off(&text) || phrases::admits_failure(end) {
        return Class::Ignore(Why::Unsure);
    }
    Class::Finished
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
