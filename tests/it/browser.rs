//! The page in a real browser: Chromium, headless, without a network.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tests::{Ran, Workspace, has_tool, word};

use crate::monitor::{filled, report};

/// Opens a file and prints the document as the browser understood it; its console goes to stderr.
fn dump<'a>(workspace: &'a Workspace, page: &str, dark: bool) -> Ran<'a> {
    let mut chromium = browser(workspace, dark);
    chromium.args(["--virtual-time-budget=2000", "--dump-dom"]).arg(address(workspace, page));
    workspace.finish(chromium, None)
}

fn browser(workspace: &Workspace, dark: bool) -> Command {
    let mut chromium = Command::new("chromium");
    // As root there is no sandbox; the page is ours, and nothing in it runs.
    chromium.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
    ]);
    chromium.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-crash-reporter",
        "--disable-breakpad",
    ]);
    chromium.args(["--enable-logging=stderr", "--log-level=0"]);
    chromium.arg(format!("--user-data-dir={}", word(&workspace.path("profile"))));
    chromium.arg(format!("--blink-settings=preferredColorScheme={}", i32::from(!dark)));
    chromium.env("HOME", workspace.path("home"));
    chromium
}

fn address(workspace: &Workspace, page: &str) -> String {
    format!("file://{}", word(&workspace.path(page)).replace(' ', "%20"))
}

fn console(ran: &Ran<'_>) -> Vec<String> {
    ran.stderr().lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
}

#[test]
fn a_browser_understands_the_page_and_has_nothing_to_complain_of() {
    if !has_tool("chromium") {
        return;
    }
    let workspace = filled();
    // The control: what went wrong would be seen.
    let control = "<title>t</title><script>console.error('seen')</script><article>x</article>";
    workspace.write("control.html", control);
    let ran = dump(&workspace, "control.html", false);
    assert!(console(&ran).iter().any(|line| line.contains("seen")), "{ran}");
    for language in ["en", "zh"] {
        let page = report(&workspace, "html", &["--lang", language]).ok().stdout();
        workspace.write("page.html", &page);
        let ran = dump(&workspace, "page.html", false);
        let document = ran.ok().stdout();
        assert_eq!(console(&ran), Vec::<String>::new(), "{ran}");
        for never in ["<script", "<img", "onerror=\""] {
            assert!(!document.contains(never), "{never}: {document}");
        }
        // Nothing was moved or closed early: every element is where it was written.
        for element in ["<article", "<section", "<details", "<li", "<h3", "<progress", "<bdi", "</main>", "</article>"] {
            assert_eq!(document.matches(element).count(), page.matches(element).count(), "{element}: {document}");
        }
        assert!(document.contains("&lt;script&gt;alert(\"x\")&lt;/script&gt; &amp; 'mail'"), "{document}");
    }
}

/// The texts of a page that stand out less from what is behind them than WCAG's level AA asks: a contrast of 4.5 to 1.
const FAINT: &str = "const light = colour => { const part = value => { value /= 255;\
     return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };\
     const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number); return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue); };\
     const behind = (element, style) => { for (; element; element = element.parentElement) {\
     const back = style(element).backgroundColor; if (back !== 'rgba(0, 0, 0, 0)') return back; } return 'rgb(255, 255, 255)'; };\
     const faint = page => { const style = element => page.defaultView.getComputedStyle(element);\
     return [...page.querySelectorAll('body *')].filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))\
     .filter(element => { const both = [light(style(element).color), light(behind(element, style))].sort((a, b) => b - a);\
     return (both[0] + 0.05) / (both[1] + 0.05) < 4.5; }).map(element => element.outerHTML.slice(0, 80)); };";

