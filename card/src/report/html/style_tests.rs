//! Whether everybody can read the page: WCAG 2 AA asks for a contrast of 4.5 for text and of 3 for what carries meaning besides.

use super::STYLE;

fn palette(block: &str) -> impl Fn(&str) -> [f64; 3] {
    move |name| {
        let value = block.split(&format!("--{name}: #")).nth(1).unwrap_or_else(|| panic!("{name}"));
        [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap()))
    }
}

fn luminance(color: [f64; 3]) -> f64 {
    let linear = color.map(|value| {
        let value = value / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn contrasts_are_those_of_wcag_aa() {
    assert!((contrast([0.0; 3], [255.0; 3]) - 21.0).abs() < 1e-9);
    let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").unwrap();
    for (scheme, block) in [("light", light), ("dark", dark)] {
        let color = palette(block);
        let mut pairs: Vec<(&str, &str, f64)> =
            ["alarm", "warning", "good", "active", "faint"].iter().map(|name| (*name, "", 4.5)).collect();
        for back in ["back", "card"] {
            pairs.extend(["text", "soft", "active"].map(|name| (name, back, 4.5)));
            pairs.extend(["line", "alarm", "warning"].map(|name| (name, back, 3.0)));
        }
        for (name, back, least) in pairs {
            let back = if back.is_empty() { format!("{name}-back") } else { back.to_owned() };
            let found = contrast(color(name), color(&back));
            assert!(found >= least, "{scheme}: {name} on {back}: {found:.2} < {least}");
        }
    }
}
