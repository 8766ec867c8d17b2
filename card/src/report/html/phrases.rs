//! What the page says besides `language.rs`, in each language.

use shared::card::Status;

use crate::report::language::Language;

/// One language's.
pub(super) struct Phrases {
    /// As HTML writes it.
    pub(super) code: &'static str,
    pub(super) title: &'static str,
    pub(super) as_of: &'static str,
    pub(super) last_pass: &'static str,
    pub(super) no_pass: &'static str,
    pub(super) running: &'static str,
    pub(super) waiting: &'static str,
    pub(super) finished: &'static str,
    pub(super) pass: &'static str,
    /// Nothing needs a person.
    pub(super) calm: &'static str,
    pub(super) nothing: &'static str,
    /// Before the command that leads to the workspace.
    pub(super) workspace: &'static str,
    pub(super) status: fn(Status) -> &'static str,
    pub(super) unusable: &'static str,
    /// Steps done, of all.
    pub(super) steps: fn(usize, usize) -> String,
    pub(super) step_list: &'static str,
    /// So many steps are not told.
    pub(super) more_steps: fn(usize) -> String,
    /// The step's status, as it is written in a card.
    pub(super) step: fn(&str) -> &'static str,
    /// A time span ago.
    pub(super) ago: fn(&str) -> String,
    pub(super) last_sign: &'static str,
    /// When it was over.
    pub(super) ended: &'static str,
    /// Checkpoints shown, of all.
    pub(super) checkpoints: fn(usize, u64) -> String,
}

impl Phrases {
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }
}

const ENGLISH: Phrases = Phrases {
    code: "en",
    title: "Tasks",
    as_of: "As of",
    last_pass: "last pass",
    no_pass: "no pass is recorded",
    running: "Running",
    waiting: "Not started",
    finished: "Finished",
    pass: "What the pass did",
    calm: "Nothing needs a person.",
    nothing: "There are no tasks.",
    workspace: "The commands are for this workspace",
    status: |status| match status {
        Status::Pending => "Not started",
        Status::Running => "Running",
        Status::Stalled => "Stalled",
        Status::NeedsAttention => "Needs a person",
        Status::Completed => "Completed",
        Status::Failed => "Failed",
        Status::Cancelled => "Cancelled",
    },
    unusable: "Unusable card",
    steps: |done, all| format!("{done} of {all} steps done"),
    step_list: "Steps",
    more_steps: |more| format!("… and {more} more"),
    step: |status| match status {
        "done" => "done",
        "failed" => "failed",
        _ => "left",
    },
    ago: |span| format!("{span} ago"),
    last_sign: "Last sign of life",
    ended: "Ended",
    checkpoints: |shown, all| match (shown, all) {
        (1, 1) => "1 checkpoint".to_owned(),
        (shown, all) if shown as u64 == all => format!("{all} checkpoints"),
        (shown, all) => format!("The last {shown} of {all} checkpoints"),
    },
};

const CHINESE: Phrases = Phrases {
    code: "zh-CN",
    title: "任务",
    as_of: "截至",
    last_pass: "上一轮检查",
    no_pass: "没有检查记录",
    running: "进行中",
    waiting: "未开始",
    finished: "已结束",
    pass: "本轮检查的结果",
    calm: "没有需要人处理的任务。",
    nothing: "还没有任务。",
    workspace: "命令要在这个工作区里执行",
    status: |status| match status {
        Status::Pending => "未开始",
        Status::Running => "进行中",
        Status::Stalled => "已中断",
        Status::NeedsAttention => "需要人处理",
        Status::Completed => "已完成",
        Status::Failed => "失败",
        Status::Cancelled => "已取消",
    },
    unusable: "任务卡不可用",
    steps: |done, all| format!("已完成 {done}/{all} 步"),
    step_list: "步骤",
    more_steps: |more| format!("……另有 {more} 步"),
    step: |status| match status {
        "done" => "已完成",
        "failed" => "失败",
        _ => "待完成",
    },
    ago: |span| format!("{span}前"),
    last_sign: "最后一次动静",
    ended: "结束",
    checkpoints: |shown, all| {
        if shown as u64 == all { format!("{all} 个检查点") } else { format!("最近 {shown} 个检查点（共 {all} 个）") }
    },
};
