//! A seeded mutator of JSON texts: it knows enough of the grammar to break it, and to keep it.
//!
//! Half of its changes are blind (bits, bytes, ranges, the end cut off), half are made at a field,
//! so that most results are still JSON, and are wrong further in: another type, a duplicate, a
//! time that is none. Every mutation follows from a seed and a number alone, and so can be made
//! again without those before it.

mod dictionary;

use crate::random::Random;

use dictionary::{BYTES, NAMES, TOKENS, VALUES};

/// A member of an object, somewhere in a text: where its name, its value and their end are.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: usize,
    colon: usize,
    value: usize,
    end: usize,
}

/// Changes a text, one to four times. `others` are what pieces are taken from.
pub(crate) fn mutate(text: &[u8], others: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    let times = [1, 1, 1, 2, 2, 3, 4][random.below(7)];
    for _ in 0..times {
        if random.one_in(2) { at_a_field(&mut text, others, random) } else { blindly(&mut text, others, random) }
    }
    text
}

fn blindly(text: &mut Vec<u8>, others: &[&[u8]], random: &mut Random) {
    let at = random.below(text.len());
    let end = (at + 1 + random.below(32)).min(text.len());
    match random.below(12) {
        _ if text.is_empty() => text.extend_from_slice(random.pick(TOKENS)),
        0 => text[at] ^= 1 << random.below(8),
        1 => text[at] = BYTES[random.below(BYTES.len())],
        2 => text[at] = random.byte(),
        3 => drop(text.drain(at..end)),
        4 => {
            let piece = text[at..end].to_vec();
            insert(text, random.below(text.len() + 1), &piece);
        }
        5 => insert(text, at, random.pick(TOKENS)),
        6 => text.truncate(at),
        7 => {
            let other = random.pick(others);
            text.truncate(at);
            text.extend_from_slice(&other[random.below(other.len())..]);
        }
        8 => insert(text, 0, random.pick(&[b"\xef\xbb\xbf" as &[u8], b"\0", b" \n", b"[", b"{", b"x", b"\xff\xfe{"])),
        9 => text.extend_from_slice(random.pick(&[b"\0" as &[u8], b" \n", b"x", b"{}", b"}", b",", b"\n{\"a\":1}\n", b"\xff"])),
        10 => {
            let digits: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_digit()).collect();
            if !digits.is_empty() {
                text[digits[random.below(digits.len())]] = b'0' + (random.byte() % 10);
            }
        }
        _ => {
            let depth = random.pick(&[&3_usize, &100, &126, &127, &128, &129, &1000]);
            let (open, close) = if random.one_in(2) { ("[", "]") } else { ("{\"a\":", "}") };
            let piece = format!(",\"deep\":{}1{}", open.repeat(*depth), close.repeat(*depth));
            let last = text.iter().rposition(|byte| *byte == b'}').unwrap_or(at);
            insert(text, last, piece.as_bytes());
        }
    }
}

fn at_a_field(text: &mut Vec<u8>, others: &[&[u8]], random: &mut Random) {
    let fields = fields(text);
    if fields.is_empty() {
        return blindly(text, others, random);
    }
    let field = fields[random.below(fields.len())];
    let other = fields[random.below(fields.len())];
    match random.below(14) {
        0..=4 => replace(text, field.value, field.end, random.pick(VALUES).as_bytes()),
        5 => {
            let twice = [&text[field.name..field.colon + 1], random.pick(VALUES).as_bytes(), b","].concat();
            insert(text, field.name, &twice);
        }
        6 => {
            let twice = [b"," as &[u8], &text[field.name..field.end]].concat();
            let twice = if random.one_in(2) {
                [b"," as &[u8], &text[field.name..field.colon + 1], random.pick(VALUES).as_bytes()].concat()
            } else {
                twice
            };
            insert(text, field.end, &twice);
        }
        7 => {
            // With one comma beside it, so that the rest is still an object.
            let after =
                text[field.end..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(text.len(), |skip| field.end + skip);
            let end = if text.get(after) == Some(&b',') { after + 1 } else { field.end };
            text.drain(field.name..end);
        }
        8 => replace(text, field.name, field.colon, format!("\"{}\"", random.pick(NAMES)).as_bytes()),
        9 => {
            let value = text[other.value..other.end].to_vec();
            replace(text, field.value, field.end, &value);
        }
        10 => {
            let (open, close) = random.pick(&[&("[", "]"), &("{\"a\":", "}"), &("\"", "\""), &(" \n", "\t"), &("[[[[", "]]]]")]);
            insert(text, field.end, close.as_bytes());
            insert(text, field.value, open.as_bytes());
        }
        11 => {
            let new = format!("\"{}\":{},", random.pick(NAMES), random.pick(VALUES));
            insert(text, field.name, new.as_bytes());
        }
        12 => {
            let at = field.value + random.below(field.end - field.value);
            insert(text, at, random.pick(TOKENS));
        }
        _ => {
            let at = field.value + random.below(field.end - field.value);
            text[at] = BYTES[random.below(BYTES.len())];
        }
    }
}

fn insert(text: &mut Vec<u8>, at: usize, piece: &[u8]) {
    replace(text, at, at, piece);
}

fn replace(text: &mut Vec<u8>, start: usize, end: usize, piece: &[u8]) {
    text.splice(start..end, piece.iter().copied());
}

/// The fields of all objects, however deep, as far as the text is sound enough to tell.
fn fields(text: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'"' {
            at += 1;
            continue;
        }
        let name = at;
        at = end_of_value(text, at);
        let colon = skip_space(text, at);
        if text.get(colon) == Some(&b':') {
            let value = skip_space(text, colon + 1);
            let end = end_of_value(text, value);
            if end > value {
                fields.push(Field { name, colon, value, end });
            }
            at = colon + 1;
        }
    }
    fields
}

fn skip_space(text: &[u8], at: usize) -> usize {
    text[at.min(text.len())..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(text.len(), |skip| at + skip)
}

/// Where the value that begins here ends; the text's end when it does not.
fn end_of_value(text: &[u8], start: usize) -> usize {
    let (mut depth, mut in_text, mut at) = (0_usize, false, start);
    while at < text.len() {
        match text[at] {
            b'\\' if in_text => at += 1,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 0 { at } else { at + 1 },
            b'}' | b']' => depth -= 1,
            b',' | b' ' | b'\n' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Bytes that a person can read and a shell's printf can write again, cut.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 1500;
    let cut = if bytes.len() > SHOWN_BYTES_MAX { format!("… ({} bytes)", bytes.len()) } else { String::new() };
    format!("{}{cut}", bytes[..bytes.len().min(SHOWN_BYTES_MAX)].escape_ascii())
}
