//! `--dry-run`: says what a pass would do, and does nothing.

use shared::exit::Error;
use shared::facts::Observer;
use shared::signal::{self, Line};
use shared::store::{LoadError, Store};
use shared::verdict::Verdict;

use crate::claim::is_own_attempt;
use crate::items::Item;

/// What would be done with a task.
pub(crate) fn foresee(store: &Store, observer: &Observer, item: &Item) -> Result<Line, Error> {
    let id = &item.id;
    let card = match store.load(id) {
        Ok((_, card)) => card,
        Err(LoadError::Bad(error)) => return Ok(signal::broken(id.as_str(), &error, &store.card_path(id).to_string_lossy())),
        Err(error) => return Err(error.about(id.as_str())),
    };
    let now = store.clock().now();
    let (verdict, facts) = observer.judge(store, &card, item.request, now);
    let plan = |word: &str, reason: &str| Line::new("dry_run", id.as_str()).with("would", word).with("reason", reason);
    if is_own_attempt(store, &card) {
        return Ok(plan("skip", "attempt_alive"));
    }
    Ok(match verdict {
        Verdict::Quiet(quiet) => plan("skip", quiet.reason).with_some("until", quiet.until.map(|until| until.to_string())),
        Verdict::Attention(attention) => signal::needs_attention(&card, &attention),
        Verdict::Alert(due) if due.reason == "contain" => plan("contain", due.reason),
        Verdict::Alert(due) => command(plan("resume", due.reason), &card, facts.attempt_alive),
        Verdict::Ready => command(plan("start", "pending"), &card, false),
    })
}

fn command(line: Line, card: &shared::card::Card, alive: bool) -> Line {
    let words = match &card.resume_adapter {
        Some(adapter) => vec![adapter.clone()],
        None => card.argv().to_vec(),
    };
    line.with("phase", card.phase.as_str()).with("command", words).with_some("would_first_end", alive.then_some("attempt_alive"))
}
