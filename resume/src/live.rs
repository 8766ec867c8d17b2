//! For a person who watches: one line a running attempt on stderr, drawn anew each second.
//!
//! Only on a terminal that can move its cursor, and only from its foreground; anywhere else nothing
//! of this is written. The lines are taken away before anything else is printed, and at the end.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use serde_json::Value;
use shared::document::Document;
use shared::id::TaskId;
use shared::screen::Screen;
use shared::store::Store;
use shared::text::{clean, cut};
use shared::time::Timestamp;
use shared::words::span;

use crate::signals::Signals;

/// Drawn no more often than this.
const REFRESH: Duration = Duration::from_millis(900);

/// The lines as they stand on the terminal.
pub(crate) struct Live<'a> {
    store: &'a Store,
    /// Instead of the cards' own time-outs.
    timeout_seconds: Option<f64>,
    on: bool,
    drawn: usize,
    drawn_at: Option<Instant>,
    /// When this process was stopped, and for how many seconds; the attempts were, too.
    stops: Vec<(Timestamp, f64)>,
}

impl<'a> Live<'a> {
    /// On, if stderr is such a terminal and this is no member of a pool, which draws for all of them.
    pub(crate) fn new(store: &'a Store, timeout_seconds: Option<f64>, is_member: bool) -> Self {
        let on = !is_member && Screen::of_stderr().is_some();
        Self { store, timeout_seconds, on, drawn: 0, drawn_at: None, stops: Vec::new() }
    }

    /// Whether anything is drawn.
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Draws a line for each of these tasks that runs.
    pub(crate) fn draw<'b>(&mut self, ids: impl Iterator<Item = &'b TaskId>) {
        let is_recent = self.drawn > 0 && self.drawn_at.is_some_and(|at| at.elapsed() < REFRESH);
        let Some(screen) = Screen::of_stderr().filter(|_| self.on && !is_recent) else { return };
        if !Screen::is_in_foreground() {
            // What was drawn is scrolled away by others.
            self.drawn = 0;
            return;
        }
        self.drawn_at = Some(Instant::now());
        let now = self.store.clock().stamp();
        let rows: Vec<String> =
            ids.filter_map(|id| row(&self.store.load(id).ok()?.0, self.timeout_seconds, now, &self.stops)).collect();
        let mut text = self.erasure();
        for row in &rows {
            // A line that wrapped could not be taken away again.
            text += &cut(row, screen.room(1));
            text.push('\n');
        }
        self.drawn = rows.len();
        drop(stderr().write_all(text.as_bytes()));
    }

    /// Takes the lines away.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            let text = self.erasure();
            self.drawn = 0;
            // In the background the lines above are the shell's by now.
            if Screen::is_in_foreground() {
                drop(stderr().write_all(text.as_bytes()));
            }
        }
    }

    /// Stops this process until somebody continues it.
    pub(crate) fn suspend(&mut self, signals: &mut Signals) {
        self.clear();
        let at = self.store.clock().stamp();
        let time = signals.suspend();
        self.stops.push((at, time.as_secs_f64()));
    }

    /// Up a line and erase it, for each.
    fn erasure(&self) -> String {
        "\x1b[1A\x1b[2K".repeat(self.drawn)
    }
}

/// The line of a running attempt: task, phase, how long of how long, and what it last said.
fn row(card: &Document, timeout_seconds: Option<f64>, now: Timestamp, stops: &[(Timestamp, f64)]) -> Option<String> {
    let run = card.get("run")?;
    let since = Timestamp::parse(run.get("started_at")?.as_str()?).ok()?.0;
    let id = card.text("task_id");
    let limit = timeout_seconds.or_else(|| Some(card.card(id).ok()?.timeout_seconds())).unwrap_or_default();
    let mut row = clean(id);
    if !card.text("phase").is_empty() {
        row += &format!(" · {}", clean(card.text("phase")));
    }
    let stopped: f64 = stops.iter().filter(|(at, _)| *at >= since).map(|(_, seconds)| seconds).sum();
    row += &format!(" · {}", span(whole(now.seconds_since(since) - stopped)));
    if limit > 0.0 {
        row += &format!(" of {}", span(whole(limit)));
    }
    let said = card.get("checkpoints").and_then(Value::as_array).and_then(|entries| entries.last()?.get("message")?.as_str());
    if let Some(said) = said.filter(|said| !said.is_empty()) {
        row += &format!(" · {}", clean(said));
    }
    Some(row)
}

#[expect(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, which is what is wanted")]
fn whole(seconds: f64) -> i64 {
    seconds.max(0.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_task_phase_time_and_the_last_message() {
        let now = Timestamp::parse("2026-11-30T01:10:05Z").unwrap().0;
        let document = |fields: &str| {
            let text = format!(
                r#"{{"task_id":"report_1","status":"running","phase":"分析","created_at":"2026-11-30T01:00:00Z","timeout_seconds":1800,
                    "checkpoints":[{{"phase":"a","at":"2026-11-30T01:09:00Z","message":"250 of\n1000"}}]{fields}}}"#
            );
            Document::parse(text.as_bytes(), "report_1").unwrap().0
        };
        let running = document(r#","run":{"attempt":1,"token":"t","host":"h","pid":1,"started_at":"2026-11-30T01:00:05Z"}"#);
        assert_eq!(row(&running, None, now, &[]).unwrap(), "report_1 · 分析 · 10 min of 30 min · 250 of 1000");
        assert_eq!(row(&running, Some(0.0), now, &[]).unwrap(), "report_1 · 分析 · 10 min · 250 of 1000");
        assert_eq!(row(&document(""), None, now, &[]), None);
        let stops = ["2026-11-30T01:00:04Z", "2026-11-30T01:01:00Z"].map(|at| (Timestamp::parse(at).unwrap().0, 240.0));
        assert_eq!(
            row(&running, None, now, &stops).unwrap(),
            "report_1 · 分析 · 6 min of 30 min · 250 of 1000",
            "one was before it"
        );
    }
}
