//! What an agent's last words tell: that it is about to act, that something failed, that it is
//! done, that it asks. English and Chinese, by lists of phrases.
//!
//! An announcement counts where it stands: at the beginning of the last sentence, or of the one before
//! a last one that only says how long it takes. "Let me know" offers, "the job will continue" reports,
//! "let me explain" is the answer itself, and so may be what follows: "let me check: 17 is prime".

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
const ABOUT_TO: &str = "i will|i'll|i am going to|i'm going to|i am about to|i'm about to|let me";

/// "I will" also promises how one will always do it. That it is now is said by "let me", or by one of these in the sentence.
const NOW: &str = "\
    now|next|first|right away|immediately|straight away|at once|start|begin|proceed|go ahead|get started|kick off|about to|let me";

/// Said to a person as often as to oneself.
const TOGETHER: &str = "let's|let us|让我们";

const DEEDS: &str = "\
    start|begin|continue|proceed|go ahead|get started|run|rerun|re-run|check|look|read|open|fetch|write|create|\
    update|fix|implement|try|retry|search|analyze|analyse|work on|take care|take a look|test|download|upload|\
    collect|gather|generate|send|move on|do that|do this|do it|handle|investigate|prepare|build|migrate|monitor|\
    watch|verify|install|deploy|examine|inspect|edit|process|execute|add|remove|scan|compile|dig|find|set up|\
    kick off|resume";

/// Intents in themselves.
const UNDER_WAY: &str = "starting now|proceeding to|proceeding with|moving on to|beginning now|on it";

/// The same in Chinese, where 我会 says as well what one would do, and 我将 what one did with something: only a deed settles it.
const ABOUT_TO_ZH: &str = "\
    我将|我会|我现在|我来|我马上|我这就|我先|我准备|我要|我接下来|我继续|我开始|我去|让我|将继续|将开始|接下来将|\
    接下来我|下一步将|下一步我|现在开始|马上开始|立即开始|即将开始|正在开始|这就开始";

/// What may stand before the deed.
const LEADS_ZH: &str = "\
    现在|马上|立即|立刻|这就|就|先|首先|来|去|再|会|将|要|准备|接着|接下来|着手|开始|继续|逐步|依次|重新|为你|为您|帮你|帮您";

const DEEDS_ZH: &str = "\
    检查|查看|看看|看一下|看一看|看下|查找|查询|查一下|阅读|读取|打开|运行|执行|修复|修改|处理|分析|搜索|创建|编写|\
    写|更新|实现|实施|尝试|试|重试|测试|下载|上传|收集|生成|发送|迁移|安装|部署|构建|编译|验证|整理|清理|调查|排查|\
    监控|添加|删除|启动|获取|抓取|拉取|调用|进行|完成|扫描|核对|统计|导入|导出|转换|合并|备份|配置|优化|工作";

const NOW_ZH: &str = "现在|马上|立即|立刻|这就|先|首先|接下来|下一步|开始|着手|我继续|让我|正在";

const UNDER_WAY_ZH: &str = "开始执行|开始处理|继续执行|继续处理";

/// Words with a character in them that else says that something is done.
const NOT_DONE_ZH: &str = "了解|为了|除了|通过|过程|过滤|超过|不过";

/// A last sentence that begins so says more of what was announced before it.
const FOLLOWERS: &str = "\
    i'll|i will|this takes|this will|this may|this might|this can|this should|it will|it'll|it may|it takes|it should|give me|\
    one moment|a moment|please wait|please hold|hold on|stand by|back |then|after that|afterwards|稍后|请稍|请等|这可能|\
    这需要|这会|然后|完成后|之后|预计|大概|需要几";

/// Words that make an intent doubtful: offers, conditions, promises for later, refusals, and what is done already.
const DOUBTS: &str = "\
    if you|let me know|would you|do you want|shall i|should i|feel free|please confirm|please provide|please let|\
    waiting for|once you|when you|after you|as soon as you|until you|need you|i'll need|i will need|won't|will not|\
    add that|tell me|every|each|whenever|always|daily|nightly|weekly|tomorrow|remind|next time|from now on|going forward|in mind|remember|already|finished|completed|is complete|\
    are complete|all done|如果|如需|若需|需要我|是否|请确认|请提供|请告诉|等你|等您|告诉我|明天|以后|今后|提醒|下次|\
    记住|不会|已完成|已经完成|每次|每天|每晚|每周|每当|总是";

