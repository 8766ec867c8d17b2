//! Phrases that tell how an agent's last words are meant, in lower case with a bar between them. A Latin one is sought as whole
//! words, a Chinese one anywhere.

/// What may stand before the announcement.
pub(super) const LEADS: &str = "\
    ok|okay|sure|great|good|perfect|alright|all right|right|understood|got it|thanks|first|next|now|then|so|and|\
    of course|certainly|absolutely|great idea|good idea|好的|好|明白了|明白|收到|没问题|当然|接下来|下一步|下面|\
    现在|那么|首先|然后|可以|那|嗯";

/// Each is followed by one of `DEEDS`, a "now" between them notwithstanding.
pub(super) const ABOUT_TO: &str = "i will|i'll|i am going to|i'm going to|i am about to|i'm about to|let me";

/// "I will" also promises how one will always do it. That it is now is said by "let me", or by one of these in the sentence.
pub(super) const NOW: &str = "\
    now|next|first|right away|immediately|straight away|at once|start|begin|proceed|go ahead|get started|kick off|about to|let me";

/// Said to a person as often as to oneself.
pub(super) const TOGETHER: &str = "let's|let us|让我们";

pub(super) const DEEDS: &str = "\
    start|begin|continue|proceed|go ahead|get started|run|rerun|re-run|check|look|read|open|fetch|write|create|\
    update|fix|implement|try|retry|search|analyze|analyse|work on|take care|take a look|test|download|upload|\
    collect|gather|generate|send|move on|do that|do this|do it|handle|investigate|prepare|build|migrate|monitor|\
    watch|verify|install|deploy|examine|inspect|edit|process|execute|add|remove|scan|compile|dig|find|set up|\
    kick off|resume";

/// Intents in themselves.
pub(super) const UNDER_WAY: &str = "starting now|proceeding to|proceeding with|moving on to|beginning now|on it";

/// The same in Chinese, where 我会 says as well what one would do, and 我将 what one did with something: only a deed settles it.
pub(super) const ABOUT_TO_ZH: &str = "\
    我将|我会|我现在|我来|我马上|我这就|我先|我准备|我要|我接下来|我继续|我开始|我去|让我|将继续|将开始|接下来将|\
    接下来我|下一步将|下一步我|现在开始|马上开始|立即开始|即将开始|正在开始|这就开始";

/// What may stand before the deed.
pub(super) const LEADS_ZH: &str = "\
    现在|马上|立即|立刻|这就|就|先|首先|来|去|再|会|将|要|准备|接着|接下来|着手|开始|继续|逐步|依次|重新|为你|为您|帮你|帮您";

pub(super) const DEEDS_ZH: &str = "\
    检查|查看|看看|看一下|看一看|看下|查找|查询|查一下|阅读|读取|打开|运行|执行|修复|修改|处理|分析|搜索|创建|编写|\
    写|更新|实现|实施|尝试|试|重试|测试|下载|上传|收集|生成|发送|迁移|安装|部署|构建|编译|验证|整理|清理|调查|排查|\
    监控|添加|删除|启动|获取|抓取|拉取|调用|进行|完成|扫描|核对|统计|导入|导出|转换|合并|备份|配置|优化|工作";

pub(super) const NOW_ZH: &str = "现在|马上|立即|立刻|这就|先|首先|接下来|下一步|开始|着手|我继续|让我|正在";

pub(super) const UNDER_WAY_ZH: &str = "开始执行|开始处理|继续执行|继续处理";

/// Words with a character in them that else says that something is done.
pub(super) const NOT_DONE_ZH: &str = "了解|为了|除了|通过|过程|过滤|超过|不过";

/// What goes on with an announcement behind a comma.
pub(super) const GOES_ON: &str = "\
    then|and|after|before|followed by|while|step by step|one by one|starting|beginning|再|然后|并|稍后|接着|随后|之后|以便|\
    完成后|预计|请稍|逐|最后|同时|一步";

/// A last sentence that begins so says more of what was announced before it.
pub(super) const FOLLOWERS: &str = "\
    i'll|i will|this takes|this will|this may|this might|this can|this should|it will|it'll|it may|it takes|it should|give me|\
    one moment|a moment|please wait|please hold|hold on|stand by|back |then|after that|afterwards|稍后|请稍|请等|这可能|\
    这需要|这会|然后|完成后|之后|预计|大概|需要几";

/// Words that make an intent doubtful: offers, conditions, promises for later, refusals, and what is done already.
pub(super) const DOUBTS: &str = "\
    if you|let me know|would you|do you want|shall i|should i|feel free|please confirm|please provide|please let|\
    waiting for|once you|when you|after you|as soon as you|until you|need you|i'll need|i will need|won't|will not|\
    add that|tell me|every|each|whenever|always|daily|nightly|weekly|tomorrow|tonight|next week|next month|remind|next time|from now on|going forward|in mind|remember|already|finished|completed|is complete|\
    are complete|all done|如果|如需|若需|需要我|是否|请确认|请提供|请告诉|等你|等您|告诉我|明天|以后|今后|提醒|下次|\
    记住|不会|已完成|已经完成|每次|每天|每晚|每周|每当|总是|下周|下个月|今晚";

