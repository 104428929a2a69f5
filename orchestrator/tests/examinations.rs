//! The doctor from the command line to an agent and back: what it asks, what it prints, how it ends.

use crate::fixture::{Server, program, surveyed, told};
use crate::inspections::{seen_by, two_shards};
use plans::doctor::Finding;
use plans::doctor::{DoctorTask, Examined};
use plans::failure::{Failure, RetryClass};
use plans::inspection::{Inspected, Inspection};
use plans::plan::TargetState;
use plans::request::Mode;
use serde_json::{Value, json};
use std::process::Output;
use std::sync::Mutex;

const REQUEST: &str = "operation: move\nmap: m\nmoves:\n- {source: a, target: b}\n";

fn finding(shard: &str, name: &str) -> Finding {
    Finding::new(
        name,
        format!("shard {shard}, setting wal_level"),
        "it is replica",
        "alter system set wal_level = 'logical'",
    )
}

/// Answers with `names` on shard a; shard `broken` cannot be reached. A survey also finds one thing of both.
fn seen(inspection: &Inspection, names: &[&str], broken: &str) -> Result<Inspected, Failure> {
    let found = |shard: &str| {
        let found = if shard == "a" { names } else { &[] };
        found.iter().map(|name| finding("a", name))
    };
    match inspection {
        Inspection::Doctor(task) if task.shard.name.as_str() == broken => Err(Failure {
            code: "connect.refused".to_owned(),
            message: "nobody listens".to_owned(),
            hint: Some("start it".to_owned()),
            retry: RetryClass::Exponential,
        }),
        Inspection::Doctor(task) => Ok(Inspected::Doctor(Examined {
            shard: task.shard.name.clone(),
            identity: task.shard.identity.clone(),
            tables: 1,
            findings: found(task.shard.name.as_str()).collect(),
            took_ms: 1,
        })),
        Inspection::Survey(_) => {
            let Inspected::Survey(mut survey) = surveyed("f1", TargetState::New) else {
                unreachable!("a survey")
            };
            survey.findings.extend(found("a"));
            survey.findings.push(finding("b", "pair.clock"));
            Ok(Inspected::Survey(survey))
        }
        other => panic!("{other:?}"),
    }
}

async fn doctor(server: &Server, line: &[&str]) -> Output {
    let mut command = program(&server.url);
    command.arg("doctor").args(line).output().await.unwrap()
}

fn text(output: &Output) -> (Option<i32>, String) {
    let (out, errors) = (&output.stdout, &output.stderr);
    let text = [out.as_slice(), errors.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn refused_findings_are_printed_with_what_mends_them_and_end_with_four() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let see = |i: &Inspection| seen(i, &["server.wal_level", "server.keep_size"], "");
    let (code, said) = text(&seen_by(&agent, doctor(&server, &[]), see).await);
    assert_eq!(code, Some(4), "{said}");
    let lines = [
        "shard a, 1 tables: 1 refused, 1 warnings\n",
        "\nrefused  SW0102  wal_level is not logical\n  it is replica\n  - shard a: setting wal_level\n  fix: alter system",
        "\nwarning  SW0104  ",
        "shard b, 1 tables: nothing found\n",
        "1 refused, 1 warnings, 0 notes\n",
    ];
    for line in lines {
        assert!(said.contains(line), "{line} in {said}");
    }
    let see = |i: &Inspection| seen(i, &["server.keep_size"], "");
    let warned = seen_by(&agent, told(&server, &["doctor"]), see).await;
    assert_eq!(
        (&warned["refused"], &warned["warnings"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(warned["shards"][0]["findings"][0]["sw"], "SW0104");
}

#[tokio::test]
async fn a_shard_that_cannot_be_examined_is_named_beside_the_others() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let see = |i: &Inspection| seen(i, &["server.keep_size"], "b");
    let (code, said) = text(&seen_by(&agent, doctor(&server, &[]), see).await);
    assert_eq!(code, Some(9), "{said}");
    assert!(said.contains("SW0104"), "{said}");
    assert!(said.contains("not examined: shard b: "), "{said}");
    assert!(said.contains("nobody listens\n    start it"), "{said}");
}

#[tokio::test]
async fn a_shard_or_a_map_is_asked_for_alone_and_with_its_own_tables() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let asked: Mutex<Vec<DoctorTask>> = Mutex::default();
    let see = |i: &Inspection| {
        if let Inspection::Doctor(task) = i {
            asked.lock().unwrap().push(task.clone());
        }
        seen(i, &[], "")
    };
    let of = |tasks: Vec<DoctorTask>| -> Vec<(String, Vec<String>)> {
        let maps = |task: &DoctorTask| task.maps.iter().map(|m| m.map.to_string()).collect();
        tasks
            .iter()
            .map(|t| (t.shard.name.to_string(), maps(t)))
            .collect()
    };
    let named = |shard: &str, maps: &[&str]| {
        (
            shard.to_owned(),
            maps.iter().map(|&m| m.to_owned()).collect::<Vec<_>>(),
        )
    };
    for (line, wanted) in [
        (vec!["--shard", "b"], vec![named("b", &["m"])]),
        (vec!["--map", "tenants"], vec![named("a", &["tenants"])]),
        (
            vec![],
            vec![named("a", &["m", "tenants"]), named("b", &["m"])],
        ),
    ] {
        let output = seen_by(&agent, doctor(&server, &line), see).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let mut tasks = of(std::mem::take(&mut *asked.lock().unwrap()));
        tasks.sort();
        assert_eq!(tasks, wanted, "{line:?}");
    }
    for line in [["--shard", "none"], ["--map", "none"]] {
        let (code, said) = text(&doctor(&server, &line).await);
        assert_eq!(code, Some(3), "{said}");
    }
}

#[tokio::test]
async fn a_request_is_examined_with_what_its_two_shards_show_together() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let see = |i: &Inspection| {
        if let Inspection::Doctor(task) = i {
            assert_eq!(task.mode, Mode::Online);
        }
        seen(i, &["server.wal_level"], "")
    };
    let body = json!({ "request": REQUEST });
    let asked = seen_by(&agent, server.post("/api/v1/doctor", &body), see).await;
    let found: Value = asked.json().await.unwrap();
    assert_eq!(found["refused"], 1, "{found}");
    assert_eq!(found["shards"].as_array().unwrap().len(), 2);
    let of_move = &found["moves"][0];
    assert_eq!(
        (&of_move["source"], &of_move["target"]),
        (&json!("a"), &json!("b"))
    );
    let codes: Vec<&Value> = of_move["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["code"])
        .collect();
    assert_eq!(
        codes,
        ["pair.clock"],
        "what shard a shows alone is told once"
    );
    for (asked, status) in [
        (json!({"request": REQUEST, "shard": "a"}), 422),
        (json!({"request": "operation: dance"}), 400),
    ] {
        let answer = server.post("/api/v1/doctor", &asked).await;
        assert_eq!(answer.status(), status, "{asked}");
    }
}

#[tokio::test]
async fn a_code_is_explained_without_a_controller() {
    let line = ["doctor", "--explain", "SW0411"];
    let output = program("http://127.0.0.1:9")
        .args(line)
        .output()
        .await
        .unwrap();
    let (code, said) = text(&output);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("SW0411 table.primary_key\n"), "{said}");
    let line = ["doctor", "--explain", "SW9999"];
    let output = program("http://127.0.0.1:9")
        .args(line)
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
}
