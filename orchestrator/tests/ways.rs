//! The ways between the two owners: back, again, and what keeps a cutover from starting.

use crate::fixture::{Agent, Server, failure, flip, seal, stream_of, until};
use plans::failure::{Failure, RetryClass};
use plans::id::{MapVersion, MigrationId};
use plans::names::Direction;
use plans::table::{MovingTable, TableKey, TableName};
use plans::wire::{
    Action, CutoverAnswer, CutoverQuery, Dispatch, LongWriter, MigrationStatus, Outcome,
};
use serde_json::Value;

/// A migration that has flipped; its hold as it is dispatched.
async fn flipped(server: &Server, agent: &Agent, options: &str) -> (MigrationId, Dispatch) {
    let id = server.apply(agent, options).await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    (id, agent.take("hold").await)
}

/// As [`flipped`], and rolled back.
async fn rolled_back(server: &Server, agent: &Agent) -> MigrationId {
    let (id, hold) = flipped(server, agent, "cutover: automatic").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 3);
    agent.done(&rollback).await;
    id
}

async fn owner(server: &Server) -> String {
    let map = server.json("/api/v1/maps/tenants").await;
    map["mappings"][1]["shard"]
        .as_str()
        .unwrap_or("a")
        .to_owned()
}

#[tokio::test]
async fn after_a_roll_back_another_cutover_is_made_with_a_new_way_back() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = rolled_back(&server, &agent).await;
    let held = agent.take("hold_back").await;
    assert_eq!(held.stream, Some(Direction::Forward));
    assert_eq!(held.map_version.0, 3, "what the shards were told");
    assert_eq!(agent.beat(&held).await, Action::Continue);
    assert_eq!(server.command(&id, "rollback").await.status(), 409);
    assert_eq!(server.command(&id, "abort").await.status(), 409);

    assert_eq!(server.command(&id, "approve").await.status(), 200);
    assert_eq!(agent.beat(&held).await, Action::EndHold);
    agent.done(&held).await;
    let verify = agent.take("verify").await;
    assert_eq!(verify.stream, Some(Direction::Forward));
    assert!(verify.epoch > held.epoch);
    assert_eq!(verify.map_version.0, 3);
    assert!(!verify.outputs.contains_key(&"cutover".into()));
    agent.done(&verify).await;
    agent.done(&agent.take("open_reverse").await).await;
    let cutover = agent.take("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    assert_eq!(attempt.0, 3, "numbers go on");
    let sealed = agent.cutover(&cutover, seal(attempt)).await;
    assert_eq!(sealed, CutoverAnswer::Granted);
    let flip = agent.cutover(&cutover, flip(attempt)).await;
    assert_eq!(
        flip,
        CutoverAnswer::Flipped {
            map_version: MapVersion(4)
        }
    );
    agent.done(&cutover).await;
    assert_eq!(owner(&server).await, "b");

    // And back once more, to the end.
    let hold = agent.take("hold").await;
    assert_eq!(hold.stream, Some(Direction::Reverse));
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 5);
    agent.done(&rollback).await;
    let held = agent.take("hold_back").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&held).await;
    let drop_new = agent.take("drop_new").await;
    assert_eq!(drop_new.stream, None);
    agent.done(&drop_new).await;
    let view = until("ended", || async {
        let view = server.view(&id).await;
        view["finished_at"].is_string().then_some(view)
    })
    .await;
    assert_eq!(view["state"], "rolled_back");
    assert_eq!(owner(&server).await, "a");
}

#[tokio::test]
async fn a_second_way_forward_can_be_taken_back() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = rolled_back(&server, &agent).await;
    let held = agent.take("hold_back").await;
    assert_eq!(server.command(&id, "approve").await.status(), 200);
    agent.done(&held).await;
    let verify = agent.take("verify").await;
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    assert_eq!(agent.report(&verify, Outcome::Interrupted).await, 200);
    agent.done(&agent.take("unwind").await).await;
    let view = server.in_state(&id, "unwound").await;
    assert_eq!(view["ownership"], "aborted");
    assert_eq!(server.map_version().await, 3);
}

#[tokio::test]
async fn a_hold_back_of_some_seconds_ends_by_itself() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let (id, hold) = flipped(&server, &agent, "cutover: automatic, hold: {seconds: 2}").await;
    let view = server.view(&id).await;
    assert!(view["hold_ends_at"].is_string(), "{view}");
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    agent.flip(&rollback, Direction::Reverse).await;
    agent.done(&rollback).await;
    let held = agent.take("hold_back").await;
    until("its end", || async {
        let end = agent.beat(&held).await == Action::EndHold;
        end.then_some(())
    })
    .await;
    agent.done(&held).await;
    agent.done(&agent.take("drop_new").await).await;
}

