//! The sentences that `watch` and `resume` write into a detail, in Chinese.
//!
//! Every part of a detail between `; ` is looked up by itself. `{}` stands for a value, which is kept; what is not in the list,
//! such as what a task or an adapter says in its own words, stays as it is.

/// The English sentence and the Chinese one; `{}` are the same values in the same order.
const SENTENCES: &[(&str, &str)] = &[
    // Verdicts.
    ("it is not to be resumed without a person", "没有人同意就不会恢复"),
    ("the card has neither resume_adapter nor resume_argv", "任务卡里既没有 resume_adapter，也没有 resume_argv"),
    ("name one: {}", "请指定一个：{}"),
    ("correct it, or give another: {}", "请修正，或换一个：{}"),
    ("correct its owner or mode", "请改正它的属主或权限"),
    ("it depends on {}, which is {}", "它依赖的任务 {} {}"),
    ("go on without it: {}", "不再依赖它：{}"),
    ("it depends on {}, and there is no such task", "它依赖的任务 {} 不存在"),
    ("see to the task between them first", "请先处理它们之间的任务"),
    ("make it, or {}", "请创建它，或者{}"),
    ("due for {} min, and the limit is {} (give_up_after_minutes)", "已搁置 {} 分钟，上限是 {} 分钟（give_up_after_minutes）"),
    ("phase {} is not entered without a person's word", "没有人同意就不会进入阶段 {}"),
    ("max_retries is 0: it is only watched", "max_retries 为 0：只监视，不恢复"),
    (
        "{} attempts in a row without progress, and the limit is {} (max_retries)",
        "连续 {} 次尝试没有进展，上限是 {} 次（max_retries）",
    ),
    ("{} attempts did not end well, and the limit is {} (max_failures)", "{} 次尝试没有成功，上限是 {} 次（max_failures）"),
    ("the last one: {}", "最后一次：{}"),
    ("its supervisor lives but has let it be silent for {} min", "监管进程还在，却任它 {} 分钟没有动静"),
    ("look at it, then stop it", "请查看后将其停止"),
    ("the card knows the time {}, the clock shows {}", "任务卡里的时间是 {}，系统时钟是 {}"),
    ("not_before is {}, the clock shows {}", "not_before 是 {}，系统时钟是 {}"),
    ("correct the clock or the card", "请校正时钟或任务卡"),
    ("attempt {} runs on {}, this is {}", "第 {} 次尝试在 {} 上运行，这里是 {}"),
    ("if it is gone there, approve the task here", "如果它在那里已经不在了，请在这里同意继续"),
    // What an attempt needs.
    ("resume_adapter {} is no absolute path", "resume_adapter {} 不是绝对路径"),
    ("{} is no regular file", "{} 不是普通文件"),
    ("{} is not executable", "{} 没有执行权限"),
    ("run chmod +x on it", "请用 chmod +x 加上"),
    ("{}: everyone may write its folder", "{}：任何人都能写它所在的目录"),
    ("cwd {} is no folder", "工作目录 {} 不存在"),
    ("command {} is not found or not executable", "命令 {} 找不到，或没有执行权限"),
    ("{} has {} bytes, {} were recorded", "{} 有 {} 字节，记录的是 {} 字节"),
    ("{} has another content than was recorded", "{} 的内容与记录的不同"),
    (
        "approve the task to go on all the same, or record the file anew with {} --verified-artifact and then approve",
        "同意则照样继续，或先用 {} --verified-artifact 重新记录这个文件再同意",
    ),
    // How an attempt ended.
    ("the task is {} now: the attempt was not started", "任务现在是 {}：没有开始这次尝试"),
    ("the adapter ended with exit status 78", "适配器以退出状态 78 结束"),
    (
        "exit status 0, but no phase, artifact, step or new message was recorded",
        "退出状态为 0，但没有记录新的阶段、产物、步骤或消息",
    ),
    ("exit status {}", "退出状态 {}"),
    ("ended by signal {}", "被信号 {} 结束"),
    ("longer than its time-out", "超过了时限"),
    ("no sign of life for {} min", "{} 分钟没有动静"),
    ("it printed more than --output-limit allows", "输出超过了 --output-limit 的上限"),
    ("make it print less, or raise it", "请减少输出，或调高上限"),
    (
        "the pass's time was over: give --budget-seconds more, or let phases be shorter",
        "本轮时间已用完：请调高 --budget-seconds，或把阶段分得更短",
    ),
    ("the pass's time was over before it started", "还没开始，本轮时间就用完了"),
    ("resume was stopped by signal {}", "resume 被信号 {} 停止"),
    ("it moved into phase {}, which needs a person's word", "它进入了阶段 {}，这个阶段要有人同意"),
    ("the answer cannot be recorded: {}", "适配器的回答无法记录：{}"),
    ("cannot start {}", "无法启动 {}"),
    ("its card cannot be read again: {}", "它的任务卡无法再次读取：{}"),
    ("its card names neither an adapter nor a command", "任务卡里既没有适配器，也没有命令"),
    ("completed", "已完成"),
    ("failed", "已失败"),
    ("cancelled", "已取消"),
    ("an earlier attempt could not be ended", "之前的尝试无法结束"),
    ("processes that still hold its log could not be found", "找不到仍占用其日志的进程"),
    ("processes {} could not be ended", "进程 {} 无法结束"),
    ("end them, then approve the task", "请结束它们，再同意继续"),
    (
        "processes still hold the newest attempt's log, and the card does not tell of it",
        "有进程仍占用最新一次尝试的日志，任务卡里却没有记录",
    ),
    ("end them", "请结束它们"),
    ("its supervisor was killed", "它的监管进程被杀死了"),
    ("the next pass looks at the task again", "下一轮会再次检查这个任务"),
    // Cards that cannot be used.
    (
        "schema_version is {}, this program knows {}: update task-recovery",
        "schema_version 是 {}，本程序只认识 {}：请更新 task-recovery",
    ),
    ("it is a symbolic link, not a regular file", "它是符号链接，不是普通文件"),
    ("it is larger than {} bytes", "它超过 {} 字节"),
    ("it is owned by uid {}", "它属于用户 uid {}"),
    ("everyone may write it (mode {})", "任何人都能写它（权限 {}）"),
    ("{}: it is owned by uid {}", "{}：属于用户 uid {}"),
    ("{}: everyone may write it (mode {})", "{}：任何人都能写它（权限 {}）"),
    ("it is empty", "它是空的"),
    ("it ends too early, at line {} column {}", "它不完整，在第 {} 行第 {} 列中断"),
    ("{}: No such file or directory", "{}：没有这个文件或目录"),
];

