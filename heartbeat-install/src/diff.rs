//! A unified diff of two texts, as `patch -p0` reads it. What changes here is one place in a text, so it has one hunk.

const CONTEXT_LINES: usize = 3;

/// The diff; empty when nothing changes. `None` = there is no such file.
pub(crate) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let (old, new) = (lines(before), lines(after));
    let same_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let room = old.len().min(new.len()) - same_start;
    let same_end = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(old, new)| old == new).count();
    let start = same_start.saturating_sub(CONTEXT_LINES);
    let context_end = same_end.min(CONTEXT_LINES);
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    let header = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    let (old_range, new_range) = (range(start, old_end + context_end), range(start, new_end + context_end));
    let (old_name, new_name) = (header(before), header(after));
    let mut text = format!("--- {old_name}\n+++ {new_name}\n@@ -{old_range} +{new_range} @@\n");
    let mut put = |mark: char, lines: &[&str]| {
        for line in lines {
            text.push(mark);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    put(' ', &old[start..same_start]);
    put('-', &old[same_start..old_end]);
    put('+', &new[same_start..new_end]);
    put(' ', &old[old_end..old_end + context_end]);
    text
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// Lines are counted from 1; of no lines it names the one before.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn one_hunk_with_three_lines_around() {
        let diff = unified("x", Some("1\n2\n3\n4\n5\n6\n7\n8\n"), Some("1\n2\n3\n4\nnew\n5\n6\n7\n8\n"));
        assert_eq!(diff, "--- x\n+++ x\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n");
        assert_eq!(
            unified("x", None, Some("a\nb")),
            "--- /dev/null\n+++ x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("x", Some("a\n"), None), "--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(
            unified("x", Some("a"), Some("a\nb\n")),
            "--- x\n+++ x\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
        );
        assert_eq!(unified("x", Some("a\na\n"), Some("a\na\na\n")), "--- x\n+++ x\n@@ -1,2 +1,3 @@\n a\n a\n+a\n");
        assert_eq!(unified("x", Some("a"), Some("a")), "");
    }
}