#[tokio::test]
async fn a_roll_back_is_refused_while_its_stream_is_behind_or_lost() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let (id, hold) = flipped(&server, &agent, "cutover: automatic").await;
    let refused = async |words: &str| {
        let refused = server.command(&id, "rollback").await;
        assert_eq!(refused.status(), 409);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], "rollback.impossible");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{detail}");
    };
    agent
        .beat_with(stream_of(&hold, |stream| stream.lag_ms = 45_000))
        .await;
    refused("45 s behind").await;
    agent
        .beat_with(stream_of(&hold, |stream| {
            stream.retained.wal_status = "lost".to_owned();
        }))
        .await;
    refused("log").await;
    agent
        .beat_with(stream_of(&hold, |stream| {
            stream.failure = Some(Failure {
                code: "server.changed".to_owned(),
                ..failure(RetryClass::None)
            });
        }))
        .await;
    server.in_state(&id, "failed").await;
    refused("").await;
    assert_eq!(agent.report(&hold, Outcome::Interrupted).await, 200);
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&agent.take("drop_old").await).await;
    server.in_state(&id, "completed").await;
}

#[tokio::test]
async fn a_roll_back_that_the_agent_finds_impossible_leaves_the_hold() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let (id, hold) = flipped(&server, &agent, "cutover: automatic").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    let impossible = Failure {
        code: "rollback.impossible".to_owned(),
        message: "shard a was promoted from timeline 1 to 2".to_owned(),
        ..failure(RetryClass::None)
    };
    let outcome = Outcome::Failed {
        failure: impossible,
    };
    assert_eq!(agent.report(&rollback, outcome).await, 200);
    let hold = agent.take("hold").await;
    assert_eq!(hold.stream, Some(Direction::Reverse));
    let view = server.view(&id).await;
    assert_eq!(view["state"], "flipped");
    let waits = view["waiting_for"].as_str().unwrap();
    assert!(waits.contains("promoted from timeline 1 to 2"), "{waits}");
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&hold).await;
    agent.done(&agent.take("drop_old").await).await;
    server.in_state(&id, "completed").await;
}

fn writer(pid: i32) -> LongWriter {
    LongWriter {
        shard: "a".into(),
        pid,
        backend_start: "2026-01-01 00:00:00.000001".to_owned(),
        user: "app".to_owned(),
        application: "batch".to_owned(),
        since: "2026-01-01 00:00:01".to_owned(),
        query: "update orders set state = ?".to_owned(),
    }
}

#[tokio::test]
async fn a_writer_is_ended_only_with_leave_for_exactly_him() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let ask = async |pids: &[i32]| {
        let writers = pids.iter().map(|pid| writer(*pid)).collect();
        agent
            .cutover(&cutover, CutoverQuery::Cancel { writers })
            .await
    };
    assert_eq!(server.command(&id, "approve-cancel").await.status(), 409);
    assert_eq!(ask(&[7]).await, CutoverAnswer::AwaitingOperator);
    let view = server.in_state(&id, "waiting").await;
    let waits = view["waiting_for"].as_str().unwrap();
    for words in [
        "permission to end pid 7",
        "batch as app",
        "update orders set state = ?",
    ] {
        assert!(waits.contains(words), "{waits}");
    }
    assert_eq!(ask(&[7]).await, CutoverAnswer::AwaitingOperator);
    assert_eq!(server.command(&id, "approve").await.status(), 409);
    assert_eq!(server.command(&id, "approve-cancel").await.status(), 200);
    assert_eq!(server.view(&id).await["state"], "running");
    assert_eq!(ask(&[7]).await, CutoverAnswer::Granted);
    assert_eq!(
        ask(&[7, 8]).await,
        CutoverAnswer::AwaitingOperator,
        "somebody else"
    );
    server.in_state(&id, "waiting").await;
    assert_eq!(ask(&[]).await, CutoverAnswer::Released, "both are gone");
    let view = server.view(&id).await;
    assert_eq!(view["state"], "running");
    assert!(view["waiting_for"].is_null() && view["cancel"].is_null());
    let events = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    let approved = events.as_array().unwrap().iter();
    let approved: Vec<_> = approved
        .filter(|event| event["kind"] == "cancel.approved")
        .collect();
    assert_eq!(approved.len(), 1);
    assert_eq!(approved[0]["data"]["writers"][0]["pid"], 7);
    agent.flip(&cutover, Direction::Forward).await;
}