/// Asks a page in a frame of this width how wide it became, and what colours it has.
fn measure(workspace: &Workspace, page: &str, width: u32, dark: bool) -> Value {
    let page = Value::from(page.replace("<details>", "<details open>")).to_string().replace('<', "\\u003c");
    let script = format!(
        "{FAINT} const frame = document.createElement('iframe'); frame.style = 'border:0;height:900px;width:{width}px';\
         frame.onload = () => {{ const inner = frame.contentDocument, style = frame.contentWindow.getComputedStyle(inner.body);\
         document.body.textContent = 'MEASURED' + JSON.stringify({{width: inner.documentElement.scrollWidth, back: style.backgroundColor,\
         text: style.color, articles: inner.querySelectorAll('main article').length, faint: faint(inner)}}) + 'END'; }};\
         frame.srcdoc = {page}; document.body.append(frame);"
    );
    workspace.write("frame.html", &format!("<!DOCTYPE html><title>t</title><body><script>{script}</script>"));
    let ran = dump(workspace, "frame.html", dark);
    let document = ran.ok().stdout();
    let measured = document.split("<body>MEASURED").nth(1).and_then(|rest| rest.split("END").next());
    serde_json::from_str(measured.unwrap_or_else(|| panic!("nothing was measured: {ran}"))).unwrap()
}

#[test]
fn the_page_fits_a_phone_in_light_and_dark() {
    if !has_tool("chromium") {
        return;
    }
    let workspace = filled();
    let page = report(&workspace, "html", &["--lang", "en"]).ok().stdout();
    // The control: a page that does not fit would be seen.
    let wide = "<!DOCTYPE html><body style=\"margin:0\"><main><article style=\"width:2000px\">x</article></main>";
    assert_eq!(measure(&workspace, wide, 390, false)["width"], 2000);
    let grey = "<!DOCTYPE html><body><p style=\"color:#999\">grey</p><p>black</p>";
    assert_eq!(measure(&workspace, grey, 390, false)["faint"].as_array().map(Vec::len), Some(1));
    let mut colours = Vec::new();
    for dark in [false, true] {
        for width in [320, 390, 1280] {
            let measured = measure(&workspace, &page, width, dark);
            assert_eq!(measured["width"], width, "{measured}");
            assert_eq!(measured["articles"], page.matches("<article").count(), "{measured}");
            assert_eq!(measured["faint"], Value::Array(Vec::new()), "{measured}");
            colours.push((measured["back"].clone(), measured["text"].clone()));
        }
    }
    colours.dedup();
    assert_eq!(colours.len(), 2, "{colours:?}");
    assert_eq!(colours[0].0, "rgb(255, 255, 255)");
    assert_eq!(colours[1].0, "rgb(17, 19, 23)");
}

/// What a PNG says of its width, height and picture.
fn size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

/// `TASK_TESTS_SCREENSHOTS=DIR` keeps them for whoever wants to look.
#[test]
fn screenshots_wide_and_narrow_light_and_dark() {
    if !has_tool("chromium") {
        return;
    }
    let workspace = filled();
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for language in ["en", "zh"] {
        workspace.write("page.html", &report(&workspace, "html", &["--lang", language]).ok().stdout());
        for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
            let name = format!("{language}-{width}-{}.png", if dark { "dark" } else { "light" });
            let mut camera = browser(&workspace, dark);
            camera.arg(format!("--window-size={width},2600")).arg(format!("--screenshot={}", word(&workspace.path(&name))));
            camera.arg(address(&workspace, "page.html"));
            let ran = workspace.finish(camera, None);
            assert_eq!(console(ran.ok()), Vec::<String>::new(), "{ran}");
            let png = fs::read(workspace.path(&name)).unwrap();
            assert_eq!(size(&png), (width, 2600), "{name}");
            assert!(png.len() > 50_000 && !seen.contains(&png), "{name} shows nothing of its own");
            if let Some(folder) = std::env::var_os("TASK_TESTS_SCREENSHOTS").map(PathBuf::from) {
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(&name), &png).unwrap();
            }
            seen.push(png);
        }
    }
}
