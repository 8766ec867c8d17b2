//! What the report at the start of a session says besides `language.rs`: its headings, in each language.

use super::language::Language;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Report,
    Task,
    Done,
    Failed,
    Left,
    Context,
    Why,
    AtWork,
    Question,
}

impl Section {
    /// A sign that people find again faster than a word.
    pub(crate) fn picture(self) -> &'static str {
        match self {
            Self::Report => "🔄",
            Self::Task => "📋",
            Self::Done => "✅",
            Self::Failed => "❌",
            Self::Left => "⏳",
            Self::Context => "📎",
            Self::Why => "⏸️",
            Self::AtWork => "▶️",
            Self::Question => "💡",
        }
    }
}

/// One language's.
pub(crate) struct Phrases {
    headings: fn(Section) -> &'static str,
    /// So many tasks; nothing needs to be said of one.
    pub(crate) count: fn(usize) -> String,
    /// When it last gave a sign of life.
    pub(crate) last: &'static str,
    pub(crate) yes: &'static str,
    pub(crate) no: &'static str,
}

impl Phrases {
    pub(crate) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
        }
    }

    pub(crate) fn heading(&self, section: Section) -> &'static str {
        (self.headings)(section)
    }
}

const ENGLISH: Phrases = Phrases {
    headings: |section| match section {
        Section::Report => "Unfinished work",
        Section::Task => "Task",
        Section::Done => "Done",
        Section::Failed => "Failed",
        Section::Left => "Left",
        Section::Context => "What matters",
        Section::Why => "Why it stopped",
        Section::AtWork => "An attempt is at work on it now.",
        Section::Question => "Go on with it?",
    },
    count: |tasks| if tasks == 1 { String::new() } else { format!("{tasks} tasks") },
    last: "Last sign of life",
    yes: "Yes",
    no: "No, give it up",
};

const CHINESE: Phrases = Phrases {
    headings: |section| match section {
        Section::Report => "任务恢复",
        Section::Task => "之前的任务",
        Section::Done => "已完成",
        Section::Failed => "失败",
        Section::Left => "待完成",
        Section::Context => "相关信息",
        Section::Why => "中断原因",
        Section::AtWork => "正在执行中。",
        Section::Question => "是否继续执行？",
    },
    count: |tasks| if tasks == 1 { String::new() } else { format!("{tasks} 个任务") },
    last: "最后记录",
    yes: "继续",
    no: "放弃",
};