#[tokio::test]
async fn an_agent_that_is_gone_takes_its_question_along() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let writers = vec![writer(7)];
    agent
        .cutover(&cutover, CutoverQuery::Cancel { writers })
        .await;
    server.in_state(&id, "waiting").await;
    assert_eq!(agent.report(&cutover, Outcome::Interrupted).await, 200);
    let again = agent.take("cutover").await;
    assert_eq!(server.view(&id).await["state"], "running");
    agent.flip(&again, Direction::Forward).await;
}

#[tokio::test]
async fn a_change_of_both_sides_becomes_the_plans_and_one_of_one_side_is_looked_at_again() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let verify = agent.run_to("verify").await;
    agent.done(&verify).await;
    let reverse = agent.take("open_reverse").await;
    let reshaped = Outcome::Reshaped {
        tables: Vec::new(),
        fingerprint: "new".to_owned(),
        followed: Vec::new(),
        copy_again: false,
        retired: Vec::new(),
        changes: vec!["public.item: new column note text".to_owned()],
    };
    assert_eq!(agent.report(&reverse, reshaped).await, 200);
    let again = agent.take("open_reverse").await;
    assert_eq!(again.schema_fingerprint, "new");
    assert!(again.epoch > reverse.epoch, "streams begin anew");
    agent.done(&again).await;
    server.in_state(&id, "waiting").await;

    let kept = stream_of(&again, |stream| {
        stream.direction = Direction::Forward;
        stream.failure = Some(Failure {
            code: "schema.drift".to_owned(),
            ..failure(RetryClass::None)
        });
    });
    let kept = MigrationStatus { step: None, ..kept };
    agent.beat_with(kept).await;
    server.in_state(&id, "failed").await;
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    agent.done(&agent.take("verify").await).await;
    agent.done(&agent.take("open_reverse").await).await;
    server.in_state(&id, "waiting").await;
}

/// The agent has adopted a partition, and an approval was given before: the copy and what follows it run again.
#[tokio::test]
async fn a_new_table_of_the_move_is_copied_and_needs_no_second_approval() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let new = MovingTable::bare(TableName::parse("item_2027"), TableKey::Reference);
    let mut tables = vec![new.clone()];
    tables.extend(cutover.tables.clone());
    let reshaped = Outcome::Reshaped {
        tables,
        fingerprint: "new".to_owned(),
        changes: vec!["public.item: new partition public.item_2027".to_owned()],
        followed: Vec::new(),
        copy_again: false,
        retired: Vec::new(),
    };
    assert_eq!(agent.report(&cutover, reshaped).await, 200);
    let copy = agent.take("copy").await;
    assert_eq!(copy.schema_fingerprint, "new");
    assert!(copy.epoch > cutover.epoch, "streams begin anew");
    assert_eq!(copy.tables.len(), cutover.tables.len() + 1);
    assert_eq!(
        copy.tables.last(),
        Some(&new),
        "the others keep their places"
    );
    assert!(copy.outputs.keys().all(|step| step.as_str() != "verify"));
    agent.done(&copy).await;
    for step in ["catch_up", "build_indexes", "verify", "open_reverse"] {
        agent.done(&agent.take(step).await).await;
    }
    let again = agent.take("cutover").await;
    assert_eq!(again.tables, copy.tables);
    assert_eq!(server.view(&id).await["state"], "running");
}

/// Whoever waits for a shard to take writes is told so, by page, command line and alert alike.
#[tokio::test]
async fn a_flip_whose_shard_is_not_reported_to_be_open_is_said_at_once() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let view = server.view(&id).await;
    assert!(view["waits"].as_array().unwrap().is_empty(), "{view}");
    agent.flip(&cutover, Direction::Forward).await;
    let view = server.view(&id).await;
    assert_eq!(view["waits"][0]["kind"], "opening", "{view}");
    let what = view["waits"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("shard b to take writes"), "{what}");
    assert!(view["waits"][0]["since"].is_string(), "{view}");
    let metrics = server.get("/metrics").await.text().await.unwrap();
    let waits = metrics
        .lines()
        .filter(|line| line.contains("kind=\"opening\""));
    assert_eq!(waits.count(), 2, "{metrics}");
    agent.done(&cutover).await;
    agent.take("hold").await;
    let view = server.view(&id).await;
    assert_ne!(view["waits"][0]["kind"], "opening", "{view}");
}
