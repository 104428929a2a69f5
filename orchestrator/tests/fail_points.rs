//! A controller that dies at its fail points.

use crate::fixture::{Process, Server, flip, seal, until};
use plans::id::AttemptNo;
use plans::names::Direction;
use plans::wire::{CutoverAnswer, CutoverQuery, Dispatch, Outcome};
use serde_json::Value;

/// A migration at its cutover, and the dispatch.
async fn at_cutover(server: &mut Server) -> Dispatch {
    let agent = server.agent("x", "x1");
    server.apply(&agent, "cutover: automatic").await;
    let dispatch = agent.run_to("cutover").await;
    server.stop();
    dispatch
}

#[tokio::test]
async fn a_controller_that_dies_in_a_cutover_flips_all_or_nothing() {
    for (point, flipped) in [
        ("begun", false),
        ("before_flip", false),
        ("after_flip", true),
    ] {
        let mut server = Server::start().await;
        let cutover = at_cutover(&mut server).await;
        let armed = format!("controller.cutover.{point}=abort");
        let mut process = Process::start(&server.database, &armed).await;
        let agent = process.agent("x1");
        let mut asks = vec![CutoverQuery::Begin {
            direction: Direction::Forward,
        }];
        let attempt = AttemptNo(1);
        asks.push(seal(attempt));
        asks.push(flip(attempt));
        let mut died = false;
        for ask in asks {
            died = died || agent.ask(&cutover, ask).await.is_none();
        }
        assert!(died, "{point}");
        process.is_dead().await;

        let process = Process::start(&server.database, "").await;
        let agent = process.agent("x1");
        let answer = until("answered", || agent.ask(&cutover, flip(attempt))).await;
        let told = matches!(answer, CutoverAnswer::Flipped { .. });
        assert_eq!(told, flipped, "{point}: {answer:?}");
        if !flipped {
            assert_eq!(agent.flip(&cutover, Direction::Forward).await, 2);
        }
        agent.done(&cutover).await;
        agent.take("hold").await;
    }
}

#[tokio::test]
async fn a_controller_that_dies_around_a_step_goes_on_with_it() {
    for point in ["claimed", "settled"] {
        let mut server = Server::start().await;
        let first = server.agent("x", "x1");
        server.apply(&first, "").await;
        server.stop();
        let armed = format!("controller.preflight.{point}=abort");
        let mut process = Process::start(&server.database, &armed).await;
        let agent = process.agent("x1");
        match agent.try_claim().await {
            None => assert_eq!(point, "claimed"),
            Some(dispatch) => {
                let output = Value::Null;
                let sent = agent.try_report(&dispatch, Outcome::Done { output }).await;
                assert!(sent.is_none());
            }
        }
        process.is_dead().await;
        let process = Process::start(&server.database, "").await;
        // A new process of the agent need not wait for the lease.
        let agent = process.agent("x2").after(&first);
        let next = if point == "claimed" {
            "preflight"
        } else {
            "create_target"
        };
        agent.take(next).await;
    }
}
