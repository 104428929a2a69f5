//! A migration from request to end, spoken over HTTP with the real store.

use crate::fixture::{Server, failure, quick, step_name, stream_of, until};
use plans::failure::{Failure, RetryClass, StepCode};
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{Action, CutoverQuery, Outcome};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_split_runs_from_request_to_completed() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    assert_eq!(copy.stream, None);
    assert_eq!(copy.outputs.len(), 3);
    assert_eq!(agent.beat(&copy).await, Action::Continue);
    let view = server.view(&id).await;
    assert_eq!(view["steps"][3]["progress"]["message"], "working");
    agent.done(&copy).await;
    let catch_up = agent.take("catch_up").await;
    assert_eq!(catch_up.stream, Some(Direction::Forward));
    assert_eq!(catch_up.epoch, copy.epoch);
    agent.done(&catch_up).await;
    for step in ["build_indexes", "verify", "open_reverse"] {
        agent.done(&agent.take(step).await).await;
    }
    let view = server.in_state(&id, "waiting").await;
    assert_eq!(view["waiting_for"], "approval of the cutover");
    assert_eq!(server.command(&id, "approve").await.status(), 200);
    let cutover = agent.take("cutover").await;
    assert_eq!(agent.flip(&cutover, Direction::Forward).await, 2);
    assert_eq!(server.map_version().await, 2);
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(hold.stream, Some(Direction::Reverse));
    assert_eq!(agent.beat(&hold).await, Action::Continue);
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    assert_eq!(agent.beat(&hold).await, Action::EndHold);
    agent.done(&hold).await;
    let drop_old = agent.take("drop_old").await;
    assert_eq!(drop_old.stream, None);
    assert_eq!(server.view(&id).await["ownership"], "completed");
    agent.done(&drop_old).await;
    let view = server.in_state(&id, "completed").await;
    assert!(view["finished_at"].is_string());
    assert_eq!(agent.beat(&drop_old).await, Action::Release);
}

#[tokio::test]
async fn a_roll_back_makes_the_map_name_the_source_again() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "abort").await.status(), 409);
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    assert_eq!(agent.beat(&hold).await, Action::EndHold);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    assert_eq!(rollback.stream, Some(Direction::Reverse));
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 3);
    agent.done(&rollback).await;
    let held = agent.take("hold_back").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&held).await;
    agent.done(&agent.take("drop_new").await).await;
    let view = until("ended", || async {
        let view = server.view(&id).await;
        view["finished_at"].is_string().then_some(view)
    })
    .await;
    assert_eq!(view["state"], "rolled_back");
    assert_eq!(view["map_version"]["back"], 3);
    let map: Value = server
        .get("/api/v1/maps/tenants")
        .await
        .json()
        .await
        .unwrap();
    let owners: Vec<&str> = map["mappings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["shard"].as_str().unwrap())
        .collect();
    assert_eq!(owners, ["a"]);
}

#[tokio::test]
async fn an_abort_unwinds_under_a_new_epoch_and_is_retried_for_ever() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    assert_eq!(agent.beat(&copy).await, Action::Pause);
    assert_eq!(agent.report(&copy, Outcome::Interrupted).await, 200);
    for _ in 0..3 {
        let unwind = agent.take("unwind").await;
        assert!(unwind.epoch > copy.epoch);
        let failure = failure(RetryClass::None);
        assert_eq!(
            agent.report(&unwind, Outcome::Failed { failure }).await,
            200
        );
    }
    agent.done(&agent.take("unwind").await).await;
    let view = server.in_state(&id, "unwound").await;
    assert_eq!(view["ownership"], "aborted");
    assert_eq!(view["steps"][4]["state"], "skipped");
    assert_eq!(server.map_version().await, 1);
}

