//! Cutover attempts as the real store keeps them: begun, sealed, flipped, released, lost in between.

use crate::fixture::{Database, Server, failure, flip, quick, seal, until};
use plans::failure::RetryClass;
use plans::id::MapVersion;
use plans::names::Direction;
use plans::wire::{Action, CutoverAnswer, CutoverQuery, Outcome};
use std::time::Duration;

#[tokio::test]
async fn a_flip_whose_answer_was_lost_is_told_again() {
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, seal(attempt)).await;
    let flipped = agent.cutover(&cutover, flip(attempt)).await;
    server.restart().await;
    let agent = server.agent("x", "x1");
    let again = agent.cutover(&cutover, flip(attempt)).await;
    assert_eq!(again, flipped);
    let direction = Direction::Forward;
    let begun = agent
        .cutover(&cutover, CutoverQuery::Begin { direction })
        .await;
    assert!(
        matches!(begun, CutoverAnswer::AlreadyFlipped { .. }),
        "{begun:?}"
    );
    let reason = "late".to_owned();
    let release = CutoverQuery::Release {
        direction: Direction::Forward,
        attempt,
        reason,
    };
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
    agent.cutover(&cutover, seal(attempt)).await;
    assert_eq!(agent.beat(&cutover).await, Action::Continue);
    server.restart().await;
    let agent = server.agent("x", "x1");
    // The old process's sessions are ended by its pool; until then the row is busy.
    until("refused", || async {
        let response = agent.try_cutover(&cutover, flip(attempt)).await;
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
    let answer = agent.cutover(&cutover, seal(attempt)).await;
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
    agent.cutover(&cutover, seal(attempt)).await;
    let reason = "over budget".to_owned();
    let release = CutoverQuery::Release {
        direction: Direction::Forward,
        attempt,
        reason,
    };
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
    agent
        .cutover(
            &rollback,
            CutoverQuery::Seal {
                direction: Direction::Reverse,
                attempt,
                compared: None,
            },
        )
        .await;
    let release = || CutoverQuery::Release {
        direction: Direction::Reverse,
        attempt,
        reason: "the shard went away".to_owned(),
    };
    // The second one is that of an agent that was interrupted between the answer and the shard's register.
    for _ in 0..2 {
        let answer = agent.cutover(&rollback, release()).await;
        assert_eq!(answer, CutoverAnswer::Released);
    }
    let late = agent
        .cutover(
            &rollback,
            CutoverQuery::Flip {
                direction: Direction::Reverse,
                attempt,
                applied: None,
            },
        )
        .await;
    assert!(matches!(late, CutoverAnswer::Refused { .. }), "{late:?}");
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 3);
}

/// The keys are the target's, and closed there until the cutover has ended: nothing may open the source meanwhile.
#[tokio::test]
async fn a_roll_back_that_is_ordered_before_the_opening_does_not_undo_the_flip() {
    let mut server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let direction = Direction::Forward;
    let attempt = agent.begin(&cutover, direction).await;
    agent
        .cutover(
            &cutover,
            CutoverQuery::Seal {
                direction,
                attempt,
                compared: None,
            },
        )
        .await;
    let flipped = agent.cutover(&cutover, flip(attempt)).await;
    let again = CutoverAnswer::Flipped {
        map_version: MapVersion(2),
    };
    assert_eq!(flipped, again);
    server.restart().await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);

    // The agent that did not hear of the flip asks again, another one finds the source sealed.
    let agent = server.agent("x", "x1");
    assert_eq!(agent.cutover(&cutover, flip(attempt)).await, again);
    let release = CutoverQuery::Release {
        direction,
        attempt,
        reason: "an earlier attempt was interrupted".to_owned(),
    };
    assert_eq!(agent.cutover(&cutover, release).await, again);
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 3);
}

