//! The recipes for notification and monitoring, as they are printed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use tests::{Ran, Workspace, has_tool, word};

use crate::installed::{ODD, asset, bare, install};

fn blocks(language: &str, kind: &str) -> Vec<String> {
    let text = asset(&format!("docs/{language}/notify.md"));
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| Some(block.strip_prefix(kind)?.strip_prefix('\n')?.to_owned() + "\n")).collect()
}

/// The one block that has this in it.
fn block(with: &str) -> String {
    let found: Vec<String> = blocks("en", "sh").into_iter().filter(|block| block.contains(with)).collect();
    assert_eq!(found.len(), 1, "{with}: {found:?}");
    found.concat()
}

/// An installed workspace with the script, and `send` as this recipe has it.
fn prepared(workspace: &Workspace, recipe: &str) -> PathBuf {
    let folder = install(workspace, ODD);
    write(workspace, &folder, "bin/notify", &block("bin/recovery-pass"));
    write(workspace, &folder, "bin/send", &block(recipe));
    folder
}

fn write(workspace: &Workspace, folder: &Path, name: &str, text: &str) {
    workspace.write(word(&folder.join(name)), text);
}

fn shell<'a>(workspace: &'a Workspace, folder: &Path, script: &str) -> Ran<'a> {
    let mut command = bare(Path::new("/bin/sh"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", workspace.path("stand-ins").display());
    command.args(["-euc", script]).current_dir(folder).env("PATH", path).env("OUT", workspace.path("out"));
    workspace.finish(command, None)
}

fn unsent(folder: &Path) -> usize {
    fs::read_dir(folder.join("data/news"))
        .map_or(0, |files| files.filter(|file| !word(&file.as_ref().unwrap().path()).is_empty()).count())
}

/// Answers each request with the next of these statuses, and hands on its head and body.
fn server(statuses: &'static [u16]) -> (u16, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for status in statuses {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            sender.send((head, String::from_utf8(body).unwrap())).unwrap();
            write!(reader.get_mut(), "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        }
    });
    (port, requests)
}

fn webhook(workspace: &Workspace, folder: &Path, port: u16) {
    write(workspace, folder, "data/webhook", &format!("url = \"http://127.0.0.1:{port}/hook\"\n"));
}

#[test]
fn a_webhook_gets_the_news_once_and_not_before_it_is_there() {
    if !has_tool("curl") {
        return;
    }
    let workspace = Workspace::new();
    let folder = prepared(&workspace, "text/plain; charset=utf-8' --data-binary");
    let (port, requests) = server(&[500, 200]);
    webhook(&workspace, &folder, port);
    // Nothing new sends nothing.
    shell(&workspace, &folder, "sh bin/notify").ok();
    assert!(requests.try_recv().is_err());
    let mut trial = block("try-notify");
    assert!(trial.contains("\nbin/notify\n"));
    trial = trial.replace("\nbin/notify\n", "\nsh bin/notify || echo failed\n");
    // The first time the other side fails: the message is kept.
    assert!(shell(&workspace, &folder, &trial).ok().stdout().contains("failed"));
    let (_, first) = requests.recv().unwrap();
    assert_eq!(unsent(&folder), 1);
    shell(&workspace, &folder, "sh bin/notify").ok();
    let (head, body) = requests.recv().unwrap();
    assert!(head.starts_with("POST /hook ") && head.contains("Content-Type: text/plain; charset=utf-8"), "{head}");
    assert_eq!(body, first);
    let expected =
        "⚠️ Needs a person:\n- Try the notification (`try-notify`): try; does this arrive?\n  run: `card approve try-notify`\n";
    assert!(body.starts_with(expected), "{body}");
    assert_eq!(unsent(&folder), 0);
    shell(&workspace, &folder, "sh bin/notify").ok();
    assert!(requests.try_recv().is_err(), "it was sent twice");
}

#[test]
fn slack_gets_json_with_its_own_escapes() {
    if !has_tool("curl") || !has_tool("jq") {
        return;
    }
    let workspace = Workspace::new();
    let folder = prepared(&workspace, "application/json");
    let (port, requests) = server(&[200]);
    webhook(&workspace, &folder, port);
    shell(&workspace, &folder, ". bin/send\nprintf '%s\\n' '<!channel> & \"x\" 你好' | send").ok();
    let (head, body) = requests.recv().unwrap();
    assert!(head.contains("Content-Type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json!({"text": "&lt;!channel&gt; &amp; \"x\" 你好\n"}));
}