#[tokio::test]
async fn what_an_abort_leaves_over_is_listed_wherever_the_migration_is_shown() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let preflight = agent.take("preflight").await;
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    assert_eq!(agent.report(&preflight, Outcome::Interrupted).await, 200);
    let left = json!({ "shard": "b", "object": "publication p", "why": "must be owner" });
    let output = json!({ "leftovers": [left] });
    let unwind = agent.take("unwind").await;
    assert_eq!(agent.report(&unwind, Outcome::Done { output }).await, 200);

    let view = server.in_state(&id, "unwound").await;
    assert_eq!(view["leftovers"], json!([left]));
    let page = server.get(&format!("/migrations/{id}")).await;
    let page = page.text().await.unwrap();
    assert!(page.contains("publication p: must be owner"), "{page}");
    for format in ["html", "md"] {
        let path = format!("/api/v1/operations/{id}/report?format={format}");
        let report = server.get(&path).await.text().await.unwrap();
        assert!(report.contains("publication p: must be owner"), "{report}");
    }
    let ended = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    assert!(ended.to_string().contains("must be owner"), "{ended}");
}

#[tokio::test]
async fn a_lost_agent_loses_its_step_to_another_under_a_new_epoch() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(3);
    let server = Server::with(settings).await;
    let (x, y) = (server.agent("x", "x1"), server.agent("y", "y1"));
    let id = server.apply(&x, "").await;
    let lost = x.take("preflight").await;
    let taken = y.take("preflight").await;
    assert_eq!(taken.migration, id);
    assert!(taken.epoch > lost.epoch);
    assert_eq!(taken.attempt, 1);
    let output = Value::Null;
    assert_eq!(x.report(&lost, Outcome::Done { output }).await, 409);
    assert_eq!(x.beat(&lost).await, Action::Release);
    let direction = Direction::Forward;
    let response = x
        .try_cutover(&lost, CutoverQuery::Begin { direction })
        .await;
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "epoch.stale");
    y.done(&taken).await;
}

#[tokio::test]
async fn a_new_process_of_an_agent_takes_over_at_once() {
    let server = Server::start().await;
    let old = server.agent("x", "x1");
    server.apply(&old, "").await;
    let lost = old.take("preflight").await;
    let new = server.agent("x", "x2").after(&old);
    let taken = new.take("preflight").await;
    assert!(taken.epoch > lost.epoch);
}

#[tokio::test]
async fn a_step_whose_dispatch_was_never_heard_is_given_again_at_once() {
    let settings = orchestrator::controller::ControllerSettings {
        lease: Duration::from_secs(600),
        ..quick()
    };
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "").await;
    let heard = agent.run_to("copy").await;
    agent.forget();
    let again = agent.take("copy").await;
    assert_eq!((again.epoch, again.attempt), (heard.epoch, heard.attempt));
    agent.done(&again).await;
    agent.take("catch_up").await;
}

#[tokio::test]
async fn a_restarted_controller_honours_the_lease() {
    let mut server = Server::start().await;
    let id = server.apply(&server.agent("x", "x1"), "").await;
    let dispatch = server.agent("x", "x1").take("preflight").await;
    server.restart().await;
    assert!(server.agent("y", "y1").claim().await.is_none());
    let agent = server.agent("x", "x1");
    agent.done(&dispatch).await;
    assert_eq!(
        agent
            .report(
                &dispatch,
                Outcome::Done {
                    output: Value::Null
                }
            )
            .await,
        200
    );
    assert_eq!(agent.take("create_target").await.epoch, dispatch.epoch);
    let events: Value = server
        .get(&format!("/api/v1/migrations/{id}/events"))
        .await
        .json()
        .await
        .unwrap();
    let kinds = events.as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds.map(|e| e["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"controller.started"), "{kinds:?}");
}

#[tokio::test]
async fn failures_are_retried_until_the_attempts_are_spent_and_resume_goes_on() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "max_attempts: 2").await;
    let first = agent.take("preflight").await;
    for attempt in 1..=2 {
        let dispatch = match attempt {
            1 => first.clone(),
            _ => agent.take("preflight").await,
        };
        assert_eq!(dispatch.attempt, attempt);
        let failure = failure(RetryClass::Exponential);
        assert_eq!(
            agent.report(&dispatch, Outcome::Failed { failure }).await,
            200
        );
    }
    let view = server.in_state(&id, "failed").await;
    assert_eq!(
        view["failure"]["hint"],
        "mend it, then `resume`; `abort` undoes the migration"
    );
    assert_eq!(view["steps"][0]["state"], "failed");
    assert_eq!(server.command(&id, "pause").await.status(), 409);
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    let again = agent.take("preflight").await;
    assert_eq!(again.attempt, 1);
    assert!(again.epoch > first.epoch);
}

