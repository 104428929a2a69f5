//! The program itself: exit codes, and JSON on stdout.

mod agents;
mod colors;
mod completion;
mod errors;

use crate::fixture::{Server, holding, program, request};
use plans::wire::LockWait;
use serde_json::Value;
use std::path::Path;
use std::process::{Output, Stdio};
use tokio::io::{AsyncBufReadExt, BufReader};
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
async fn nothing_grave_is_done_without_consent_and_nothing_at_all_on_a_dry_run() {
    let server = Server::start().await;
    let url = server.url.as_str();
    assert_eq!(json(url, "shard add c host=z -o json").await.0, 0);
    for (line, code, said) in [
        ("shard remove c", 64, "--yes"),
        ("shard remove c --dry-run", 0, "Removes shard c"),
        ("shard remove nothing --dry-run", 3, "nothing"),
        ("token revoke ada", 64, "--yes"),
        ("token create ada --role viewer --dry-run", 0, "ada"),
        ("shard add d host=z --dry-run", 0, "Registers shard d"),
        ("shard set c --capacity 7 --dry-run", 0, "shard c"),
        ("cleanup --apply", 64, "--yes"),
        ("reconcile --apply", 64, "--yes"),
        ("reconcile --accept a", 64, "--yes"),
        ("map join nothing --dry-run", 3, "nothing"),
    ] {
        let output = run(url, line).await;
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        assert!(text.contains(said), "{line}: {text}");
    }
    let (_, shards) = json(url, "shard list -o json").await;
    let names: Vec<_> = shards
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["name"])
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(
        json(url, "token list -o json").await.1,
        serde_json::json!([])
    );
    let line = ["shard", "remove", "c", "--yes", "--reason", "it was a test"];
    let removed = program(url).args(line).args(["-o", "json"]).output().await;
    let removed = removed.unwrap();
    assert_eq!(removed.status.code(), Some(0));
    let removed: Value = serde_json::from_slice(&removed.stdout).unwrap();
    assert_eq!(removed, serde_json::json!({"kind": "shard", "name": "c"}));
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], "it was a test", "{trail}");
}

