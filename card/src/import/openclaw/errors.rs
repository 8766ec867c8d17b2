//! What the text of a model's error tells: a time-out, a person's stop, or that trying again is of no use.

/// HTTP statuses that do not change by waiting, each with the word that stands beside it.
const PERMANENT_STATUSES: [(&str, &str); 4] =
    [("401", "unauthorized"), ("402", "payment required"), ("403", "forbidden"), ("404", "not found")];

/// What stands right before an HTTP status.
const STATUS_MARKS: [&str; 8] = ["http", "http/1.1", "http/2", "status", "code", "error", "status_code", "状态码"];

const PERMANENT: [&str; 53] = [
    "unauthorized",
    "invalid api key",
    "incorrect api key",
    "invalid x-api-key",
    "invalid_api_key",
    "api key expired",
    "no api key",
    "authentication_error",
    "authentication failed",
    "permission_error",
    "permission denied",
    "not have access to",
    "model_not_found",
    "model not found",
    "unknown model",
    "no such model",
    "insufficient quota",
    "insufficient balance",
    "insufficient credit",
    "credit balance is too low",
    "payment required",
    "context length",
    "context_length",
    "context window",
    "context overflow",
    "maximum context",
    "prompt is too long",
    "prompt too large",
    "too many tokens in",
    "余额不足",
    "账户欠费",
    "欠费",
    "密钥无效",
    "鉴权失败",
    "认证失败",
    "没有权限",
    "无权访问",
    "模型不存在",
    "上下文长度",
    "上下文过长",
    "api key not valid",
    "invalid authentication",
    "context limit",
    "maximum number of tokens",
    "令牌无效",
    "令牌已过期",
    "超出最大长度",
    "is not found",
    "密钥已过期",
    "密钥过期",
    "超出模型",
    "上下文窗口",
    "上下文已满",
];

/// Used up: for ever, unless the same text tells when there is more.
const QUOTA: [&str; 5] = ["insufficient_quota", "exceeded your current quota", "quota exceeded", "billing", "额度已用完"];

const TIMEOUT: [&str; 10] = [
    "timed out",
    "timeout",
    "time-out",
    "time out",
    "etimedout",
    "deadline exceeded",
    "took too long",
    "超时",
    "响应时间过长",
    "deadline_exceeded",
];

const ABORT: [&str; 27] = [
    "was aborted",
    "aborterror",
    "aborted by",
    "user aborted",
    "cancelled by",
    "canceled by",
    "stopped by",
    "interrupted by user",
    "用户取消",
    "用户中止",
    "用户停止",
    "手动停止",
    "was cancelled",
    "was canceled",
    "operation cancelled",
    "operation canceled",
    "context canceled",
    "已取消",
    "被取消",
    "被中止",
    "terminated by user",
    "user interrupted",
    "手动终止",
    "用户已停止",
    "用户已取消",
    "用户终止",
    "用户中断",
];

/// Whether trying again is of no use before a person did something. `tells_when`: it tells when trying again is of use.
pub(super) fn is_permanent(error: &str, tells_when: bool) -> bool {
    let text = error.to_lowercase();
    PERMANENT.iter().any(|phrase| text.contains(phrase))
        || !tells_when && QUOTA.iter().any(|phrase| text.contains(phrase))
        || PERMANENT_STATUSES.iter().any(|(status, word)| tells_of_status(&text, status, word))
}

/// A number in a text is a status where something says so: 404 tokens are none.
fn tells_of_status(text: &str, status: &str, word: &str) -> bool {
    text.match_indices(status).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + status.len()..]);
        let alone = !before.ends_with(|c: char| c.is_alphanumeric() || ".-_".contains(c))
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && !after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || ":=\"'([".contains(c));
        let marked = STATUS_MARKS.iter().any(|mark| before.ends_with(mark));
        let named = after.trim_start_matches(|c: char| c.is_whitespace() || ":-\"')]".contains(c)).starts_with(word)
            || before.ends_with(word);
        alone && (before.is_empty() || marked || named)
    })
}

/// Whether something took too long.
pub(super) fn tells_of_timeout(error: &str) -> bool {
    let text = error.to_lowercase();
    TIMEOUT.iter().any(|phrase| text.contains(phrase))
}

/// Whether somebody stopped it.
pub(super) fn tells_of_abort(error: &str) -> bool {
    let text = error.to_lowercase();
    text.trim() == "aborted" || ABORT.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_told_from_a_number() {
        for permanent in [
            "401 Incorrect credentials",
            "HTTP 403",
            "request failed (provider auth error, HTTP 401).",
            "status code: 404",
            "{\"error\":{\"code\":403}}",
            "404 Not Found",
            "(402) Payment required",
            "错误：状态码 401",
            "Forbidden (403)",
            "API 密钥已过期",
            "上下文窗口已满",
        ] {
            assert!(is_permanent(permanent, false), "{permanent}");
        }
        for passing in [
            "500 fake upstream exploded",
            "used 404 tokens",
            "took 1401 ms",
            "HTTP 503",
            "req_403abc failed",
            "port 404 refused",
            "503 unavailable (req id 403)",
            "version 4.04.401",
            "429",
        ] {
            assert!(!is_permanent(passing, false), "{passing}");
        }
    }

    #[test]
    fn a_cut_connection_is_nobodys_stop() {
        assert!(!tells_of_abort("write ECONNABORTED") && !tells_of_abort("connection reset"));
        assert!(["terminated by user", "User interrupted", "已手动终止", "用户已停止生成"].into_iter().all(tells_of_abort));
        assert!(tells_of_abort("This operation was aborted") && tells_of_abort("Aborted"));
        assert!(tells_of_timeout("Request timed out before a response was generated.") && tells_of_timeout("请求超时"));
    }
}
