//! Comparisons on demand, spoken over HTTP: when they are possible, what the agent is given, what is told of them.

use crate::fixture::{Agent, Server, failure};
use plans::failure::RetryClass;
use plans::id::MigrationId;
use plans::inspection::{Inspected, Inspection};
use plans::names::Direction;
use plans::step::verify::{
    DifferenceKind, DifferenceReport, Differences, RowDifference, TableDifferences, VerifyRun,
};
use plans::wire::{Dispatch, Outcome};
use serde_json::{Value, json};

fn path(id: &MigrationId) -> String {
    format!("/api/v1/migrations/{id}/verify")
}

/// Orders a comparison; its number.
async fn order(server: &Server, id: &MigrationId, repair: bool) -> i64 {
    let body = json!({ "repair": repair, "reason": "to be sure" });
    let response = server.post(&path(id), &body).await;
    assert_eq!(response.status(), 200);
    let ordered: Value = response.json().await.unwrap();
    ordered["run"]["number"].as_i64().unwrap()
}

/// What the step was given to compare.
fn run(dispatch: &Dispatch) -> VerifyRun {
    dispatch.verify.expect("a comparison")
}

/// A migration that waits for its approval.
async fn waiting(server: &Server, agent: &Agent) -> MigrationId {
    let id = server.apply(agent, "").await;
    let verify = agent.run_to("verify").await;
    assert_eq!(run(&verify), VerifyRun::default());
    agent.done(&verify).await;
    agent.done(&agent.take("open_reverse").await).await;
    server.in_state(&id, "waiting").await;
    id
}

#[tokio::test]
async fn copies_are_compared_again_while_the_approval_is_waited_for() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = waiting(&server, &agent).await;
    let number = order(&server, &id, false).await;
    let verify = agent.take("verify").await;
    let wanted = VerifyRun {
        number,
        repair: false,
    };
    assert_eq!(run(&verify), wanted);
    assert_eq!(verify.stream, Some(Direction::Forward));
    let again = server.post(&path(&id), &json!({})).await;
    assert_eq!(again.status(), 409, "it runs already");
    agent.done(&verify).await;
    let view = server.in_state(&id, "waiting").await;
    assert_eq!(view["waiting_for"], "approval of the cutover");
    assert_eq!(server.command(&id, "approve").await.status(), 200);
    agent.take("cutover").await;
}

#[tokio::test]
async fn a_difference_is_repaired_once_by_order_and_survives_the_agent() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let verify = agent.run_to("verify").await;
    let different = Outcome::Failed {
        failure: failure(RetryClass::None),
    };
    assert_eq!(agent.report(&verify, different).await, 200);
    server.in_state(&id, "failed").await;
    let number = order(&server, &id, true).await;
    let verify = agent.take("verify").await;
    let wanted = VerifyRun {
        number,
        repair: true,
    };
    assert_eq!(run(&verify), wanted);
    // Another process goes on with the same comparison.
    let successor = server.agent("x", "x2").after(&agent);
    let verify = successor.take("verify").await;
    assert_eq!(run(&verify), wanted);
    successor.done(&verify).await;
    successor.done(&successor.take("open_reverse").await).await;
    server.in_state(&id, "waiting").await;
    order(&server, &id, false).await;
    assert!(!run(&successor.take("verify").await).repair);
}

#[tokio::test]
async fn the_hold_is_given_out_again_to_compare_the_old_copy() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    assert_eq!(cutover.verify, None);
    assert_eq!(server.post(&path(&id), &json!({})).await.status(), 409);
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    assert_eq!(agent.take("hold").await.verify, None);
    let number = order(&server, &id, false).await;
    let hold = agent.take("hold").await;
    assert_eq!(run(&hold).number, number);
    assert_eq!(hold.stream, Some(Direction::Reverse));
    assert_eq!(server.view(&id).await["state"], "flipped");
}

#[tokio::test]
async fn a_report_is_read_from_the_shards_and_its_keys_are_nowhere_else() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = waiting(&server, &agent).await;
    let report = DifferenceReport {
        direction: Direction::Forward,
        run: 3,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        finished_at: None,
        at: None,
        repaired: 0,
        chunks: 0,
        chunks_total: 1,
        tables: vec![TableDifferences {
            table: "public.item".to_owned(),
            changed: 1,
            named: vec![RowDifference {
                key: vec!["secret-key".to_owned()],
                kind: DifferenceKind::Missing,
            }],
            ..TableDifferences::default()
        }],
    };
    let place = path(&id);
    let asking = server.json(&place);
    let answering = async {
        let task = agent.asked().await;
        let Inspection::Differences(asked) = &task.inspection else {
            panic!("{task:?}")
        };
        assert_eq!(asked.migration, id);
        let reports = vec![report.clone()];
        let seen = Inspected::Differences(Differences { reports });
        agent.answer(&task, Ok(seen)).await;
    };
    let (told, ()) = tokio::join!(asking, answering);
    assert_eq!(told, json!([report]));
    for kept in ["", "/events"] {
        let text = server.json(&format!("/api/v1/migrations/{id}{kept}")).await;
        assert!(!text.to_string().contains("secret-key"));
    }
}
