//! One call of a hook: a message out, an answer back, or none in time.

use super::{Hook, HookMessage, sign};
use reqwest::StatusCode;
use reqwest::redirect::Policy;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// What comes back is read no further than this, bytes.
const LONGEST_ANSWER: usize = 4096;
/// A reason is kept no longer than this, characters.
const LONGEST_REASON: usize = 500;
/// Variables of the controller's environment that a program gets; everything else may be a secret.
const KEPT: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    /// It goes on; what was told has arrived.
    Yes,
    /// It says no, and why.
    No(String),
    /// It did not answer, or not so that one could understand it, and how that showed.
    Silent(String),
}

impl HookAnswer {
    /// The word in the metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No(_) => "no",
            Self::Silent(_) => "silent",
        }
    }
}

/// Calls a hook once.
pub(crate) async fn call(hook: &Hook, message: &HookMessage) -> HookAnswer {
    let body = match serde_json::to_string(message) {
        Ok(body) => body,
        Err(error) => {
            return HookAnswer::Silent(format!("the message could not be written: {error}"));
        }
    };
    let called = async {
        match &hook.url {
            Some(url) => post(hook, url.clone(), message, body).await,
            None => run(hook, message, &body).await,
        }
    };
    match tokio::time::timeout(hook.timeout(), called).await {
        Ok(answer) => answer.unwrap_or_else(HookAnswer::Silent),
        Err(_) => HookAnswer::Silent(format!("no answer within {} s", hook.timeout_s)),
    }
}

/// What a service may say in the body of its answer.
#[derive(Default, serde::Deserialize)]
struct HookResponse {
    allow: Option<bool>,
    reason: Option<String>,
}

async fn post(
    hook: &Hook,
    url: reqwest::Url,
    message: &HookMessage,
    body: String,
) -> Result<HookAnswer, String> {
    let http = controller_client::client(Policy::none(), hook.ca_file.as_deref());
    let http = http.map_err(|error| error.to_string())?;
    let timestamp = chrono::Utc::now().timestamp();
    let mut request = http
        .post(url)
        .header("content-type", "application/json")
        .header(
            "user-agent",
            concat!("shardwright/", env!("CARGO_PKG_VERSION")),
        )
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", timestamp);
    if let Some(secret) = &hook.secret {
        let signature = sign::signature(&secret.read()?, &message.id, timestamp, &body)?;
        request = request.header("webhook-signature", signature);
    }
    // An address may have a key in it, so it is not repeated.
    let sent = request.body(body).send().await;
    let mut response = sent.map_err(|error| chain(&error.without_url()))?;
    let status = response.status();
    let mut text = Vec::new();
    while text.len() < LONGEST_ANSWER {
        match response.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return Err(chain(&error.without_url())),
        }
    }
    text.truncate(LONGEST_ANSWER);
    let response: HookResponse = serde_json::from_slice(&text).unwrap_or_default();
    let refuses = response.allow == Some(false)
        || matches!(status, StatusCode::FORBIDDEN | StatusCode::CONFLICT);
    if refuses {
        let reason = response.reason.map(String::into_bytes).unwrap_or(text);
        return Ok(HookAnswer::No(reason_of(&reason)));
    }
    if status.is_success() {
        return Ok(HookAnswer::Yes);
    }
    Err(format!("it answered {status}"))
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

async fn run(hook: &Hook, message: &HookMessage, body: &str) -> Result<HookAnswer, String> {
    let (program, arguments) = hook.command.split_first().ok_or("it has no program")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(
        KEPT.iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?))),
    );
    command.envs(variables(message));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own, so that what it has started ends with it.
    let child = command.process_group(0).spawn();
    let mut child = child.map_err(|error| format!("the program was not started: {error}"))?;
    let mut group = ProcessGroup::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program need not read it.
            let _ = stdin.write_all(body.as_bytes()).await;
        }
    };
    let ((), output, errors) = tokio::join!(write, first(stdout), first(stderr));
    let ended = child.wait().await;
    group.0 = None;
    let status = ended.map_err(|error| format!("the program was lost: {error}"))?;
    if status.success() {
        return Ok(HookAnswer::Yes);
    }
    if status.code().is_none() {
        return Err(format!("the program ended by {status}"));
    }
    let reason = if output.is_empty() { errors } else { output };
    Ok(HookAnswer::No(reason_of(&reason)))
}

/// A program and what it has started; ended when it is given up, or the lead is lost.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            // It may have ended by itself just now.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// The beginning of what a program writes; the rest is read and dropped, so that it never waits for us.
async fn first<R: tokio::io::AsyncRead + Unpin>(from: Option<R>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut from) = from else { return kept };
    let mut piece = [0; 1024];
    while let Ok(read) = from.read(&mut piece).await {
        if read == 0 {
            break;
        }
        let room = LONGEST_ANSWER - kept.len();
        kept.extend_from_slice(&piece[..read.min(room)]);
    }
    kept
}

/// The message once more, for programs that read no JSON.
fn variables(message: &HookMessage) -> Vec<(&'static str, String)> {
    let of = |pointer: &str| {
        let value = message.migration.pointer(pointer);
        value
            .and_then(|value| value.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    vec![
        ("SHARDWRIGHT_HOOK", message.hook.clone()),
        ("SHARDWRIGHT_PHASE", message.phase.to_string()),
        ("SHARDWRIGHT_MESSAGE_ID", message.id.clone()),
        ("SHARDWRIGHT_MIGRATION", of("/id")),
        ("SHARDWRIGHT_OPERATION", of("/operation_id")),
        ("SHARDWRIGHT_MAP", of("/map")),
        ("SHARDWRIGHT_SOURCE", of("/source")),
        ("SHARDWRIGHT_TARGET", of("/target")),
        ("SHARDWRIGHT_STATE", of("/state")),
    ]
}

/// Text of somebody else's as a reason: short, on one line, without control characters.
fn reason_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let plain = text.replace(|c: char| c.is_control(), " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let short: String = words.join(" ").chars().take(LONGEST_REASON).collect();
    if short.is_empty() {
        return "it gives no reason".to_owned();
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_short_and_on_one_line() {
        assert_eq!(
            reason_of(b" freeze\n\tuntil\x1b[31m Monday \0"),
            "freeze until [31m Monday"
        );
        assert_eq!(
            reason_of("é".repeat(900).as_bytes()).chars().count(),
            LONGEST_REASON
        );
        assert_eq!(reason_of(b"\n"), "it gives no reason");
    }
}