/// What the agent did not manage, or what went wrong somewhere: of a machine that was to be looked at, that is the answer.
const FAILURES: &str = "\
    could not|couldn't|cannot|can't|unable to|was not able|wasn't able|not able to|failed|fails|failure|failing|error|errors|\
    did not work|didn't work|does not work|doesn't work|i stopped|i have stopped|gave up|giving up|unreachable|\
    connection refused|connection reset|timed out|exited with|not sent|无法|没能|未能|没有成功|不成功|失败|出错|错误|报错|\
    超时|已停止|停下|没有通过|未通过|中断";

/// What the agent itself did not manage.
const OWN_FAILURES: &str = "\
    i could not|i couldn't|i cannot|i can't|unable to|i was not able|i wasn't able|failed to|could not be sent|\
    could not be delivered|could not be uploaded|could not be executed|could not be completed|command failed|tool failed|\
    call failed|request failed|attempt failed|script failed|connection failed|delivery failed|it failed|this failed|\
    that failed|i stopped|i have stopped|gave up|giving up|i ran into an error|i hit an error|i got an error|not sent|无法|\
    没能|未能|没有成功|不成功|执行失败|命令失败|发送失败|请求失败|调用失败|连接失败|操作失败|失败了|已停止|停下";

/// That something is not there, or not as it should be: what a search or a test was to find out.
const FINDINGS: &str = "\
    could not find|couldn't find|cannot find|can't find|unable to find|can't reproduce|cannot reproduce|could not reproduce|\
    couldn't reproduce|did not find|didn't find|failed to find|failed to pass|\
    tests failed|test failed|checks failed|no such|not exist|doesn't exist|there is no|there are no|there was no|there were no|\
    has no|have no|contains no|no match|no result|no results|not found|not installed|not running|is down|is offline|\
    is unreachable|are unreachable|没有找到|没找到|没能找到|未能找到|未找到|找不到|无法找到|无法访问|不存在|没有这|没有包含|\
    没有匹配|没有任何|里没有|中没有|未安装|未运行|测试失败|测试未通过";

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
    has(&without(text, FINDINGS), FAILURES)
}

/// Whether it says that the agent itself did not manage something, beside what it was to find out.
pub(super) fn admits_own_failure(text: &str) -> bool {
    has(&without(text, FINDINGS), OWN_FAILURES)
}

/// Whether it says that something is not there, which is an answer.
pub(super) fn reports_absence(text: &str) -> bool {
    has(text, FINDINGS)
}

fn without(text: &str, phrases: &str) -> String {
    phrases.split('|').fold(text.to_owned(), |text, phrase| text.replace(phrase, " "))
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
            [] => announced(last),
            own => {
                let mut sought = own.iter().map(|phrase| plain(phrase)).filter(|phrase| !phrase.is_empty());
                let found = sought.any(|phrase| last.iter().any(|sentence| sentence.contains(&phrase)));
                if found { Intent::Sure } else { Intent::None }
            }
        };
        match found {
            Intent::Sure if text.contains(['?', '？']) || has(text, DOUBTS) => Intent::Perhaps,
            found => found,
        }
    }
}

