//! A migration from request to end, spoken over HTTP with the real store.

use crate::fixture::{Database, Server, failure, quick, step_name, until};
use plans::failure::RetryClass;
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{Action, CutoverAnswer, CutoverAsk, Holding, Outcome, StreamStatus};
use serde_json::Value;
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
async fn a_lost_agent_loses_its_step_to_another_under_a_new_epoch() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(1);
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
    let response = x.try_cutover(&lost, CutoverAsk::Begin { direction }).await;
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
    let taken = server.agent("x", "x2").take("preflight").await;
    assert!(taken.epoch > lost.epoch);
}

#[tokio::test]
async fn a_step_whose_dispatch_was_never_heard_is_given_again_at_once() {
    let settings = orchestrator::controller::Settings {
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
    assert_eq!(view["failure"]["hint"], "mend it");
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
    settings.lease = Duration::from_secs(1);
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
    let holding = Holding {
        migration: id.clone(),
        epoch: verify.epoch,
        step: Some("verify".into()),
        progress: Default::default(),
        stream: Some(StreamStatus {
            direction: Direction::Forward,
            mode: Default::default(),
            spooled_bytes: 0,
            retained: Default::default(),
            dual_write: Default::default(),
            lag_bytes: 0,
            lag_ms: 0,
            transactions: 0,
            changes: 0,
            failure: Some(failure(RetryClass::None)),
        }),
    };
    assert_eq!(agent.beat_with(holding.clone()).await, Action::Continue);
    assert_eq!(agent.beat_with(holding.clone()).await, Action::Pause);
    server.in_state(&id, "failed").await;
    assert_eq!(agent.report(&verify, Outcome::Interrupted).await, 200);
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    agent.beat_with(holding).await;
    assert!(agent.take("verify").await.epoch > verify.epoch);
}

#[tokio::test]
async fn a_flip_whose_answer_was_lost_is_told_again() {
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    let flipped = agent.cutover(&cutover, CutoverAsk::Flip { attempt }).await;
    server.restart().await;
    let agent = server.agent("x", "x1");
    let again = agent.cutover(&cutover, CutoverAsk::Flip { attempt }).await;
    assert_eq!(again, flipped);
    let direction = Direction::Forward;
    let begun = agent
        .cutover(&cutover, CutoverAsk::Begin { direction })
        .await;
    assert!(
        matches!(begun, CutoverAnswer::AlreadyFlipped { .. }),
        "{begun:?}"
    );
    let reason = "late".to_owned();
    let release = CutoverAsk::Release { attempt, reason };
    assert_eq!(agent.cutover(&cutover, release).await, flipped);
    assert_eq!(server.map_version().await, 2);
}

#[tokio::test]
async fn a_restart_between_seal_and_flip_ends_the_attempt() {
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    assert_eq!(agent.beat(&cutover).await, Action::Continue);
    server.restart().await;
    let agent = server.agent("x", "x1");
    // The old process's sessions are ended by its pool; until then the row is busy.
    until("refused", || async {
        let response = agent
            .try_cutover(&cutover, CutoverAsk::Flip { attempt })
            .await;
        let text = response.text().await.unwrap();
        text.contains("refused").then_some(())
    })
    .await;
    assert_eq!(
        agent.begin(&cutover, Direction::Forward).await,
        attempt.next()
    );
    assert_eq!(server.map_version().await, 1);
}

#[tokio::test]
async fn an_aborted_attempt_is_not_sealed() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    assert_eq!(server.command(&id, "abort").await.status(), 200);
    let answer = agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    assert!(
        matches!(answer, CutoverAnswer::Refused { .. }),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_released_attempt_is_followed_by_the_next_number() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    let reason = "over budget".to_owned();
    let release = CutoverAsk::Release { attempt, reason };
    assert_eq!(
        agent.cutover(&cutover, release).await,
        CutoverAnswer::Released
    );
    assert_eq!(server.view(&id).await["ownership"], "ready");
    assert_eq!(
        agent.begin(&cutover, Direction::Forward).await,
        attempt.next()
    );
}

#[tokio::test]
async fn a_released_attempt_to_go_back_is_not_taken_for_the_flip_before_it() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    assert_eq!(agent.beat(&hold).await, Action::EndHold);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    let attempt = agent.begin(&rollback, Direction::Reverse).await;
    agent.cutover(&rollback, CutoverAsk::Seal { attempt }).await;
    let release = || CutoverAsk::Release {
        attempt,
        reason: "the shard went away".to_owned(),
    };
    // The second one is that of an agent that was interrupted between the answer and the shard's register.
    for _ in 0..2 {
        let answer = agent.cutover(&rollback, release()).await;
        assert_eq!(answer, CutoverAnswer::Released);
    }
    let late = agent.cutover(&rollback, CutoverAsk::Flip { attempt }).await;
    assert!(matches!(late, CutoverAnswer::Refused { .. }), "{late:?}");
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 3);
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

