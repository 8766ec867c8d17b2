//! Plugins, and their part of the configuration. The two versions differ in options, in words, and in where they say them.
//!
//! ```text
//! plugins.json   {"entry": what stands in the configuration, "linked": the folders of a plugin, "lost": its record is}
//! fails          "link", "enable", "forget", or the last word of a setting: that command fails, with warnings before the reason
//! ```

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::StandIn;

const ENTRY: &str = "plugins.entries.task-recovery";

/// What a command comes to: stdout, stderr, exit status.
type Said = (String, String, u8);

impl StandIn {
    /// None: it is about something else.
    pub(super) fn plugins(&self, words: &[&str]) -> io::Result<Option<Said>> {
        let mut state = self.state()?;
        if self.old
            && ["plugins", "config"].contains(&words.first().copied().unwrap_or_default())
            && let Some(gone) = self.gone(&state)
        {
            return Ok(Some(failed(&format!(
                "OpenClaw config is invalid\nFile: ~/.openclaw/openclaw.json\nProblem:\n  - plugins.load.paths: plugin: plugin path not found: {gone}\n\nFix: openclaw doctor --fix"
            ))));
        }
        let said = match words {
            ["plugins", "inspect", "task-recovery", "--json"] if self.has("plugins-broken") => {
                failed("plugins-broken: no registry")
            }
            ["plugins", "inspect", "task-recovery", "--json"] => self.inspect(&state)?,
            ["plugins", "install", "--link", folder, options @ ..] => match self.refused(options, "link") {
                Some(said) => said,
                None => return self.link(&mut state, folder).map(Some),
            },
            ["plugins", "enable", "task-recovery"] => match self.refused(&[], "enable") {
                Some(said) => said,
                None if self.loaded(&state).is_none() => self.unknown(),
                None => {
                    entry(&mut state)["enabled"] = true.into();
                    well("Enabled plugin \"task-recovery\". Saved for the next Gateway start.")
                }
            },
            ["plugins", "uninstall", "task-recovery", "--force", "--keep-files"] => self.forget(&mut state),
            ["config", "get", ENTRY, "--json"] => match &state["entry"] {
                Value::Null if self.old => failed(
                    "Config path not found: plugins.entries.task-recovery. Run openclaw config validate to inspect config shape.",
                ),
                Value::Null => (recorded!("2026.9.6/config-unset.json").to_owned(), String::new(), 1),
                entry => (format!("{entry:#}\n"), String::new(), 0),
            },
            ["config", "set", path, value, "--strict-json"] if path.starts_with(ENTRY) => {
                let what = path.rsplit('.').next().unwrap_or_default();
                match (self.refused(&[], what), serde_json::from_str::<Value>(value)) {
                    (Some(said), _) => said,
                    (None, Err(error)) => failed(&format!("--strict-json: {error}")),
                    (None, Ok(value)) => {
                        let names = path[ENTRY.len()..].split('.').skip(1);
                        let place = names.fold(&mut state["entry"], |place, name| &mut place[name]);
                        *place = value;
                        well(&format!("Updated {path}."))
                    }
                }
            }
            ["config", "unset", ENTRY] if state["entry"].is_null() => {
                failed("Config path not found: plugins.entries.task-recovery. Nothing was changed.")
            }
            ["config", "unset", ENTRY] => {
                state["entry"] = Value::Null;
                well("Removed plugins.entries.task-recovery.")
            }
            _ => return Ok(None),
        };
        fs::write(self.folder.join("plugins.json"), state.to_string())?;
        Ok(Some(said))
    }

    fn state(&self) -> io::Result<Value> {
        let text = fs::read_to_string(self.folder.join("plugins.json"));
        Ok(text.map_or_else(|_| Ok(json!({"entry": null, "linked": [], "lost": false})), |text| serde_json::from_str(&text))?)
    }

    /// Options that are not taken, and commands that are to fail.
    fn refused(&self, options: &[&str], what: &str) -> Option<Said> {
        let fails = fs::read_to_string(self.folder.join("fails")).unwrap_or_default();
        match () {
            () if fails.trim() == what => Some(failed(&format!("It was refused: {what}"))),
            () if self.old && options.contains(&"--accept-capabilities") => {
                Some(failed("OpenClaw does not recognize option \"--accept-capabilities\".\nTry: openclaw plugins install --help"))
            }
            () if self.old && options.contains(&"--force") => Some(failed(
                "--force is not supported with --link. Linked plugins point at the source path directly; remove --force and re-run openclaw plugins install --link <path>.",
            )),
            () if !self.old && what == "link" && options != ["--force", "--accept-capabilities"] => Some(failed(
                "Plugin \"task-recovery\" requires capability consent. The plugin was not installed. Re-run the same \"openclaw plugins install\" or \"openclaw plugins update\" command with --accept-capabilities, keeping its source and other options.",
            )),
            () => None,
        }
    }

