//! `card list` for a person: a table that fits the screen.
//!
//! What is too wide loses its less important columns one by one, never its lines. The title comes
//! last and takes what is left. An ID keeps both ends: those made by default differ in the last.

use shared::card::{Card, Status};
use shared::document::Document;
use shared::screen::{Screen, Style};
use shared::text::{clean, cut, cut_middle, pad, width};
use shared::time::Timestamp;
use shared::words::age;

const HEADER: [&str; 6] = ["ID", "STATUS", "PHASE", "STEPS", "LAST SEEN", "TITLE"];
const ID: usize = 0;
const STATUS: usize = 1;
const PHASE: usize = 2;
const STEPS: usize = 3;
const SEEN: usize = 4;
const TITLE: usize = 5;
/// What is left out first where there is not enough room.
const LESS_IMPORTANT: [usize; 4] = [PHASE, STEPS, TITLE, SEEN];
const GAP: usize = 2;
/// Less of a title tells nothing.
const TITLE_COLUMNS_MIN: usize = 12;
const PHASE_COLUMNS_MAX: usize = 24;

/// A task's line.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    status: Status,
    cells: [String; 6],
}

impl Row {
    /// The line of a card whose last sign of life was at `last_seen`.
    pub(crate) fn new(document: &Document, card: &Card, last_seen: Timestamp, now: Timestamp) -> Self {
        let steps = steps(document).map(|(done, all)| format!("{done}/{all}")).unwrap_or_default();
        let cells = [
            clean(card.task_id()),
            card.status.to_string(),
            clean(&card.phase),
            steps,
            age(last_seen, now),
            clean(card.title.trim()),
        ];
        Self { status: card.status, cells }
    }
}

/// How many of a card's steps are done, if it has any.
pub(crate) fn steps(document: &Document) -> Option<(usize, usize)> {
    let steps = document.get("steps")?.as_array().filter(|steps| !steps.is_empty())?;
    let done = steps.iter().filter(|step| step.get("status").and_then(|status| status.as_str()) == Some("done"));
    Some((done.count(), steps.len()))
}

/// How a status looks.
pub(crate) fn style(status: Status) -> Style {
    match status {
        Status::Pending => Style::Plain,
        Status::Running => Style::Active,
        Status::Stalled => Style::Warning,
        Status::NeedsAttention | Status::Failed => Style::Alarm,
        Status::Completed => Style::Good,
        Status::Cancelled => Style::Faint,
    }
}

/// The table; nothing when there are no tasks.
pub(crate) fn print(rows: &[Row], screen: &Screen) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let widths = widths(rows, screen.columns);
    let mut text = line(&HEADER, |_| Style::Strong, &widths, screen);
    for row in rows {
        let style = |column| if column == STATUS { style(row.status) } else { Style::Plain };
        text += &line(&row.cells, style, &widths, screen);
    }
    text
}

/// The width of each column that is shown.
fn widths(rows: &[Row], columns: Option<usize>) -> [Option<usize>; 6] {
    let natural: [usize; 6] = std::array::from_fn(|column| rows.iter().map(|row| width(&row.cells[column])).max().unwrap_or(0));
    let mut widths: [Option<usize>; 6] =
        std::array::from_fn(|column| (natural[column] > 0).then(|| natural[column].max(HEADER[column].len())));
    let Some(columns) = columns else { return widths };

    let at_most = |width: &mut Option<usize>, limit: usize| *width = width.map(|width| width.min(limit));
    at_most(&mut widths[ID], columns / 2);
    at_most(&mut widths[PHASE], PHASE_COLUMNS_MAX);
    let title = widths[TITLE];
    at_most(&mut widths[TITLE], TITLE_COLUMNS_MIN);
    for column in LESS_IMPORTANT {
        if total(&widths) > columns {
            widths[column] = None;
        }
    }
    let mut widen = |column: usize, wanted: usize| {
        let others = total(&widths) - widths[column].unwrap_or(0);
        widths[column] = widths[column].map(|_| wanted.min(columns.saturating_sub(others)).max(1));
    };
    widen(TITLE, title.unwrap_or(0));
    widen(ID, natural[ID].max(HEADER[ID].len()));
    widths
}

fn total(widths: &[Option<usize>; 6]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
}

fn line<T: AsRef<str>>(cells: &[T; 6], style: impl Fn(usize) -> Style, widths: &[Option<usize>; 6], screen: &Screen) -> String {
    let mut text = String::new();
    let mut gap = 0;
    for (column, (cell, columns)) in cells.iter().zip(widths).enumerate() {
        let Some(columns) = *columns else { continue };
        let cell = if column == ID { cut_middle(cell.as_ref(), columns) } else { cut(cell.as_ref(), columns) };
        if !cell.is_empty() {
            text += &pad("", gap);
            text += &screen.paint(style(column), &cell);
            gap = 0;
        }
        gap += columns - width(&cell) + GAP;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, status: Status, phase: &str, title: &str) -> Row {
        let cells = [id, status.as_str(), phase, "3/7", "3 h 20 min", title].map(str::to_owned);
        Row { status, cells }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("report_1", Status::Running, "collect", "人工智能代理的年度报告"),
            row("mail-20261130T010000Z", Status::NeedsAttention, "发送邮件", "Send it"),
            row("x", Status::Completed, "", ""),
        ]
    }

    fn screen(columns: usize) -> Screen {
        Screen { columns: Some(columns), coloured: false }
    }

    #[test]
    fn columns_are_aligned_by_what_the_terminal_shows() {
        let expected = "\
ID                     STATUS           PHASE     STEPS  LAST SEEN   TITLE
report_1               running          collect   3/7    3 h 20 min  人工智能代理的年度报告
mail-20261130T010000Z  needs_attention  发送邮件  3/7    3 h 20 min  Send it
x                      completed                  3/7    3 h 20 min
";
        assert_eq!(print(&rows(), &Screen { columns: None, coloured: false }), expected);
        assert_eq!(print(&[], &screen(80)), "");
    }

    #[test]
    fn less_room_means_fewer_columns_and_no_longer_lines() {
        let header = |columns| print(&rows(), &screen(columns)).lines().next().unwrap_or_default().to_owned();
        assert!(header(81).ends_with("PHASE     STEPS  LAST SEEN   TITLE"));
        assert!(header(71).ends_with("STATUS           STEPS  LAST SEEN   TITLE"));
        assert!(header(66).ends_with("STATUS           LAST SEEN   TITLE"));
        assert!(header(52).ends_with("STATUS           LAST SEEN"));
        assert!(header(40).ends_with("STATUS"));
        let short = print(&rows()[..1], &screen(40));
        assert!(short.ends_with("report_1  running  3 h 20 min\n"), "{short}");
        for columns in 20..120 {
            let text = print(&rows(), &screen(columns));
            assert_eq!(text.lines().count(), 4);
            assert!(text.lines().all(|line| width(line) <= columns && line.trim_end() == line), "{columns}\n{text}");
        }
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let text = print(&[row("x", Status::Pending, "", "")], &screen(80));
        assert_eq!(text, "ID  STATUS   STEPS  LAST SEEN\nx   pending  3/7    3 h 20 min\n");
    }

    #[test]
    fn only_the_status_and_the_header_are_coloured() {
        let text = print(&[row("x", Status::Failed, "", "")], &Screen { coloured: true, ..screen(80) });
        assert!(text.ends_with("x   \x1b[1;31mfailed\x1b[0m  3/7    3 h 20 min\n"), "{text:?}");
    }
}
