//! Errors as programs read them: with `-o json` one JSON object on stderr, with the exit code that the text has.

use crate::fixture::{Server, free_address, program};
use serde_json::{Value, json};

/// The exit code and the JSON object on the last line of stderr.
async fn failed(url: &str, line: &str) -> (i32, Value) {
    let output = program(url).args(line.split(' ')).output().await.unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let last = text.lines().last().unwrap_or_default();
    let value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{line}: {text}"));
    assert!(output.stdout.is_empty(), "{line}");
    (output.status.code().unwrap(), value)
}

#[tokio::test]
async fn errors_are_json_where_the_output_is() {
    let server = Server::start().await;
    let nowhere = format!("http://{}", free_address());
    for (url, line, code, exit, retry) in [
        (&server.url, "show mnothing", "migration.missing", 3, "none"),
        (&server.url, "map show nothing", "map.missing", 3, "none"),
        (&server.url, "shard add a host=x", "shard.exists", 7, "none"),
        (
            &server.url,
            "shard add c port=many",
            "shard.unreadable_dsn",
            64,
            "none",
        ),
        (
            &server.url,
            "apply /nowhere/plan.json",
            "file.unreadable",
            64,
            "none",
        ),
        (&server.url, "show", "usage.invalid", 64, "none"),
        (
            &server.url,
            "list --limit many",
            "usage.invalid",
            64,
            "none",
        ),
        (
            &server.url,
            "abort mnothing",
            "migration.missing",
            3,
            "none",
        ),
        (&nowhere, "list", "controller.unreachable", 1, "later"),
        (&nowhere, "agent list", "controller.unreachable", 1, "later"),
    ] {
        for format in ["-o json", "--output=jsonl"] {
            let line = format!("{line} {format}");
            let (seen, error) = failed(url, &line).await;
            assert_eq!(seen, exit, "{line}: {error}");
            assert_eq!(error["exit_code"], exit, "{line}: {error}");
            assert_eq!(
                (&error["code"], &error["retry"]),
                (&json!(code), &json!(retry)),
                "{line}: {error}"
            );
            let message = error["message"].as_str().unwrap();
            assert!(
                !message.is_empty() && !message.starts_with("error:"),
                "{error}"
            );
            assert!(
                error["hint"].is_string() || error["hint"].is_null(),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_names_its_objects() {
    let server = Server::start().await;
    let (_, error) = failed(&server.url, "show mnothing -o json").await;
    assert_eq!(error["status"], 404, "{error}");
    let (_, error) = failed(&server.url, "apply /nowhere/plan.json -o json").await;
    assert_eq!(error["path"], "/nowhere/plan.json", "{error}");
    let (_, error) = failed(&server.url, "list --limit many -o json").await;
    assert_eq!(
        (&error["argument"], &error["value"]),
        (&json!("--limit <LIMIT>"), &json!("many")),
        "{error}"
    );
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let line = format!("wait {id} --for completed --timeout 50ms -o json");
    let (code, error) = failed(&server.url, &line).await;
    assert_eq!(
        (code, &error["code"]),
        (6, &json!("wait.timeout")),
        "{error}"
    );
    assert_eq!(
        (&error["id"], &error["wanted"]),
        (&json!(id), &json!("completed"))
    );
}

#[tokio::test]
async fn errors_are_text_where_the_output_is_for_people() {
    let server = Server::start().await;
    for line in [
        "show mnothing",
        "show mnothing -o yaml",
        "show",
        "map export nothing -o json",
    ] {
        let output = program(&server.url).args(line.split(' ')).output().await;
        let text = String::from_utf8(output.unwrap().stderr).unwrap();
        assert!(text.starts_with("error: "), "{line}: {text}");
    }
    let mut by_variable = program(&server.url);
    by_variable.env("SHARDWRIGHT_OUTPUT", "json");
    let output = by_variable.args(["show"]).output().await.unwrap();
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["code"], "usage.invalid");
}