    fn link(&self, state: &mut Value, folder: &str) -> io::Result<Said> {
        let manifest: Value = serde_json::from_str(&fs::read_to_string(Path::new(folder).join("openclaw.plugin.json"))?)?;
        if manifest["id"] != "task-recovery" {
            return Ok(failed("no such plugin"));
        }
        let linked = state["linked"].as_array_mut().ok_or(io::ErrorKind::InvalidData)?;
        if !linked.iter().any(|known| known == folder) {
            linked.push(folder.into());
        }
        if linked.len() > 1 {
            state["lost"] = true.into();
        }
        // One that was taken out before stays switched off.
        if state["entry"]["enabled"].is_null() {
            entry(state)["enabled"] = true.into();
        }
        let lost = state["lost"] == true;
        fs::write(self.folder.join("plugins.json"), state.to_string())?;
        Ok(if lost { failed(LOST) } else { well(&format!("Linked plugin path: {folder}")) })
    }

    fn forget(&self, state: &mut Value) -> Said {
        if let Some(said) = self.refused(&[], "forget") {
            return said;
        }
        if state["lost"] == true {
            return failed(LOST);
        }
        let linked = state["linked"].as_array().is_some_and(|linked| !linked.is_empty());
        match () {
            () if linked => {}
            () if !self.old => {
                return failed(
                    "Plugin \"task-recovery\" is not associated with a tracked package install. Package maintenance requires an unambiguous install record and its discovered package owner.",
                );
            }
            () if state["entry"].is_null() => return failed("Plugin not found: task-recovery"),
            () => {}
        }
        state["linked"] = json!([]);
        // 2026.9.6 leaves a mark that it was there.
        state["entry"] = if self.old { Value::Null } else { json!({"enabled": false}) };
        well("Uninstalled plugin \"task-recovery\". Removed: plugin settings, install record, load path.")
    }

    /// The folder that it is loaded from.
    fn loaded<'a>(&self, state: &'a Value) -> Option<&'a str> {
        let linked = state["linked"].as_array().into_iter().flatten().filter_map(Value::as_str);
        linked.into_iter().find(|folder| Path::new(folder).join("openclaw.plugin.json").exists())
    }

    /// A folder that is linked and not there: 2026.7 finds its configuration invalid then.
    fn gone<'a>(&self, state: &'a Value) -> Option<&'a str> {
        let linked = state["linked"].as_array().into_iter().flatten().filter_map(Value::as_str);
        linked.into_iter().find(|folder| !Path::new(folder).exists())
    }

    fn inspect(&self, state: &Value) -> io::Result<Said> {
        let Some(folder) = self.loaded(state) else { return Ok(self.unknown()) };
        let mut answer: Value = serde_json::from_str(recorded!("2026.9.6/plugins-inspect.json"))?;
        let enabled = state["entry"]["enabled"] == true;
        answer["plugin"]["rootDir"] = folder.into();
        answer["plugin"]["enabled"] = enabled.into();
        answer["plugin"]["status"] = if enabled { "loaded" } else { "disabled" }.into();
        if let Ok(why) = fs::read_to_string(self.folder.join("plugin-error")) {
            answer["plugin"]["status"] = "error".into();
            answer["plugin"]["error"] = why.trim().into();
        }
        match state["entry"]["hooks"]["allowConversationAccess"].as_bool() {
            Some(access) => answer["policy"]["allowConversationAccess"] = access.into(),
            None => drop(answer["policy"].as_object_mut().and_then(|policy| policy.remove("allowConversationAccess"))),
        }
        Ok((format!("{answer:#}\n"), WARNING.to_owned(), 0))
    }

    fn unknown(&self) -> Said {
        if !self.old {
            return (recorded!("2026.9.6/plugins-unknown.json").to_owned(), WARNING.to_owned(), 1);
        }
        failed("Plugin not found: task-recovery. Run `openclaw plugins list` to see installed plugins.")
    }
}

const WARNING: &str = "\u{1b}[35m[config]\u{1b}[39m \u{1b}[33mwarnings: plugins.entries.other: plugin disabled\u{1b}[39m\n";
const LOST: &str = "Plugin \"task-recovery\" has no authoritative package-owner metadata.";

fn entry(state: &mut Value) -> &mut Value {
    &mut state["entry"]
}

fn well(words: &str) -> Said {
    (format!("{words}\n"), WARNING.to_owned(), 0)
}

fn failed(words: &str) -> Said {
    (String::new(), format!("{WARNING}{words}\n"), 1)
}
