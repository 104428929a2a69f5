//! Migrations and operations are driven from the command line.

use super::{json, run};
use crate::fixture::{Server, holding, program};
use plans::wire::LockWait;
use serde_json::Value;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

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
