//! Chinese.

use shared::time::Timestamp;

use super::language::{Words, clock_time};
use super::story::Kind;

mod details;

/// Chinese, in simplified characters.
pub(crate) struct Chinese;

impl Words for Chinese {
    fn heading(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Person => "需要人处理",
            Kind::Failed => "失败",
            Kind::Trouble => "无法处理",
            Kind::Silent => "没有动静",
            Kind::Recovered => "已恢复",
            Kind::Finished => "已完成",
            Kind::Started => "已启动",
            Kind::Ready => "可以开始",
            Kind::Other => "其他",
        }
    }

    fn reason(&self, word: &str) -> Option<&'static str> {
        Some(match word {
            "silent" => "没有动静",
            "attempt_silent" => "进程还在，但没有动静",
            "attempt_died" => "执行中断",
            "retry_due" => "到了重试时间",
            "contain" => "任务已取消，但它的进程还在运行",
            "forced" => "强制启动",
            "pending" => "还没有开始",

            "auto_resume_off" => "没有动静，且不允许自动恢复",
            "no_adapter" => "没有指定恢复方式",
            "adapter_missing" => "恢复程序无法运行",
            "adapter_insecure" => "恢复程序可能被他人改动过",
            "dependency_failed" => "所依赖的任务没能完成",
            "dependency_missing" => "所依赖的任务不存在",
            "too_old" => "搁置太久，不再自动恢复",
            "non_idempotent_phase_blocked" => "这个阶段要有人同意才会执行",
            "retries_exhausted" => "连续多次尝试都没有进展",
            "failures_exhausted" => "失败的尝试太多",
            "clock_skew" => "任务卡与系统时钟不一致",
            "other_host" => "上次是在另一台机器上执行的",
            "supervisor_silent" => "监管进程还在，但没有动作",
            "attempt_not_contained" => "有进程无法结束",
            "attempt_not_recorded" => "有一次尝试还在运行，任务卡里却没有记录",
            "artifact_missing" => "核对过的文件不见了",
            "artifact_changed" => "核对过的文件被改动了",
            "task_failed" => "任务失败",
            "blocked" => "已交给人处理",
            "permanent_error" => "模型拒绝服务，等待也无济于事",
            "needs_person" => "适配器请求人工处理",
            "card_unreadable" => "任务卡无法读取",
            "card_invalid" => "任务卡内容无效",
            "card_unknown_version" => "任务卡来自更新的版本",
            "card_insecure" => "任务卡可能被他人改动过",

            "attempt_alive" | "alive" => "正在执行",
            "supervised" => "正在监管下执行",
            "healthy" => "一切正常",
            "not_started" => "只由人来启动",
            "waiting" => "在等其他任务",
            "cooling_down" => "在等下一次尝试",
            "completed" => "已完成",
            "failed" => "已失败",
            "cancelled" => "已取消",
            "superseded" => "已由更新的尝试接手",
            "no_such_task" => "没有这个任务",
            "busy" => "任务卡正被别的进程占用",
            "refused" => "操作被拒绝",
            "claim_failed" => "无法开始尝试",
            "budget" => "这一轮时间已用完",
            "jobs" => "这一轮名额已满，等下一轮",
            "error" => "处理时出错",
            _ => return None,
        })
    }

    fn outcome(&self, kind: &str) -> Option<&'static str> {
        Some(match kind {
            "completed" => "完成了任务",
            "progressed" => "有进展",
            "handed_over" => "已把工作交出去",
            "background" => "留下了后台进程",
            "postponed" => "推迟了",
            "stopped" => "被停止",
            "no_progress" => "没有进展就结束了",
            "failed" => "失败",
            "timeout" => "超时，已被终止",
            "silent" => "没有动静，已被终止",
            "output_limit" => "输出过多，已被终止",
            "budget" => "超出本轮时间，已被终止",
            "needs_attention" => "请求人工处理",
            "llm_timeout" => "因模型超时而结束",
            "llm_error" => "因模型出错而结束",
            "tool_failure" => "结束时工具调用失败",
            "non_action" => "只说了下一步就停下",
            "permanent_error" => "因等待也无法消除的错误而结束",
            "supervisor_died" => "失去了监管进程",
            _ => return None,
        })
    }

    fn detail(&self, detail: &str) -> String {
        details::translated(detail)
    }

    fn span(&self, seconds: i64) -> String {
        let two = |large: i64, unit: &str, small: i64, smaller: &str| match small {
            0 => format!("{large} {unit}"),
            _ => format!("{large} {unit} {small} {smaller}"),
        };
        match seconds.max(0) {
            seconds @ ..60 => format!("{seconds} 秒"),
            seconds @ ..3600 => format!("{} 分钟", seconds / 60),
            seconds @ ..86_400 => two(seconds / 3600, "小时", seconds % 3600 / 60, "分钟"),
            seconds => two(seconds / 86_400, "天", seconds % 86_400 / 3600, "小时"),
        }
    }

    fn task(&self, title: &str, id: &str) -> String {
        if title.is_empty() { id.to_owned() } else { format!("{title}（{id}）") }
    }

    fn colon(&self) -> &'static str {
        "："
    }

    fn join(&self, parts: &[String]) -> String {
        let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        said.join("；")
    }

    fn no_reason(&self) -> &'static str {
        "没有说明原因"
    }

    fn phase(&self, phase: &str) -> String {
        format!("阶段 {phase}")
    }

    fn lasting(&self, span: &str) -> String {
        format!("已持续 {span}")
    }

    fn pending(&self, action: &str) -> String {
        format!("同意后将执行：{action}")
    }

    fn attempt(&self, number: &str, outcome: &str) -> String {
        if number.is_empty() { format!("有一次尝试{outcome}") } else { format!("第 {number} 次尝试{outcome}") }
    }

    fn progress_on_the_way(&self) -> &'static str {
        "期间有进展"
    }

    fn again(&self, at: Option<Timestamp>, now: Timestamp) -> String {
        match at {
            Some(at) if at > now => format!("将于 {}重试", moment(self, at, now)),
            _ => "下一轮检查时重试".to_owned(),
        }
    }

    fn silence(&self, word: &str, phrase: &str, span: &str) -> String {
        match word {
            "silent" => format!("已有 {span}没有动静"),
            "attempt_silent" => format!("进程还在，但已有 {span}没有动静"),
            _ => format!("{phrase}，最后一次动静在 {span}前"),
        }
    }

    fn goes_on(&self, from: &str, to: &str, attempt: &str) -> String {
        match (from, to) {
            (_, "") => format!("已接着做（第 {attempt} 次尝试）"),
            (from, to) if from.is_empty() || from == to => format!("在阶段 {to} 接着做（第 {attempt} 次尝试）"),
            (from, to) => format!("已从阶段 {from} 进到 {to}（第 {attempt} 次尝试）"),
        }
    }

    fn is_finished(&self, attempt: &str) -> String {
        format!("任务已完成（第 {attempt} 次尝试）")
    }

    fn is_running(&self, attempt: &str) -> String {
        format!("第 {attempt} 次尝试正在执行")
    }

    fn is_ready(&self) -> &'static str {
        "可以开始"
    }

    fn is_contained(&self, attempt: &str) -> String {
        format!("任务已取消，第 {attempt} 次尝试留下的进程已结束")
    }

    fn would(&self, what: &str, phrase: &str) -> String {
        match what {
            "resume" => format!("将会恢复：{phrase}"),
            "start" => format!("将会启动：{phrase}"),
            "skip" => format!("将会跳过：{phrase}"),
            "contain" => format!("将会结束遗留的进程：{phrase}"),
            other => format!("将会处理（{other}）：{phrase}"),
        }
    }

    fn until(&self, at: Timestamp, now: Timestamp) -> String {
        if at > now { format!("到 {}为止", moment(self, at, now)) } else { String::new() }
    }

    fn log(&self) -> &'static str {
        "日志："
    }

    fn command(&self) -> &'static str {
        "命令："
    }

    fn more(&self, count: usize) -> String {
        format!("……另有 {count} 个任务")
    }

    fn programs(&self, folder: &str) -> String {
        format!("程序所在目录：{folder}")
    }
}