/// The detail in Chinese, as far as its sentences are known.
pub(super) fn translated(detail: &str) -> String {
    let parts: Vec<(&str, Option<String>)> = detail.split("; ").map(|part| (part, sentence(part))).collect();
    if parts.iter().all(|(_, known)| known.is_none()) {
        return detail.to_owned();
    }
    parts.into_iter().map(|(part, known)| known.unwrap_or_else(|| part.to_owned())).collect::<Vec<_>>().join("；")
}

fn sentence(english: &str) -> Option<String> {
    let (values, chinese) = SENTENCES.iter().find_map(|(pattern, chinese)| Some((values(pattern, english)?, *chinese)))?;
    let mut values = values.into_iter();
    let mut text = String::new();
    for (index, piece) in chinese.split("{}").enumerate() {
        if index > 0 {
            let value = values.next().unwrap_or_default();
            text += &sentence(value).unwrap_or_else(|| value.to_owned());
        }
        text += piece;
    }
    Some(text)
}

/// What stands where the pattern has `{}`; none when the text is another one. A value is not empty.
fn values<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut pieces = pattern.split("{}");
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty().then(Vec::new) };
    let mut found = Vec::new();
    for piece in pieces {
        let (value, after) = rest.split_once(piece)?;
        found.push(value);
        rest = after;
    }
    found.push(rest.strip_suffix(last)?);
    found.iter().all(|value| !value.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_found_with_their_values() {
        for (english, chinese) in [
            ("exit status 3", "退出状态 3"),
            (
                "3 attempts in a row without progress, and the limit is 3 (max_retries); the last one: exit status 7",
                "连续 3 次尝试没有进展，上限是 3 次（max_retries）；最后一次：退出状态 7",
            ),
            (
                "it depends on a, which is failed; go on without it: card update b --no-depends-on",
                "它依赖的任务 a 已失败；不再依赖它：card update b --no-depends-on",
            ),
            ("exit status 3; what the adapter said", "退出状态 3；what the adapter said"),
            ("in its own words; and more", "in its own words; and more"),
            ("exit status ", "exit status "),
            ("", ""),
        ] {
            assert_eq!(translated(english), chinese);
        }
    }

    #[test]
    fn no_value_is_lost() {
        for (english, chinese) in SENTENCES {
            assert_eq!(english.matches("{}").count(), chinese.matches("{}").count(), "{english}");
        }
    }

    /// A sentence that has no Chinese would reach a Chinese reader in English.
    #[test]
    fn every_sentence_of_a_verdict_and_of_an_end_is_there() {
        let sources = [
            include_str!("../../../../shared/src/verdict.rs"),
            include_str!("../../../../shared/src/adapter.rs"),
            include_str!("../../../../shared/src/verified.rs"),
            include_str!("../../../../resume/src/settle.rs"),
            include_str!("../../../../resume/src/settle/told.rs"),
            include_str!("../../../../resume/src/last_look.rs"),
        ];
        // What is a command is the same in every language.
        let commands = ["{} update {} {options}", "{} approve {id} | {}", "{} log {id}"];
        let (mut count, mut missing) = (0, Vec::new());
        for source in sources {
            let source = source.split("#[cfg(test)]").next().unwrap();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            for literal in code.split('"').skip(1).step_by(2).filter(|literal| literal.contains(' ') && !commands.contains(literal))
            {
                count += 1;
                // A literal with all its values filled in, as a reader would get it.
                let filled: String = literal.split('{').enumerate().fold(String::new(), |text, (index, piece)| match index {
                    0 => piece.to_owned(),
                    _ => text + "9" + piece.split_once('}').map_or("", |(_, after)| after),
                });
                let parts = filled.split("; ").map(str::trim).filter(|part| !matches!(*part, "" | "9") && sentence(part).is_none());
                let parts = parts.filter(|part| !part.starts_with("--") && part.contains(char::is_alphabetic));
                missing.extend(parts.map(str::to_owned));
            }
        }
        assert_eq!(missing, Vec::<String>::new());
        assert!(count > 30, "{count}");
    }
}