/// It may have sealed the target, which is the owner from now on.
#[tokio::test]
async fn a_roll_back_that_is_withdrawn_is_never_taken_for_the_flip() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server
        .apply(&agent, "cutover: automatic, max_attempts: 1")
        .await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    let direction = Direction::Reverse;
    let attempt = agent.begin(&rollback, direction).await;
    agent
        .cutover(
            &rollback,
            CutoverQuery::Seal {
                direction,
                attempt,
                compared: None,
            },
        )
        .await;
    let release = || CutoverQuery::Release {
        direction,
        attempt,
        reason: "the shard went away".to_owned(),
    };
    let released = agent.cutover(&rollback, release()).await;
    assert_eq!(released, CutoverAnswer::Released);
    let failure = failure(RetryClass::Exponential);
    agent.report(&rollback, Outcome::Failed { failure }).await;
    server.in_state(&id, "failed").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    let drop_old = agent.take("drop_old").await;
    assert_eq!(server.view(&id).await["ownership"], "completed");
    // Its new owner finds the target sealed.
    let released = agent.cutover(&drop_old, release()).await;
    assert_eq!(released, CutoverAnswer::Released);
    let forward = CutoverQuery::Release {
        direction: Direction::Forward,
        attempt,
        reason: "the source is not to be opened".to_owned(),
    };
    assert!(matches!(
        agent.cutover(&drop_old, forward).await,
        CutoverAnswer::Flipped { .. }
    ));
}

#[tokio::test]
async fn a_store_that_crashes_between_seal_and_flip_ends_the_attempt() {
    let server = Server::over(Database::alone().await, quick()).await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, seal(attempt)).await;
    let cluster = server.database.cluster.clone();
    let crash = move || cluster.kill().unwrap();
    tokio::task::spawn_blocking(crash).await.unwrap();
    let lost = agent.try_cutover(&cutover, flip(attempt));
    assert_eq!(lost.await.status(), 503);
    let cluster = server.database.cluster.clone();
    let start = move || cluster.start().unwrap();
    tokio::task::spawn_blocking(start).await.unwrap();
    let ask = || agent.ask(&cutover, flip(attempt));
    let answer = until("answered", ask).await;
    assert!(
        matches!(answer, CutoverAnswer::Refused { .. }),
        "{answer:?}"
    );
    // The lease may have run out in the meantime; then the step has a new epoch.
    let begun = until("begun", || async {
        let direction = Direction::Forward;
        match agent.ask(&cutover, CutoverQuery::Begin { direction }).await {
            Some(answer) => Some((cutover.clone(), answer)),
            None => {
                let next = agent.try_claim().await?;
                let answer = agent.ask(&next, CutoverQuery::Begin { direction }).await?;
                Some((next, answer))
            }
        }
    });
    let (dispatch, answer) = begun.await;
    let CutoverAnswer::Begun { attempt, .. } = answer else {
        panic!("{answer:?}");
    };
    agent.cutover(&dispatch, seal(attempt)).await;
    agent.cutover(&dispatch, flip(attempt)).await;
    assert_eq!(server.map_version().await, 2);
}

#[tokio::test]
async fn a_sealed_row_does_not_stall_heartbeats_or_reads() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(600);
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, seal(attempt)).await;
    let limit = Duration::from_secs(60);
    let beat = tokio::time::timeout(limit, agent.beat(&cutover)).await;
    assert_eq!(beat.unwrap(), Action::Continue);
    assert_eq!(server.view(&id).await["ownership"], "fencing");
    assert_eq!(server.command(&id, "abort").await.status(), 503);
    let flipped = agent.cutover(&cutover, flip(attempt)).await;
    assert!(
        matches!(flipped, CutoverAnswer::Flipped { .. }),
        "{flipped:?}"
    );
    assert_eq!(server.command(&id, "abort").await.status(), 409);
}

#[tokio::test]
async fn a_seal_that_is_too_old_is_dropped_and_never_flipped() {
    let mut settings = quick();
    settings.lease = Duration::from_secs(3);
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let attempt = agent.begin(&cutover, Direction::Forward).await;
    agent.cutover(&cutover, seal(attempt)).await;
    until("expired", || async {
        server.view(&id).await["owner"].is_null().then_some(())
    })
    .await;
    let response = agent.try_cutover(&cutover, flip(attempt)).await;
    assert_eq!(response.status(), 409);
    assert!(response.text().await.unwrap().contains("epoch.stale"));
    assert_eq!(server.map_version().await, 1);
}