/// What the agent did not manage, or what went wrong somewhere: of a machine that was to be looked at, that is the answer.
pub(super) const FAILURES: &str = "\
    could not|couldn't|cannot|can't|unable to|was not able|wasn't able|not able to|failed|fails|failure|failing|error|errors|\
    did not work|didn't work|does not work|doesn't work|i stopped|i have stopped|gave up|giving up|unreachable|\
    connection refused|connection reset|timed out|exited with|not sent|无法|没能|未能|没有成功|不成功|失败|出错|错误|报错|\
    超时|已停止|停下|没有通过|未通过|中断";

/// What the agent itself did not manage.
pub(super) const OWN_FAILURES: &str = "\
    i could not|i couldn't|i cannot|i can't|unable to|i was not able|i wasn't able|failed to|could not be sent|\
    could not be delivered|could not be uploaded|could not be executed|could not be completed|command failed|tool failed|\
    call failed|request failed|attempt failed|script failed|connection failed|delivery failed|it failed|this failed|\
    that failed|i stopped|i have stopped|gave up|giving up|i ran into an error|i hit an error|i got an error|not sent|我无法|无法继续|无法完成|无法发送|无法执行|无法上传|无法下载|任务中断|\
    没能|未能|没有成功|不成功|执行失败|命令失败|发送失败|请求失败|调用失败|连接失败|操作失败|失败了|已停止|停下";

/// That something is not there, or not as it should be: what a search or a test was to find out.
pub(super) const FINDINGS: &str = "\
    could not find|couldn't find|cannot find|can't find|unable to find|can't see|cannot see|can't reproduce|cannot reproduce|could not reproduce|\
    couldn't reproduce|did not find|didn't find|failed to find|failed to pass|\
    tests failed|test failed|checks failed|no such|not exist|doesn't exist|there is no|there are no|there was no|there were no|\
    has no|have no|contains no|no match|no result|no results|not found|not installed|not running|is down|is offline|\
    is unreachable|are unreachable|没有找到|没找到|没能找到|未能找到|未找到|找不到|无法找到|无法访问|不存在|没有这|没有包含|\
    没有匹配|没有任何|里没有|中没有|未安装|未运行|测试失败|测试未通过";

pub(super) const SUCCESSES: &str = "\
    done|completed|finished|is complete|are complete|successfully|succeeded|all good|everything is|everything's|\
    works now|no errors|no error was|no matches|nothing was found|no problems|no issues|here is|here are|here's|\
    summary|as expected|as you expected|as you suspected|as intended|as it should|took effect|已完成|完成了|已经完成|成功|没有错误|没有发现|未发现|一切正常|没有问题|以下是|总结|如下|搞定|如你所料|符合预期|如预期|已生效";

/// How the answer to a question begins.
pub(super) const YES_OR_NO: &str = "yes,|yes.|no,|no.|indeed,|correct,|是的|不是|对，|没错|不，|没有，";

pub(super) const QUESTIONS: &str = "\
    let me know|would you|do you want|shall i|should i|please confirm|please provide|please tell|please choose|\
    which one|waiting for your|once you|if you|tell me|请确认|请提供|请告诉|告诉我|请选择|请问|是否|需要我|要不要|\
    等你|等您|你希望";

pub(super) const LEFTOVERS: &str = "\
    remaining|remains to be|still need|still have to|still to do|not yet|to be continued|todo|partially|so far|\
    halfway|half of|in progress|next step|later|left to|will continue|working on|looking into|one moment|a moment|\
    a minute|please wait|hold on|stand by|still running|under way|got as far as|ran out of|have to stop|stop here|stopped here|more to come|\
    report back|get back to you|proceeding|your permission|your approval|refused|access denied|is full|part one|part 1|还剩|剩余|剩下|尚未|还没|还需要|未完成|待续|部分完成|\
    进行中|处理中|运行中|正在处理|正在执行|正在下载|正在迁移|正在分析|下一步|稍后|请稍|稍等|等我|马上|还在|一半|没来得及|\
    来不及|停在这里|授权|已满|后面还有|还有两|还有三|待处理|继续";

/// Words in -ing that do not say what goes on.
pub(super) const NO_DEEDS: &str =
    "nothing|everything|anything|something|during|according|following|regarding|including|morning|evening";

/// Tokens by which an agent says that it has nothing to say.
pub(super) const QUIET: &str = "no_reply|heartbeat_ok";
