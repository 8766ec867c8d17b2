//! `card complete`, `fail`, `block`, `cancel`, `approve`: what a person, or the task itself, decides.

use shared::card::{Card, Status};
use shared::document::Document;
use shared::edit::{edit, refuse_finished};
use shared::exit::{Error, Exit};
use shared::facts::host_name;
use shared::history::Event;
use shared::store::Store;
use shared::talk::{command, say};
use shared::time::Timestamp;

use crate::args::{Choice, Decision};
use crate::show;

/// Changes the card and prints it.
pub(crate) fn decide(store: &Store, decision: &Decision) -> Result<Exit, Error> {
    let changed = edit(store, &decision.id, |document, card, now| {
        if is_repeated(decision, card) {
            say(&format!("{} is {} already: nothing is changed", decision.id, card.status));
            return Ok(None);
        }
        refuse_finished(card)?;
        let before = document.clone();
        decision.entry.apply(document, decision.entry.tells_of_work(), now);
        change(decision, document, card, now)?;
        Ok(Some(event(decision, &before, document)))
    })?;
    show::print(&changed)
}

/// A decision that was carried out before, for example by a command whose answer got lost.
fn is_repeated(decision: &Decision, card: &Card) -> bool {
    matches!(
        (decision.choice, card.status),
        (Choice::Complete, Status::Completed) | (Choice::Fail, Status::Failed) | (Choice::Cancel, Status::Cancelled)
    )
}

fn change(decision: &Decision, document: &mut Document, card: &Card, now: Timestamp) -> Result<(), Error> {
    match decision.choice {
        Choice::Complete if card.status == Status::Pending => Err(Error::refused(format!(
            "{} is pending: nothing was done yet; start it with {} {0}, record what was done with {}, or cancel it",
            decision.id,
            command("resume"),
            command("checkpoint")
        ))),
        Choice::Fail if card.status == Status::Pending => Err(Error::refused(format!(
            "{} is pending: nothing was done yet; cancel it instead: {} cancel {0}",
            decision.id,
            command("card")
        ))),
        Choice::Complete => document.set_status(Status::Completed),
        Choice::Fail => document.set_status(Status::Failed),
        Choice::Cancel => document.set_status(Status::Cancelled),
        Choice::Block => {
            let reason = decision.reason.as_deref().unwrap_or("blocked");
            document.set_attention(reason, decision.detail.as_deref().or(decision.entry.message.as_deref()), now)
        }
        Choice::Approve => approve(document, card, now),
    }
}

fn approve(document: &mut Document, card: &Card, now: Timestamp) -> Result<(), Error> {
    let can_be_run = card.resume_adapter.is_some() || card.is_plain_command();
    match card.status {
        Status::Pending => {}
        _ if can_be_run => document.set_status(Status::Stalled)?,
        _ => document.set_status(Status::Running)?,
    }
    // Files that are not as they were are a question of their own: only whoever was asked it has answered it.
    if card.attention.as_ref().is_some_and(|attention| attention.reason.starts_with("artifact_")) {
        document.set("permit_artifacts", true);
    }
    document.set_time("approved_at", now);
    document.set("permit", document.text("phase").to_owned());
    for name in ["retry_count", "failures"] {
        if document.count(name) > 0 {
            document.set(name, 0);
        }
    }
    document.remove("not_before");
    if card.run.as_ref().is_some_and(|run| run.host != host_name()) {
        document.remove("run");
    }
    Ok(())
}

fn event(decision: &Decision, before: &Document, after: &Document) -> Event {
    let kind = match decision.choice {
        Choice::Complete => "completed",
        Choice::Fail => "failed",
        Choice::Block => "blocked",
        Choice::Cancel => "cancelled",
        Choice::Approve => "approved",
    };
    let mut event = decision.entry.event(kind, before).with("by", "card");
    event = event.with("from", before.text("status")).with("to", after.text("status"));
    if let Some(reason) = &decision.reason {
        event = event.with("reason", reason.as_str());
    }
    event
}
