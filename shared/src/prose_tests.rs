use super::*;

const PLAIN: Style = Style::Plain;

fn screen(columns: usize) -> Screen {
    Screen { columns: Some(columns), coloured: false }
}

fn lines(prose: &Prose, columns: usize, indent: usize) -> Vec<String> {
    prose.print(&screen(columns), (PLAIN, ""), indent).lines().map(str::to_owned).collect()
}

#[test]
fn lines_end_between_words_and_keep_their_indent() {
    let prose = Prose::default().plain("one two  three four");
    assert_eq!(lines(&prose, 9, 2), ["one two", "  three", "  four"]);
    assert_eq!(lines(&prose, 100, 2), ["one two three four"]);
    let unlimited = Screen { columns: None, coloured: false };
    assert_eq!(prose.print(&unlimited, (PLAIN, "label: "), 7), "label: one two three four\n");
    assert_eq!(prose.print(&screen(12), (PLAIN, "label: "), 7), "label: one\n       two\n       three\n       four\n");
    assert_eq!(Prose::default().print(&screen(12), (PLAIN, "label:"), 7), "label:\n");
}

#[test]
fn chinese_is_wrapped_anywhere_but_before_its_punctuation() {
    let prose = Prose::default().plain("报告已完成，请查看（附件）");
    assert_eq!(lines(&prose, 10, 0), ["报告已完", "成，请查看", "（附件）"]);
    for columns in 2..30 {
        for line in lines(&prose, columns, 0) {
            assert!(width(&line) <= columns.max(4), "{line} in {columns}");
        }
    }
}

#[test]
fn a_word_that_is_too_wide_is_broken_and_a_path_is_not() {
    let prose = Prose::default().plain("see aaaaaaaaaaaa");
    assert_eq!(lines(&prose, 6, 2), ["see", "  aaaa", "  aaaa", "  aaaa"]);
    let prose = Prose::default().plain("see /srv/data/报告/raw.json: No such file");
    assert_eq!(lines(&prose, 12, 2), ["see", "  /srv/data/报告/raw.json:", "  No such", "  file"]);
    let prose = Prose::default().plain("/srv/data/raw.json is there");
    assert_eq!(prose.print(&screen(15), (PLAIN, "file: "), 2), "file:\n  /srv/data/raw.json\n  is there\n");
    let prose = Prose::default().plain("run ").whole(PLAIN, "make all | tee log").plain(" now");
    assert_eq!(lines(&prose, 12, 2), ["run", "  make all | tee log", "  now"]);
}

#[test]
fn a_dot_ends_a_line_and_a_unit_stays_with_its_number() {
    let prose = Prose::default().plain("phase a").and().plain("retries 0/3").and().plain("x");
    assert_eq!(lines(&prose, 100, 0), ["phase a · retries 0/3 · x"]);
    for columns in 6..26 {
        assert!(lines(&prose, columns, 0).iter().all(|line| !line.trim_start().starts_with('·')), "{columns}");
    }
    let age = Prose::default().plain("for 1 h 20 min").and().plain("x, 5 s; y");
    assert_eq!(lines(&age, 9, 0), ["for 1 h", "20 min ·", "x, 5 s; y"]);
    assert_eq!(lines(&age, 8, 0), ["for 1 h", "20 min ·", "x, 5 s;", "y"]);
    assert!(prose.fits(25) && !prose.fits(24));
    assert!(Prose::default().and().is_empty());
}

#[test]
fn styles_go_over_line_ends_and_colours_take_no_columns() {
    let coloured = Screen { coloured: true, ..screen(9) };
    let prose = Prose::default().styled(Style::Alarm, "one two three").plain(": x");
    assert_eq!(prose.print(&coloured, (PLAIN, ""), 0), "\x1b[1;31mone two\x1b[0m\n\x1b[1;31mthree\x1b[0m: x\n");
}

#[test]
fn a_command_is_never_broken() {
    let print = |columns| print_whole(&screen(columns), (PLAIN, "    next: "), "card approve mail_2 | resume");
    assert_eq!(print(38), "    next: card approve mail_2 | resume\n");
    assert_eq!(print(37), "    next:\n    card approve mail_2 | resume\n");
    assert_eq!(print_whole(&screen(20), (PLAIN, "      "), "make all install"), "    make all install\n");
    assert_eq!(print(20), "    next:\n    card approve mail_2 | resume\n");
}

#[test]
fn values_cannot_command_the_terminal() {
    let prose = Prose::default().plain("a\x1b[2Jb").styled(Style::Alarm, "\x07").whole(PLAIN, "ls '\x1b'");
    let text = prose.print(&screen(80), (PLAIN, ""), 0) + &print_whole(&screen(80), (PLAIN, ""), "\u{9b}1m");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}