#[tokio::test]
async fn an_order_is_tried_and_a_watch_is_left() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let url = server.url.as_str();
    for (line, code) in [
        (format!("abort {id}"), 64),
        (format!("finish {id} --dry-run"), 7),
        (format!("approve {id} --dry-run"), 7),
        ("abort mnothing --dry-run".to_owned(), 3),
        (format!("abort {id} --dry-run"), 0),
        (format!("pause {id} --dry-run"), 0),
    ] {
        assert_eq!(run(url, &line).await.status.code(), Some(code), "{line}");
    }
    let (_, view) = json(url, &format!("show {id} -o json")).await;
    let state = view["state"].as_str().unwrap();
    assert!(["planned", "running"].contains(&state), "{state}");

    let mut command = program(url);
    command.args(["watch", &id.to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watching = command.spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().is_some());
    let pid = watching.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(kill.await.unwrap().success());
    let ended = watching.wait_with_output().await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    let again = format!("shardwright watch {id}");
    assert!(
        said.contains("continues; follow") && said.contains(&again),
        "{said}"
    );
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
async fn a_migration_is_driven_from_the_command_line() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let agent = server.agent("x", "x1");
    let folder = server
        .database
        .cluster
        .dir()
        .join(format!("cli-{}", server.url.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let (request, plan) = (folder.join("request.yaml"), folder.join("plan.json"));
    std::fs::write(&request, crate::fixture::request("")).unwrap();
    let line = format!(
        "plan {} -o {} --output json",
        request.display(),
        plan.display()
    );
    let ((code, printed), ()) = tokio::join!(json(url, &line), agent.survey("f1"));
    let written: Value = serde_json::from_slice(&std::fs::read(&plan).unwrap()).unwrap();
    assert_eq!((code, &printed), (0, &written));

    let line = format!("apply {}", plan.display());
    let (output, ()) = tokio::join!(run(url, &line), agent.survey("f1"));
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!(run(url, &line).await.status.code(), Some(4));

    assert_eq!(
        run(url, &format!("approve {id} --yes")).await.status.code(),
        Some(7)
    );
    let line = format!("wait {id} --for completed --timeout 50ms");
    assert_eq!(run(url, &line).await.status.code(), Some(6));
    let watching = format!("watch {id}");
    let drive = async {
        let last = agent.run_to("open_reverse").await;
        agent.done(&last).await;
    };
    let (watched, ()) = tokio::join!(run(url, &watching), drive);
    assert_eq!(watched.status.code(), Some(0));
    let lines = String::from_utf8(watched.stdout).unwrap();
    assert!(lines.contains("waiting"), "{lines}");

    for (line, code) in [
        (format!("wait {id} --for waiting -o json"), 0),
        (format!("wait {id} --for condition=ready -o json"), 0),
        (format!("show {id} -o json"), 0),
        (format!("report {id} -o json"), 0),
        ("list -o json".to_owned(), 0),
        (format!("pause {id} --reason lunch -o json"), 0),
        (format!("resume {id} -o json"), 0),
        (format!("finish {id} --yes -o json"), 7),
        (format!("rollback {id} --yes -o json"), 7),
        (format!("retry {id} -o json"), 7),
        (format!("abort {id} --yes -o json"), 0),
    ] {
        let (seen, value) = json(url, &line).await;
        assert_eq!(seen, code, "{line}");
        assert_eq!(value.is_null(), code != 0, "{line}: {value}");
    }
    agent.done(&agent.run_to("unwind").await).await;
    let watched = run(url, &format!("watch {id} --until completed")).await;
    assert_eq!(watched.status.code(), Some(8));
    let watched = run(url, &format!("watch {id} --until unwound -o json")).await;
    assert_eq!(watched.status.code(), Some(0));
}

#[tokio::test]
async fn an_operation_of_two_moves_is_driven_by_its_id() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let agent = server.agent("x", "x1");
    let (code, _) = json(url, "shard add c host=z -o json").await;
    assert_eq!(code, 0);
    let dir = server.database.cluster.dir();
    let file = |name: &str| {
        dir.join(format!("two-{}-{name}", url.len()))
            .display()
            .to_string()
    };
    let (request, plan) = (file("request.yaml"), file("plan.json"));
    std::fs::write(&request, crate::operations::two_moves("moves_at_once: 1")).unwrap();
    let line = format!("plan {request} -o {plan}");
    let output = agent.look_until(run(url, &line)).await;
    assert_eq!(output.status.code(), Some(0));
    let line = format!("apply {plan} --queue");
    let output = agent.look_until(run(url, &line)).await;
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();

    let text =
        |line: String| async move { String::from_utf8(run(url, &line).await.stdout).unwrap() };
    assert!(text("list".to_owned()).await.contains(&format!("{id}x2")));
    let watching = format!("watch {id}");
    let drive = async {
        let last = agent.run_to("open_reverse").await;
        agent.done(&last).await;
    };
    let (watched, ()) = tokio::join!(run(url, &watching), drive);
    assert_eq!(watched.status.code(), Some(0));
    let lines = String::from_utf8(watched.stdout).unwrap();
    for said in [
        "m2 planned (1 other move is running)",
        &format!("{id}x1 waiting · cutover "),
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    for (line, code) in [
        (format!("wait {id} --for waiting -o json"), 0),
        (format!("wait {id}x1 --for waiting -o json"), 0),
        (format!("wait {id} --for completed --timeout 50ms"), 6),
        (format!("show {id} -o json"), 0),
        (format!("show {id}x2 -o json"), 0),
        (format!("report {id} -o json"), 0),
        (format!("approve {id} --yes -o json"), 0),
        (format!("finish {id} --yes -o json"), 7),
        (format!("abort {id} --yes -o json"), 0),
    ] {
        let (seen, value) = json(url, &line).await;
        assert_eq!(seen, code, "{line}");
        assert_eq!(value.is_null(), code != 0, "{line}: {value}");
    }
    agent.done(&agent.run_to("unwind").await).await;
    let (code, report) = json(url, &format!("wait {id} --for unwound -o json")).await;
    assert_eq!(
        (code, &report["totals"]["ended"]),
        (0, &serde_json::json!(2))
    );
    assert!(text(format!("report {id}")).await.contains("Journal"));
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
async fn a_version_and_a_mend_made_by_hand_say_why() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let made = "map create gap --range ..5=a --range 10..=a -o json";
    assert_eq!(json(url, made).await.0, 0);
    let why = "die Lücke war ein Versehen";
    let line = "map assign gap --range 5..10=b --yes --reason";
    let mut command = program(url);
    let assigned = command.args(line.split(' ')).arg(why).output().await;
    let assigned = assigned.unwrap();
    let said = String::from_utf8(assigned.stderr).unwrap();
    assert_eq!(assigned.status.code(), Some(0), "{said}");
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], why, "{trail}");

    // What is mended has to be of the version in force; refused orders are in the trail too.
    let request = serde_json::json!({"map": "gap", "map_version": 99, "mends": []});
    let file = server.database.cluster.dir().join("mend-of-99.yaml");
    std::fs::write(&file, request.to_string()).unwrap();
    let mut command = program(url);
    command.args(["map", "mend", "--yes", "--reason", "CHG-1042"]);
    let mended = command.arg(&file).output().await.unwrap();
    assert_ne!(mended.status.code(), Some(64));
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], "CHG-1042", "{trail}");
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

#[tokio::test]
async fn a_watch_shows_everything_that_a_migration_waits_for() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let mut holding = holding(&agent.next().await);
    holding.progress.waiting_for = Some("a slot to be free".to_owned());
    holding.progress.lock = Some(Box::new(LockWait {
        shard: "a".into(),
        object: "orders".to_owned(),
        pid: 1,
        waited_ms: None,
        holder: 4711,
        user: "eve".to_owned(),
        application: "psql".to_owned(),
        state: "active".to_owned(),
        open_ms: None,
    }));
    agent.beat_with(holding).await;
    let mut command = program(&server.url);
    command
        .args(["watch", &id.to_string()])
        .stdout(Stdio::piped());
    let mut watching = command.spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    for what in [
        "waits for a slot to be free",
        "waits for a lock on orders of shard a, held by server process 4711",
    ] {
        assert!(line.contains(what), "{what}: {line}");
    }
    watching.kill().await.unwrap();
}