/// Whether one of the last two sentences announces. What comes behind an announcement may be what it announces.
fn announced(last: &[&str]) -> Intent {
    let of_last = last.last().map_or(Intent::None, |sentence| announces(sentence));
    let &[before, sentence] = last else { return of_last };
    match (announces(before), of_last) {
        (Intent::None, of_last) => of_last,
        (_, Intent::Sure) => Intent::Sure,
        (Intent::Sure, _) if starts(sentence, FOLLOWERS) => Intent::Sure,
        _ => Intent::Perhaps,
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

fn announces(sentence: &str) -> Intent {
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | '、' | '!' | '-' | '–' | '—' | ':' | '：' | '.' | '•');
    let mut rest = sentence.trim_start_matches(edge);
    loop {
        let found = begins(rest, sentence);
        if found != Intent::None {
            return found;
        }
        let Some(after) = after_longest(rest, LEADS) else { return Intent::None };
        rest = after.trim_start_matches(edge);
    }
}

/// Whether the rest of a sentence begins with an announcement.
fn begins(text: &str, sentence: &str) -> Intent {
    let deed = after_longest(text, ABOUT_TO).is_some_and(|rest| {
        let rest = rest.trim_start();
        let rest = ["now ", "next ", "first ", "then ", "also ", "just ", "quickly ", "immediately "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .unwrap_or(rest);
        starts(rest, DEEDS)
    });
    if starts(text, TOGETHER) {
        return Intent::Perhaps;
    }
    let doubtful = tells_more(text) || is_done_zh(text);
    if deed || starts(text, UNDER_WAY) || starts(text, UNDER_WAY_ZH) {
        let sure = !doubtful && (!deed || has(sentence, NOW));
        return if sure { Intent::Sure } else { Intent::Perhaps };
    }
    let Some(mut rest) = after_longest(text, ABOUT_TO_ZH) else { return Intent::None };
    let begun = text[..text.len() - rest.len()].ends_with("开始") || text[..text.len() - rest.len()].ends_with("继续");
    while let Some(after) = after_longest(rest.trim_start(), LEADS_ZH) {
        rest = after;
    }
    let of_deed = after_longest(rest.trim_start(), DEEDS_ZH).map(|after| !after.starts_with('的'));
    let alone = begun && !rest.chars().any(char::is_alphanumeric);
    let sure = (of_deed == Some(true) || alone) && !doubtful && has(sentence, NOW_ZH);
    if sure { Intent::Sure } else { Intent::Perhaps }
}

/// Whether something stands behind a colon or a dash: that may be what was announced.
fn tells_more(sentence: &str) -> bool {
    let told = |(at, mark): (usize, &str)| sentence[at + mark.len()..].chars().any(char::is_alphanumeric);
    [":", "：", "—", " – ", " - "].into_iter().any(|mark| sentence.match_indices(mark).any(told))
}

/// Whether a Chinese sentence tells of something that was done.
fn is_done_zh(sentence: &str) -> bool {
    without(sentence, NOT_DONE_ZH).contains(['了', '过'])
}

fn starts(text: &str, phrases: &str) -> bool {
    after_longest(text, phrases).is_some()
}

/// What follows the longest of the phrases that a text begins with.
fn after_longest<'a>(text: &'a str, phrases: &str) -> Option<&'a str> {
    let fitting = phrases.split('|').filter(|phrase| text.starts_with(phrase) && is_whole(text, 0, phrase));
    fitting.max_by_key(|phrase| phrase.len()).map(|phrase| &text[phrase.len()..])
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
            assert_ne!(intent(text), Intent::Sure, "{text}");
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
    fn an_answer_that_begins_like_an_announcement_is_none() {
        for text in [
            "Let me check: 17 has no divisor but itself and 1, so it is prime.",
            "I'll start with the good news: sales rose by five percent.",
            "Let's look at it this way — three apples cost two euros.",
            "Let me look at the numbers. They add up to 51.",
            "The port is 8080. I'll add that it was changed in March.",
            "Rule noted. I will create a backup before every deployment.",
            "The hook is in place. I'll run the linter on each push.",
            "The board is set up. Let's begin!",
            "我会选择第二个方案，因为它更便宜。",
            "我将报告保存在 /tmp/报告.md 里了。",
            "我将三个文件合并成了一个。",
            "让我印象最深的是第三章的结尾。",
            "我先前的回答有误，正确的端口是 8080。",
            "我现在的版本是 3.2。",
            "我要检查的文件只有一个。",
            "我开始时以为是网络问题，其实是磁盘满了。",
            "我准备了三份草稿。",
            "我先检查配置。配置没有问题。",
            "我会写：春眠不觉晓。",
            "我会检查每次提交。",
            "I will continue to answer in French.",
            "Understood. I will write in short sentences.",
            "Got it. I'll do that from here on.",
            "好的，我会写得简短一些。",
            "我来分析一下，原因有两个。",
        ] {
            assert_ne!(intent(text), Intent::Sure, "{text}");
        }
        for text in [
            "我会先检查日志，再修复脚本。",
            "好的，我现在来为你重新运行测试。",
            "我继续。",
            "接下来我将处理过滤规则。",
            "我马上开始排查。预计需要十分钟。",
        ] {
            assert_eq!(intent(text), Intent::Sure, "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_answer_and_no_failure() {
        for text in ["i couldn't find any todo in the sources.", "没能找到这一行。", "no, the file does not exist."] {
            assert!(reports_absence(text) && !admits_failure(text), "{text}");
        }
        for text in ["the key was not found, so i could not send it.", "找不到主机，发送失败。"] {
            assert!(reports_absence(text) && admits_own_failure(text), "{text}");
        }
        for text in ["the ping timed out", "the branch cannot be merged"] {
            assert!(admits_failure(text) && !admits_own_failure(text), "{text}");
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
