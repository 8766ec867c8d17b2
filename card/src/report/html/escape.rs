//! Values on a page: text, whatever they contain, between tags and in quoted attributes.

use shared::text::{clean, clean_exact};

/// A value in a sentence.
pub(super) fn text(value: &str) -> String {
    escape(clean(value).trim())
}

/// A value that is to be copied.
pub(super) fn exact(value: &str) -> String {
    escape(&clean_exact(value))
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // No character of any page; a browser would show it as an error of ours.
            '\u{fdd0}'..='\u{fdef}' => escaped.push('\u{fffd}'),
            c if u32::from(c) & 0xfffe == 0xfffe => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_opens_a_tag_or_ends_an_attribute() {
        assert_eq!(text("<script>'\"&amp;\n"), "&lt;script&gt;&#39;&quot;&amp;amp;");
        assert_eq!(exact(" a\u{202e}b\u{0}\u{fffe} "), " a\u{fffd}b\u{fffd}\u{fffd} ");
    }
}
