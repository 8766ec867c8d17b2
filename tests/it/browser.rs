//! The page in a real browser: Chromium, headless, without a network.

use std::fs;
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

/// Asks a page in a frame of this width how wide it became, and what colours it has.
fn measure(workspace: &Workspace, page: &str, width: u32, dark: bool) -> Value {
    let page = Value::from(page.replace("<details>", "<details open>")).to_string().replace('<', "\\u003c");
    let script = format!(
        "const frame = document.createElement('iframe'); frame.style = 'border:0;height:900px;width:{width}px';\
         frame.onload = () => {{ const inner = frame.contentDocument, style = frame.contentWindow.getComputedStyle(inner.body);\
         document.body.textContent = 'MEASURED' + JSON.stringify({{width: inner.documentElement.scrollWidth, back: style.backgroundColor,\
         text: style.color, articles: inner.querySelectorAll('main article').length}}) + 'END'; }};\
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
    let mut colours = Vec::new();
    for dark in [false, true] {
        for width in [320, 390, 1280] {
            let measured = measure(&workspace, &page, width, dark);
            assert_eq!(measured["width"], width, "{measured}");
            assert_eq!(measured["articles"], page.matches("<article").count(), "{measured}");
            colours.push((measured["back"].clone(), measured["text"].clone()));
        }
    }
    colours.dedup();
    assert_eq!(colours.len(), 2, "{colours:?}");
    assert_eq!(colours[0].0, "rgb(255, 255, 255)");
    let mut camera = browser(&workspace, true);
    workspace.write("page.html", &page);
    camera.arg("--window-size=390,1000").arg(format!("--screenshot={}", word(&workspace.path("page.png"))));
    workspace
        .finish(
            {
                camera.arg(address(&workspace, "page.html"));
                camera
            },
            None,
        )
        .ok();
    assert!(fs::read(workspace.path("page.png")).unwrap().starts_with(b"\x89PNG"));
}