fn moment(words: &Chinese, at: Timestamp, now: Timestamp) -> String {
    let ahead = words.span((at.unix_ms() - now.unix_ms()) / 1000);
    match clock_time(at, now) {
        (None, time) => format!("UTC {time}（{ahead}后）"),
        (Some(day), time) => format!("UTC {day} {time}（{ahead}后）"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::words;

    /// A word that has an English phrase only would reach a Chinese reader as a bare word.
    #[test]
    fn every_word_has_a_chinese_phrase() {
        let source = include_str!("../../../../shared/src/words.rs");
        let source = source.split("mod tests").next().unwrap();
        let known: Vec<&str> = source.split('"').skip(1).step_by(2).filter(|word| !word.contains(' ')).collect();
        let (reasons, rest): (Vec<&str>, Vec<&str>) = known.iter().partition(|word| words::reason(word).is_some());
        let outcomes: Vec<&&str> = known.iter().filter(|word| words::outcome(word).is_some()).collect();
        assert!(reasons.len() > 40 && outcomes.len() > 10 && rest.len() < known.len(), "{known:?}");
        for word in reasons {
            assert!(Chinese.reason(word).is_some(), "{word}");
        }
        for word in outcomes {
            assert!(Chinese.outcome(word).is_some(), "{word}");
        }
    }

    #[test]
    fn spans() {
        for (seconds, expected) in
            [(-1, "0 秒"), (59, "59 秒"), (2759, "45 分钟"), (12_000, "3 小时 20 分钟"), (7200, "2 小时"), (187_200, "2 天 4 小时")]
        {
            assert_eq!(Chinese.span(seconds), expected);
        }
    }
}