/// Programs that no machine of a test can do without harm are stood in for.
#[test]
fn mail_and_desktop_get_the_message() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("stand-ins")).unwrap();
    for program in ["sendmail", "notify-send", "osascript"] {
        let path = workspace.write(&format!("stand-ins/{program}"), "#!/bin/sh\n{ printf '<%s>\\n' \"$@\"; cat; } >\"$OUT\"\n");
        shell(&workspace, &workspace.path(""), &format!("chmod +x '{}'", word(&path))).ok();
    }
    for (recipe, expected) in [
        (
            "sendmail -t",
            "<-t>\nTo: alice@example.org\nSubject: News of the tasks\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
             Content-Transfer-Encoding: 8bit\n\na <b> & 你好\n",
        ),
        ("notify-send", "<--app-name=task-recovery>\n<News of the tasks>\n<a &lt;b&gt; &amp; 你好>\n"),
        (
            "osascript",
            "<-e>\n<on run argv>\n<-e>\n<display notification (item 1 of argv) with title \"News of the tasks\">\n<-e>\n<end run>\n<a <b> & 你好>\n",
        ),
    ] {
        let script = format!("{}\nprintf '%s\\n' 'a <b> & 你好' | send </dev/stdin", block(recipe));
        shell(&workspace, &workspace.path(""), &script).ok();
        assert_eq!(fs::read_to_string(workspace.path("out")).unwrap(), expected, "{recipe}");
    }
}

#[test]
fn the_page_and_the_metrics_are_put_in_place() {
    let workspace = Workspace::new();
    let folder = install(&workspace, ODD);
    fs::create_dir_all(folder.join("prom")).unwrap();
    let script = format!("PROM_FOLDER=prom\n{}\n{}", block("--format html"), block("--format prometheus"));
    shell(&workspace, &folder, &script).ok();
    let files = |name: &str| -> Vec<String> {
        let names = fs::read_dir(folder.join(name)).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    assert_eq!(files("prom"), ["task_recovery.prom"]);
    assert!(fs::read_to_string(folder.join("data/tasks.html")).unwrap().ends_with("</html>\n"));
    assert!(!files("data").iter().any(|name| name.starts_with(".tasks")));
    // A program that fails leaves what was there.
    let before = fs::read_to_string(folder.join("prom/task_recovery.prom")).unwrap();
    let script = format!("PROM_FOLDER=prom TASK_RUNS_DIR=$PWD/bin/card\nexport TASK_RUNS_DIR\n{}", block("--format prometheus"));
    let ran = shell(&workspace, &folder, &script);
    assert!(ran.stderr().contains("card: "), "{ran}");
    assert_eq!(files("prom"), ["task_recovery.prom"]);
    assert_eq!(fs::read_to_string(folder.join("prom/task_recovery.prom")).unwrap(), before);
}

#[test]
fn the_alerts_are_rules_of_prometheus_and_ask_for_metrics_that_exist() {
    let workspace = Workspace::new();
    let rules = blocks("en", "yaml").concat();
    let metrics = workspace.run("card", &["report", "--format", "prometheus"]).ok().stdout();
    let asked: Vec<&str> = rules.split("expr: ").skip(1).flat_map(|rest| rest.lines().next()).collect();
    assert_eq!(asked.len(), 3);
    for word in asked.iter().flat_map(|expr| expr.split(|c: char| !(c.is_alphanumeric() || c == '_'))) {
        assert!(!word.starts_with("task_recovery_") || metrics.contains(&format!("\n{word}")), "{word}");
    }
    if has_tool("promtool") {
        let path = workspace.write("rules.yml", &rules);
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "rules"]).arg(path);
        workspace.finish(promtool, None).ok();
    }
}

#[test]
fn both_languages_have_the_same_recipes() {
    for kind in ["sh", "yaml"] {
        assert_eq!(blocks("en", kind), blocks("zh", kind));
    }
    assert_eq!(blocks("en", "sh").len(), 9);
    if has_tool("shellcheck") {
        let workspace = Workspace::new();
        for block in blocks("en", "sh") {
            let path = workspace.write("recipe.sh", &block);
            let mut shellcheck = Command::new("shellcheck");
            // It is sourced where it is used; a script of the workspace.
            shellcheck.args(["-s", "sh", "-e", "SC1091,SC2015"]).arg(path);
            workspace.finish(shellcheck, None).ok();
        }
    }
}
