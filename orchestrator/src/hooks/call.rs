//! One call of a hook: the controller sends a message, and waits for the answer until the time limit.

use super::{Hook, HookMessage, sign};
use reqwest::StatusCode;
use reqwest::redirect::Policy;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// How many bytes of an answer are used.
const MAX_ANSWER: usize = 4096;
/// How many characters of a reason are kept.
const MAX_REASON: usize = 500;
/// The variables of the controller's environment that a program gets. All others may be secret.
const PASSED_VARIABLES: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    /// The hook agrees, or it has received the notification.
    Yes,
    /// The hook refuses, for this reason.
    No(String),
    /// The hook did not answer, or the answer was not understood, for this reason.
    Silent(String),
}

impl HookAnswer {
    /// Returns the name of the result in the metrics.
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
            return HookAnswer::Silent(format!(
                "the message could not be converted to JSON: {error}"
            ));
        }
    };
    let call = async {
        match &hook.url {
            Some(url) => post(hook, url.clone(), message, body).await,
            None => run(hook, message, &body).await,
        }
    };
    match tokio::time::timeout(hook.timeout(), call).await {
        Ok(answer) => answer.unwrap_or_else(HookAnswer::Silent),
        Err(_) => HookAnswer::Silent(format!("no answer within {} s", hook.timeout_s)),
    }
}

/// The body of a service's answer.
#[derive(Default, serde::Deserialize)]
struct HookResponse {
    allow: Option<bool>,
    reason: Option<String>,
}

/// Sends the message to the URL of the hook. The answer refuses if its body has `"allow": false`, or if its status is
/// 403 or 409; it agrees with any other status of success. In all other cases the function returns an error.
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
    // The URL may contain a key, so the error is reported without it.
    let sent = request.body(body).send().await;
    let mut response = sent.map_err(|error| error_chain(&error.without_url()))?;
    let status = response.status();
    let mut text = Vec::new();
    while text.len() < MAX_ANSWER {
        match response.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return Err(error_chain(&error.without_url())),
        }
    }
    text.truncate(MAX_ANSWER);
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
    Err(format!("the hook answered with HTTP status {status}"))
}

/// Returns the text of an error and of its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

/// Runs the program of the hook with the message as its input. Exit code 0 agrees; any other exit code refuses.
async fn run(hook: &Hook, message: &HookMessage, body: &str) -> Result<HookAnswer, String> {
    let (program, arguments) = hook
        .command
        .split_first()
        .ok_or("the hook has no program")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(
        PASSED_VARIABLES
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?))),
    );
    command.envs(variables(message));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The program gets its own process group, so that the processes that it starts end with it.
    let child = command.process_group(0).spawn();
    let mut child = child.map_err(|error| format!("the program could not be started: {error}"))?;
    let mut group = ProcessGroup::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program need not read its input.
            let _ = stdin.write_all(body.as_bytes()).await;
        }
    };
    let ((), output, errors) = tokio::join!(write, read_beginning(stdout), read_beginning(stderr));
    let waited = child.wait().await;
    // The program has ended, so its id may already belong to another process.
    group.0 = None;
    let status = waited.map_err(|error| format!("could not wait for the program: {error}"))?;
    if status.success() {
        return Ok(HookAnswer::Yes);
    }
    if status.code().is_none() {
        return Err(format!("the program was killed: {status}"));
    }
    let reason = if output.is_empty() { errors } else { output };
    Ok(HookAnswer::No(reason_of(&reason)))
}

/// A program and the processes that it has started. Dropping the value kills them; this happens if the time limit of
/// the call passes, or if the controller loses the leadership.
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
            // This fails if the program has just ended.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

/// Returns the beginning of a program's output. The rest is read and discarded, so that the program does not wait for a
/// reader.
async fn read_beginning<R: tokio::io::AsyncRead + Unpin>(from: Option<R>) -> Vec<u8> {
    let mut beginning = Vec::new();
    let Some(mut from) = from else {
        return beginning;
    };
    let mut buffer = [0; 1024];
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let room = MAX_ANSWER - beginning.len();
        beginning.extend_from_slice(&buffer[..read.min(room)]);
    }
    beginning
}

/// Returns the message as environment variables, for programs that do not read JSON.
fn variables(message: &HookMessage) -> Vec<(&'static str, String)> {
    let field = |pointer: &str| {
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
        ("SHARDWRIGHT_MIGRATION", field("/id")),
        ("SHARDWRIGHT_OPERATION", field("/operation_id")),
        ("SHARDWRIGHT_MAP", field("/map")),
        ("SHARDWRIGHT_SOURCE", field("/source")),
        ("SHARDWRIGHT_TARGET", field("/target")),
        ("SHARDWRIGHT_STATE", field("/state")),
    ]
}

/// Returns the text of a program or a service as a reason: short, on one line, and without control characters.
fn reason_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let plain = text.replace(|c: char| c.is_control(), " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let short: String = words.join(" ").chars().take(MAX_REASON).collect();
    if short.is_empty() {
        return "the hook gives no reason".to_owned();
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
            MAX_REASON
        );
        assert_eq!(reason_of(b"\n"), "the hook gives no reason");
    }
}
