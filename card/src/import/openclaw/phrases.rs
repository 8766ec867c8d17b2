//! What an agent's last words tell: that it is about to act, that something failed, that it is
//! done, that it asks. English and Chinese, by lists of phrases.
//!
//! An announcement counts where it stands: at the beginning of one of the last two sentences. "Let
//! me know" offers, "the job will continue" reports, "let me explain" is the answer itself.

/// Phrases of intent: the built-in ones, or those that somebody gave instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phrases {
    /// Sought in lower case, anywhere in the last two sentences. None: the built-in ones; one that is empty: nothing is an intent.
    pub(crate) own: Vec<String>,
}

/// Whether a text announces a next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Sure,
    /// It does, but something else in it speaks against that.
    Perhaps,
    None,
}

// The lists: phrases in lower case with a bar between them. A Latin one is sought as whole words.

/// What may stand before the announcement.
const LEADS: &str = "\
    ok|okay|sure|great|good|perfect|alright|all right|right|understood|got it|thanks|first|next|now|then|so|and|\
    of course|certainly|absolutely|great idea|good idea|好的|好|明白了|明白|收到|没问题|当然|接下来|下一步|下面|\
    现在|那么|首先|然后|可以|那|嗯";

/// Each is followed by one of `DEEDS`, a "now" between them notwithstanding.
const ABOUT_TO: &str = "i will|i'll|i am going to|i'm going to|i am about to|i'm about to|let me|let's";

const DEEDS: &str = "\
    start|begin|continue|proceed|go ahead|get started|run|rerun|re-run|check|look|read|open|fetch|write|create|\
    update|fix|implement|try|retry|search|analyze|analyse|work on|take care|take a look|test|download|upload|\
    collect|gather|generate|send|move on|do that|do this|do it|handle|investigate|prepare|build|migrate|monitor|\
    watch|verify|install|deploy|examine|inspect|edit|process|execute|add|remove|scan|compile|dig|find|set up|\
    kick off|resume";

/// Intents in themselves.
const UNDER_WAY: &str = "starting now|proceeding to|proceeding with|moving on to|beginning now|on it";

/// The same in Chinese.
const ABOUT_TO_ZH: &str = "\
    我将|我会|我现在|我来|我马上|我这就|我先|我准备|我要|我接下来|我继续|我开始|我去|让我|将继续|将开始|接下来将|\
    接下来我|下一步将|下一步我|现在开始|马上开始|立即开始|开始执行|即将开始|正在开始|开始处理|继续执行|继续处理|\
    这就开始";

/// Words that make an intent doubtful: offers, conditions, promises for later, refusals, and what is done already.
const DOUBTS: &str = "\
    if you|let me know|would you|do you want|shall i|should i|feel free|please confirm|please provide|please let|\
    waiting for|once you|when you|after you|as soon as you|until you|need you|i'll need|i will need|won't|will not|\
    tomorrow|remind|next time|from now on|going forward|in mind|remember|already|finished|completed|is complete|\
    are complete|all done|如果|如需|若需|需要我|是否|请确认|请提供|请告诉|等你|等您|告诉我|明天|以后|今后|提醒|下次|\
    记住|不会|已完成|已经完成";

const FAILURES: &str = "\
    could not|couldn't|cannot|can't|unable to|was not able|wasn't able|not able to|failed to|command failed|\
    tool failed|call failed|request failed|attempt failed|script failed|connection failed|delivery failed|\
    has failed|it failed|this failed|that failed|i stopped|i have stopped|gave up|giving up|network error|\
    unreachable|connection refused|connection reset|timed out|ran into an error|hit an error|got an error|\
    an error occurred|returned an error|exited with|not sent|无法|没能|未能|没有成功|不成功|执行失败|命令失败|\
    发送失败|请求失败|调用失败|连接失败|操作失败|失败了|出错|报错|网络错误|超时|已停止|停下";

const SUCCESSES: &str = "\
    done|completed|finished|is complete|are complete|successfully|succeeded|all good|everything is|everything's|\
    works now|no errors|no error was|no matches|nothing was found|no problems|no issues|here is|here are|here's|\
    summary|已完成|完成了|已经完成|成功|没有错误|没有发现|未发现|一切正常|没有问题|以下是|总结|如下|搞定";

const QUESTIONS: &str = "\
    let me know|would you|do you want|shall i|should i|please confirm|please provide|please tell|please choose|\
    which one|waiting for your|once you|if you|tell me|请确认|请提供|请告诉|告诉我|请选择|请问|是否|需要我|要不要|\
    等你|等您|你希望";

const LEFTOVERS: &str = "\
    remaining|remains to be|still need|still have to|still to do|not yet|to be continued|todo|partially|so far|\
    halfway|in progress|next step|later|left to|will continue|还剩|剩余|剩下|尚未|还没|还需要|未完成|待续|部分完成|\
    进行中|下一步|稍后|待处理|继续";

/// Tokens by which an agent says that it has nothing to say.
const QUIET: &str = "no_reply|heartbeat_ok";

/// A text as the lists have it: lower case, straight apostrophes, without marks of emphasis.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '*' | '_' | '`' | '#' | '>')).collect();
    text.trim().to_lowercase().replace(['’', '‘'], "'")
}