#[tokio::test]
async fn a_store_that_crashes_between_seal_and_flip_ends_the_attempt() {
    let server = Server::over(Database::alone().await, quick()).await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    let cluster = server.database.cluster.clone();
    let crash = move || cluster.kill().unwrap();
    tokio::task::spawn_blocking(crash).await.unwrap();
    let lost = agent.try_cutover(&cutover, CutoverAsk::Flip { attempt });
    assert_eq!(lost.await.status(), 503);
    let cluster = server.database.cluster.clone();
    let start = move || cluster.start().unwrap();
    tokio::task::spawn_blocking(start).await.unwrap();
    let ask = || agent.ask(&cutover, CutoverAsk::Flip { attempt });
    let answer = until("answered", ask).await;
    assert!(
        matches!(answer, CutoverAnswer::Refused { .. }),
        "{answer:?}"
    );
    // The lease may have run out in the meantime; then the step has a new epoch.
    let begun = until("begun", || async {
        let direction = Direction::Forward;
        match agent.ask(&cutover, CutoverAsk::Begin { direction }).await {
            Some(answer) => Some((cutover.clone(), answer)),
            None => {
                let next = agent.try_claim().await?;
                let answer = agent.ask(&next, CutoverAsk::Begin { direction }).await?;
                Some((next, answer))
            }
        }
    });
    let (dispatch, answer) = begun.await;
    let CutoverAnswer::Begun { attempt, .. } = answer else {
        panic!("{answer:?}");
    };
    agent.cutover(&dispatch, CutoverAsk::Seal { attempt }).await;
    agent.cutover(&dispatch, CutoverAsk::Flip { attempt }).await;
    assert_eq!(server.map_version().await, 2);
}

#[tokio::test]
async fn a_sealed_row_does_not_stall_heartbeats_or_reads() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    let limit = Duration::from_millis(900);
    let beat = tokio::time::timeout(limit, agent.beat(&cutover)).await;
    assert_eq!(beat.unwrap(), Action::Continue);
    assert_eq!(server.view(&id).await["ownership"], "fencing");
    assert_eq!(server.command(&id, "abort").await.status(), 503);
    let flipped = agent.cutover(&cutover, CutoverAsk::Flip { attempt }).await;
    assert!(
        matches!(flipped, CutoverAnswer::Flipped { .. }),
        "{flipped:?}"
    );
    assert_eq!(server.command(&id, "abort").await.status(), 409);
}

#[tokio::test]
async fn a_seal_that_is_too_old_is_dropped_and_never_flipped() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(1);
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, CutoverAsk::Seal { attempt }).await;
    until("expired", || async {
        server.view(&id).await["owner"].is_null().then_some(())
    })
    .await;
    let response = agent
        .try_cutover(&cutover, CutoverAsk::Flip { attempt })
        .await;
    assert!(response.text().await.unwrap().contains("refused"));
    assert_eq!(server.map_version().await, 1);
}
