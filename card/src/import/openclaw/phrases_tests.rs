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
    for text in
        ["If you agree, fine. I'll start with the tests.", "I'll continue tomorrow.", "我会在明天提醒你。", "I will check it. OK?"]
    {
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
        "I'll run the tests next week.",
        "Let me check, yes, the file is there.",
        "I will start at the beginning, in 1901 the house was built.",
        "让我试试，12 乘 12 等于 144。",
        "我继续写第二段，天色渐暗，他回到家中。",
        "我来分析一下，原因有两个。",
    ] {
        assert_ne!(intent(text), Intent::Sure, "{text}");
    }
    for text in [
        "我会先检查日志，再修复脚本。",
        "好的，我现在来为你重新运行测试。",
        "我继续。",
        "I'm going to look at the database now, then I'll write the report.",
        "接下来我会修复第二个脚本，并重新运行测试。",
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
    for text in ["the ping timed out", "the branch cannot be merged", "从这里无法连到 22 端口。"] {
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

#[test]
fn what_goes_on_or_is_done_in_part_is_not_finished() {
    for text in [
        "working on it.",
        "fetching the data now.",
        "the build is still running.",
        "i got as far as table 7.",
        "7 of 12 tables are copied.",
        "part 1 is written. more to come.",
        "okay.",
        "i need your permission to go on.",
        "正在处理中，请稍候。",
        "已处理 7/12 张表。",
        "只完成了一半。",
        "收到，马上处理。",
        "好的，开始。",
    ] {
        assert!(leaves_work(text), "{text}");
    }
    for text in [
        "nothing was found.",
        "12 of 12 tables are copied.",
        "the report of 2026/11/30 is in /tmp/1/20/a.md.",
        "the server runs on port 80.",
        "三个文件都改好名字了。",
    ] {
        assert!(!leaves_work(text), "{text}");
    }
}
