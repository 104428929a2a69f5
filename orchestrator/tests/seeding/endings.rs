//! How seeded migrations end: completion, rollback, abort, and a slot that is lost.

use super::{Stage, promoted, standby, steps};
use plans::failure::{Failure, RetryClass};
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::Outcome;
use serde_json::{Value, json};

#[tokio::test]
async fn a_migration_completes_when_the_surplus_rows_are_deleted() {
    let stage = Stage::new().await;
    let (server, agent) = (&stage.server, &stage.agent);
    let id = stage.submit().await;
    stage.promote(&agent.run_to("promote").await).await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&hold).await;
    agent.done(&agent.take("drop_old").await).await;
    let surplus = agent.take("drop_surplus").await;
    let view = server.view(&id).await;
    assert_eq!(
        (&view["state"], &view["ownership"]),
        (&json!("flipped"), &json!("completed"))
    );
    let output = json!({"rows": 4321, "bytes_bloat": 8192, "reclaim": ["vacuum (full, analyze) public.orders"]});
    agent.report(&surplus, Outcome::Done { output }).await;
    server.in_state(&id, "completed").await;
    assert_eq!(stage.registered("b").await, promoted());
    let report = async |format: &str| {
        let path = format!("/api/v1/migrations/{id}/report?format={format}");
        server.get(&path).await.text().await.unwrap()
    };
    let (md, html) = (report("md").await, report("html").await);
    for text in [&md, &html] {
        for part in [
            "0/5000",
            "timeline 2",
            "4\u{202f}321",
            "pg_drop_replication_slot",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(md.contains("vacuum (full, analyze) public.orders"), "{md}");
}

#[tokio::test]
async fn a_rollback_skips_both_deletions_and_another_cutover_restores_them() {
    let stage = Stage::new().await;
    let (server, agent) = (&stage.server, &stage.agent);
    let id = stage.submit().await;
    stage.promote(&agent.run_to("promote").await).await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    agent.flip(&rollback, Direction::Reverse).await;
    agent.done(&rollback).await;
    let held = agent.take("hold_back").await;
    let state = |steps: &[(StepKind, String)], kind| {
        let step = steps.iter().find(|(found, _)| *found == kind);
        step.unwrap().1.clone()
    };
    let listed = steps(server, &id).await;
    for kind in [StepKind::DropOld, StepKind::DropSurplus] {
        assert_eq!(state(&listed, kind), "skipped");
    }
    assert_eq!(server.command(&id, "approve").await.status(), 200);
    agent.done(&held).await;
    let verify = agent.take("verify").await;
    assert_eq!(verify.target.identity, Some(promoted()));
    let listed = steps(server, &id).await;
    for kind in [StepKind::DropOld, StepKind::DropSurplus] {
        assert_eq!(state(&listed, kind), "pending");
    }
    assert_eq!(state(&listed, StepKind::Promote), "done");
}

#[tokio::test]
async fn after_an_abort_the_standby_that_was_created_again_can_be_registered() {
    let stage = Stage::new().await;
    let (server, agent) = (&stage.server, &stage.agent);
    let id = stage.submit().await;
    stage.promote(&agent.run_to("promote").await).await;
    let catch_up = agent.take("catch_up").await;
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    agent.report(&catch_up, Outcome::Interrupted).await;
    let unwind = agent.take("unwind").await;
    assert_eq!(unwind.target.identity, Some(promoted()));
    let note = "shard b was promoted and is no standby of shard a any more";
    let output = json!({"notes": [note]});
    agent.report(&unwind, Outcome::Done { output }).await;
    let view = server.in_state(&id, "unwound").await;
    let notes = view["notes"].as_array().unwrap();
    let [aborted, slot] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert_eq!(aborted, note);
    let command = "`select pg_drop_replication_slot('shard_b')`";
    assert!(slot.as_str().unwrap().contains(command), "{slot}");
    // The agent has removed the id.
    let bare = DatabaseIdentity {
        id: None,
        ..promoted()
    };
    stage.set("b", bare);
    assert_eq!(stage.registered("b").await, promoted());
    assert_eq!(stage.set_replaced("b").await.status(), 200);
    // Created again by pg_basebackup.
    stage.set("b", standby());
    let report = stage.reconcile(&json!({})).await;
    let [finding] = report["findings"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!(
        (&finding["shard"], &finding["kind"]),
        (&json!("b"), &json!("other_server"))
    );
    assert!(!stage.registered("b").await.standby);
    let report = stage
        .reconcile(&json!({"accept": ["b"], "reason": "r"}))
        .await;
    assert_eq!(report["findings"], json!([]), "{report}");
    assert_eq!(stage.registered("b").await, standby());
    stage.set("b", promoted());
    assert_eq!(stage.set_replaced("b").await.status(), 200);
    stage.set("b", standby());
    assert_eq!(stage.set_replaced("b").await.status(), 200);
    assert_eq!(stage.registered("b").await, standby());
    stage.submit().await;
}

#[tokio::test]
async fn after_an_abort_the_shard_can_be_removed() {
    let stage = Stage::new().await;
    let (server, agent) = (&stage.server, &stage.agent);
    let id = stage.submit().await;
    stage.promote(&agent.run_to("promote").await).await;
    let catch_up = agent.take("catch_up").await;
    let url = format!("{}/api/v1/shards/b", server.url);
    let remove = || server.http.delete(&url).send();
    assert_eq!(remove().await.unwrap().status(), 409);
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    agent.report(&catch_up, Outcome::Interrupted).await;
    agent.done(&agent.take("unwind").await).await;
    server.in_state(&id, "unwound").await;
    assert!(remove().await.unwrap().status().is_success());
}

fn lost_slot() -> Failure {
    Failure {
        code: "slot.lost".to_owned(),
        message: "the slot was invalidated".to_owned(),
        hint: Some("the copy begins again".to_owned()),
        retry: RetryClass::Exponential,
    }
}

/// Reports the outcome for the step, and returns the failure of the migration.
async fn failed_by(step: &str, outcome: Outcome) -> Value {
    let stage = Stage::new().await;
    let id = stage.submit().await;
    let mut dispatch = stage.agent.next().await;
    while crate::fixture::step_name(&dispatch) != step {
        match dispatch.step {
            Some((_, StepKind::Promote)) => stage.promote(&dispatch).await,
            Some(_) => stage.agent.done(&dispatch).await,
            None => {}
        }
        dispatch = stage.agent.next().await;
    }
    assert_eq!(stage.agent.report(&dispatch, outcome).await, 200);
    let view = stage.server.in_state(&id, "failed").await;
    assert_eq!(view["failure"]["message"], "the slot was invalidated");
    view["failure"].clone()
}

#[tokio::test]
async fn without_a_step_that_copies_rows_a_lost_slot_fails_the_migration() {
    let again = "`abort` the migration, create the standby again with pg_rewind or pg_basebackup, and plan again";
    let rewind = || Outcome::Rewind {
        to: StepKind::CreateTarget,
        failure: lost_slot(),
    };
    let failed = || Outcome::Failed {
        failure: lost_slot(),
    };
    for (step, outcome, hint) in [
        ("catch_up", rewind(), again),
        ("verify", failed(), again),
        (
            "open_capture",
            rewind(),
            "`abort` the migration, and plan again",
        ),
    ] {
        assert_eq!(failed_by(step, outcome).await["hint"], hint, "{step}");
    }
}