/// The last characters of a text.
pub(super) fn ending(text: &str, chars_max: usize) -> &str {
    let start = text.char_indices().rev().nth(chars_max.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

fn has(text: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| text.match_indices(phrase).any(|(at, _)| is_whole(text, at, phrase)))
}

/// "Later" is in "later on", not in "collateral"; Chinese has no spaces.
fn is_whole(text: &str, at: usize, phrase: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    let before = text[..at].chars().next_back().is_some_and(letter) && phrase.starts_with(letter);
    let after = text[at + phrase.len()..].chars().next().is_some_and(letter) && phrase.ends_with(letter);
    !before && !after
}

/// Whether it says that something did not go well.
pub(super) fn admits_failure(text: &str) -> bool {
    has(text, FAILURES)
}

/// Whether it says that all went well.
pub(super) fn claims_success(text: &str) -> bool {
    has(text, SUCCESSES)
}

/// Whether it waits for an answer.
pub(super) fn asks(text: &str) -> bool {
    text.contains(['?', '？']) || has(text, QUESTIONS)
}

/// Whether it says that work is left.
pub(super) fn leaves_work(text: &str) -> bool {
    has(text, LEFTOVERS)
}

/// Whether its end is missing.
pub(super) fn is_cut_off(text: &str) -> bool {
    text.ends_with([':', '：', ',', '，', '…']) || text.ends_with("...")
}

/// Whether it is nothing but a token that says nothing. Marks of emphasis are gone, and with them the underscore.
pub(super) fn is_quiet_token(text: &str) -> bool {
    QUIET.split('|').any(|token| text.trim_end_matches('.') == token.replace('_', ""))
}

impl Phrases {
    /// Whether a plain text announces a next step in one of its last two sentences.
    pub(super) fn intent(&self, text: &str) -> Intent {
        let sentences = sentences(text);
        let last = &sentences[sentences.len().saturating_sub(2)..];
        let found = match self.own.as_slice() {
            [] => last.iter().any(|sentence| announces(sentence)),
            own => {
                let sought = own.iter().map(|phrase| plain(phrase)).filter(|phrase| !phrase.is_empty());
                sought.into_iter().any(|phrase| last.iter().any(|sentence| sentence.contains(&phrase)))
            }
        };
        match found {
            false => Intent::None,
            true if text.contains(['?', '？']) || has(text, DOUBTS) => Intent::Perhaps,
            true => Intent::Sure,
        }
    }
}

/// The sentences and lines of a text.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        let ends = matches!(c, '\n' | '。' | '！' | '？' | '；' | ';')
            || matches!(c, '.' | '!' | '?') && text[after..].starts_with(char::is_whitespace);
        if ends {
            sentences.push(text[start..after].trim());
            start = after;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

fn announces(sentence: &str) -> bool {
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | '、' | '!' | '-' | '–' | '—' | ':' | '：' | '.' | '•');
    let mut rest = sentence.trim_start_matches(edge);
    loop {
        if begins(rest) {
            return true;
        }
        let lead = LEADS.split('|').filter(|lead| rest.starts_with(*lead) && is_whole(rest, 0, lead)).max_by_key(|lead| lead.len());
        let Some(lead) = lead else { return false };
        rest = rest[lead.len()..].trim_start_matches(edge);
    }
}

fn begins(text: &str) -> bool {
    let starts = |text: &str, phrases: &str| phrases.split('|').any(|phrase| text.starts_with(phrase) && is_whole(text, 0, phrase));
    let deed = ABOUT_TO.split('|').any(|about| {
        let Some(rest) = text.strip_prefix(about).filter(|_| is_whole(text, 0, about)) else { return false };
        let rest = rest.trim_start();
        let rest = ["now ", "next ", "first ", "then ", "also ", "just ", "quickly ", "immediately "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .unwrap_or(rest);
        starts(rest, DEEDS)
    });
    deed || starts(text, UNDER_WAY) || (starts(text, ABOUT_TO_ZH) && !text.starts_with("让我们"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(text: &str) -> Intent {
        Phrases::default().intent(&plain(text))
    }

    #[test]
    fn an_announcement_stands_at_the_beginning_of_a_sentence() {
        for text in [
            "I will now start working on the migration and report back.",
            "Great! Next, I’ll run the tests.",
            "The config is read.\n\n**Now let me check the logs:**",
            "Okay - first, I'm going to fetch the page. This takes a while.",
            "好的，我现在开始处理，稍后汇报结果。",
            "日志看完了。接下来我将修复脚本。",
            "On it.",
        ] {
            assert_eq!(intent(text), Intent::Sure, "{text}");
        }
        for text in [
            "The nightly job will continue by itself.",
            "Let me explain how it works.",
            "He said: let me try. That was in 2019.",
            "I will start with the history of Rome. It began small. It grew. It fell.",
            "Paris is the capital of France.",
            "让我们回顾一下要点。",
            "文件在 /tmp/a.md。",
        ] {
            assert_eq!(intent(text), Intent::None, "{text}");
        }
        for text in [
            "If you agree, fine. I'll start with the tests.",
            "I'll continue tomorrow.",
            "我会在明天提醒你。",
            "I will check it. OK?",
        ] {
            assert_eq!(intent(text), Intent::Perhaps, "{text}");
        }
    }

    #[test]
    fn phrases_of_ones_own_take_the_place_of_the_others() {
        let own = Phrases { own: vec!["Stand By".to_owned()] };
        assert_eq!(own.intent("please stand by."), Intent::Sure);
        assert_eq!(own.intent("i will now start."), Intent::None);
        assert_eq!(Phrases { own: vec![String::new()] }.intent("i will now start."), Intent::None);
    }

    #[test]
    fn words_are_whole() {
        assert!(!leaves_work("it is collateral") && leaves_work("the rest follows later."));
        assert!(!claims_success("he abandoned it") && claims_success("done!"));
        assert!(is_quiet_token(&plain("NO_REPLY")) && !is_quiet_token(&plain("no reply came")));
        assert_eq!(ending("报告 abc", 3), "abc");
        assert_eq!(ending("ab", 3), "ab");
    }
}