#[tokio::test]
async fn a_rewind_runs_the_steps_in_between_again() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    let outcome = Outcome::Rewind {
        to: StepKind::OpenCapture,
        failure: failure(RetryClass::Exponential),
    };
    assert_eq!(agent.report(&copy, outcome).await, 200);
    let open = agent.take("open_capture").await;
    assert_eq!(open.attempt, 2);
    assert!(!open.outputs.contains_key(&"open_capture".into()));
    agent.done(&open).await;
    assert_eq!(agent.take("copy").await.attempt, 1);
}

#[tokio::test]
async fn a_pause_keeps_owner_and_epoch() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    assert_eq!(server.command(&id, "pause").await.status(), 200);
    assert_eq!(agent.beat(&copy).await, Action::Pause);
    assert_eq!(agent.report(&copy, Outcome::Interrupted).await, 200);
    assert!(agent.claim().await.is_none());
    assert_eq!(server.view(&id).await["owner"]["live"], true);
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    let again = agent.take("copy").await;
    assert_eq!((again.epoch, again.attempt), (copy.epoch, 1));
}

#[tokio::test]
async fn a_migration_that_waits_is_given_to_an_agent_that_keeps_it_going() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(3);
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let last = agent.run_to("open_reverse").await;
    agent.done(&last).await;
    server.in_state(&id, "waiting").await;
    let kept = server.agent("y", "y1").next().await;
    assert_eq!(step_name(&kept), "");
    assert_eq!(kept.stream, Some(Direction::Forward));
    assert!(kept.epoch > last.epoch);
}

#[tokio::test]
async fn a_stream_that_stopped_for_good_fails_the_migration_once() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let verify = agent.run_to("verify").await;
    let holding = stream_of(&verify, |stream| {
        stream.direction = Direction::Forward;
        stream.failure = Some(failure(RetryClass::None));
    });
    assert_eq!(agent.beat_with(holding.clone()).await, Action::Continue);
    assert_eq!(agent.beat_with(holding.clone()).await, Action::Pause);
    server.in_state(&id, "failed").await;
    assert_eq!(agent.report(&verify, Outcome::Interrupted).await, 200);
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    agent.beat_with(holding).await;
    assert!(agent.take("verify").await.epoch > verify.epoch);
}

#[tokio::test]
async fn the_steps_decide_about_a_stream_with_an_unknown_table() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let verify = agent.run_to("verify").await;
    let unknown_table = Failure {
        code: StepCode::CaptureTable.into(),
        ..failure(RetryClass::None)
    };
    let holding = stream_of(&verify, |stream| {
        stream.direction = Direction::Forward;
        stream.failure = Some(unknown_table.clone());
    });
    // The answer to a heartbeat shows what the one before has changed.
    for _ in 0..2 {
        assert_eq!(agent.beat_with(holding.clone()).await, Action::Continue);
    }
    agent.done(&verify).await;
    let open_reverse = agent.take("open_reverse").await;
    agent.done(&open_reverse).await;
    server.in_state(&id, "waiting").await;
    // No step runs that could adopt or retire a partition: the verification does it, and reports the failure otherwise.
    agent.beat_with(holding).await;
    let again = agent.take("verify").await;
    assert!(again.epoch > verify.epoch);
    let failure = unknown_table;
    assert_eq!(agent.report(&again, Outcome::Failed { failure }).await, 200);
    server.in_state(&id, "failed").await;
}

#[tokio::test]
async fn a_hold_of_some_seconds_ends_by_itself() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    server
        .apply(&agent, "cutover: automatic, hold: {seconds: 0}")
        .await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    until("over", || async {
        (agent.beat(&hold).await == Action::EndHold).then_some(())
    })
    .await;
    agent.done(&hold).await;
    agent.take("drop_old").await;
}
