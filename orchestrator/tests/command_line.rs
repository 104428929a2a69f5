//! The program itself: exit codes, and JSON on stdout.

mod agents;
mod colors;
mod completion;
mod consent;
mod errors;
mod migrations;

use crate::fixture::{Server, program, request};
use serde_json::Value;
use std::path::Path;
use std::process::{Output, Stdio};
use tokio::process::Command;

async fn run(url: &str, line: &str) -> Output {
    program(url).args(line.split(' ')).output().await.unwrap()
}

/// The exit code, and stdout as JSON.
async fn json(url: &str, line: &str) -> (i32, Value) {
    let output = run(url, line).await;
    let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), value)
}

#[tokio::test]
async fn every_command_speaks_json_and_ends_with_a_code() {
    let server = Server::start().await;
    let url = server.url.as_str();
    for (line, code) in [
        ("shard add c --dsn host=z -o json", 0),
        ("shard add c --dsn host=z -o json", 7),
        ("shard list -o json", 0),
        ("map create other --range ..5=c --range 5..=a -o json", 0),
        ("map show other -o json", 0),
        ("map show nothing -o json", 3),
        ("map list -o json", 0),
        ("map history other -o json", 0),
        ("agent list -o json", 0),
        ("version -o json", 0),
        ("list -o json", 0),
        ("migration show mnothing -o json", 3),
        ("shard remove c --yes", 7),
        ("show", 64),
        ("map create x --range 1-2=a", 64),
        ("apply /nowhere/plan.json", 64),
    ] {
        let (seen, value) = json(url, line).await;
        assert_eq!(seen, code, "{line}");
        assert_eq!(value.is_null(), code != 0, "{line}: {value}");
    }
    let output = run("http://127.0.0.1:1", "list").await;
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.contains("http://127.0.0.1:1") && text.contains("hint: "),
        "{text}"
    );
}

/// The program of `demo` and `torture` is beside this one or in PATH, or the error names it.
#[tokio::test]
async fn a_program_of_its_own_runs_with_its_options_and_its_exit_code() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    let own = folder.join("shardwright");
    std::fs::hard_link(env!("CARGO_BIN_EXE_shardwright"), &own).unwrap();
    let demo = async || {
        let mut command = Command::new(&own);
        command
            .args(["demo", "--keep", "--help"])
            .env("PATH", "/nowhere");
        command.output().await.unwrap()
    };
    let missing = demo().await;
    let text = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        text.contains("error: shardwright-demo could not be started: No such file"),
        "{text}"
    );
    // A file that this process wrote could still be open in a process that another test starts.
    let write =
        r#"printf '#!/bin/sh\necho "$@"\nexit 9\n' > shardwright-demo; chmod +x shardwright-demo"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write]).current_dir(&folder);
    assert!(shell.status().await.unwrap().success());
    let ran = demo().await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(ran.status.code(), Some(9));
    assert_eq!(
        String::from_utf8(ran.stdout).unwrap(),
        "demo --keep --help\n"
    );
}

#[tokio::test]
async fn every_form_of_output_is_printed() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let text = async |line: &str| {
        let output = run(url, line).await;
        assert_eq!(output.status.code(), Some(0), "{line}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(text("shard list -o name").await, "a\nb\n");
    let (long, short) = (
        text("shard list").await,
        text("shard list --no-headers").await,
    );
    assert!(long.starts_with("NAME") && !short.contains("NAME"));
    assert_eq!((long.lines().count(), short.lines().count()), (3, 2));
    let wide = text("shard list -o wide").await;
    assert!(wide.contains("ADDED") && !long.contains("ADDED"), "{wide}");
    let lines = text("shard list -o jsonl").await;
    let names: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let yaml = text("shard list -o yaml").await;
    let yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
    let (_, all) = json(url, "shard list -o json").await;
    assert_eq!(yaml, all);
    let mut by_variable = program(url);
    by_variable.env("SHARDWRIGHT_OUTPUT", "name");
    let output = by_variable.args(["shard", "list"]).output().await.unwrap();
    assert_eq!(output.stdout, b"a\nb\n");
    assert_eq!(run(url, "shard list -o csv").await.status.code(), Some(64));
}

#[tokio::test]
async fn a_connection_string_that_cannot_be_read_is_refused_at_once_and_not_shown() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let known: Vec<Value> = serde_json::from_value(server.json("/api/v1/shards").await).unwrap();
    for (dsn, problem, remedy) in [
        ("hunter2:5432/shop", "malformed", "postgres://user@host"),
        ("host=z user='hunter2", "malformed", "postgres://user@host"),
        ("host=z port=hunter2", "port", "docs/connections.md"),
        ("host=z sslmod=hunter2", "sslmod", "docs/connections.md"),
        ("host=z password=${env:hunter2", "not closed", "${env:NAME}"),
        (
            "host=z password=${vault:hunter2}",
            "unknown kind",
            "${env:NAME}",
        ),
        (
            "postgres://u:hunter2@z/d",
            "holds a password",
            "${env:NAME}",
        ),
    ] {
        for (verb, name) in [("add", "c"), ("set", "a")] {
            let mut command = program(url);
            let output = command.args(["shard", verb, name, "--dsn", dsn]);
            let output = output.output().await.unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(64), "{said}");
            for word in [&format!("shard {name}"), problem, "hint: ", remedy] {
                assert!(said.contains(word), "{word}: {said}");
            }
            assert!(
                !said.contains("hunter2") && output.stdout.is_empty(),
                "{said}"
            );
        }
    }
    let left: Vec<Value> = serde_json::from_value(server.json("/api/v1/shards").await).unwrap();
    assert_eq!(left, known);
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure_and_a_full_disk_is_one() {
    let server = Server::start().await;
    let url = server.url.as_str();
    for line in [
        "shard list",
        "list -o json",
        "completions bash",
        "doctor --explain SW0101",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = program(url);
        command
            .args(line.split(' '))
            .stdout(writer)
            .stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(141), ""),
            "{line}"
        );

        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = program(url);
        command
            .args(line.split(' '))
            .stdout(full)
            .stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(
            said.starts_with("error: could not write the output: "),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_with_its_limit() {
    let server = Server::start().await;
    let _agent = server.agent("x", "x1");
    let file = server.database.cluster.dir().join("large-request.yaml");
    let comment = "# a line of a large request\n".repeat((18 << 20) / 28);
    std::fs::write(&file, comment + &request("")).unwrap();
    let mut command = program(&server.url);
    let refused = command.arg("plan").arg(&file).output().await.unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        told.contains("the body has more than 16777216 bytes"),
        "{told}"
    );
}
