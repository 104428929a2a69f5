//! Operations of several moves: limits, queue, orders that go to all, offline moves, rules.

use crate::fixture::{Server, quick, step_name, until};
use orchestrator::controller::ControllerSettings;
use plans::id::MigrationId;
use plans::names::Direction;
use plans::wire::{Action, CutoverAnswer, CutoverQuery};
use serde_json::{Value, json};
use std::time::Duration;

/// A server with shards `a`, `b`, `c` and map `tenants`, all keys on `a`.
async fn three() -> Server {
    three_with(quick()).await
}

async fn three_with(settings: ControllerSettings) -> Server {
    let server = Server::with(settings).await;
    let shard = json!({"name": "c", "dsn": "host=x password=${env:X}"});
    assert_eq!(server.post("/api/v1/shards", &shard).await.status(), 201);
    server
}

/// From 100 to `b`, from 200 to `c`.
pub(crate) fn two_moves(options: &str) -> String {
    format!(
        "operation: move\nmap: tenants\nmoves:\n- {{source: a, target: b, keys: {{from: 100, to: 200}}}}\n\
         - {{source: a, target: c, keys: {{from: 200}}}}\ntables: {{orders: tenant_id}}\noptions: {{{options}}}\n"
    )
}

fn one_move(from: i64, options: &str) -> String {
    format!(
        "operation: move\nmap: tenants\nmoves:\n- {{source: a, target: b, keys: {{from: {from}}}}}\n\
         tables: {{orders: tenant_id}}\noptions: {{{options}}}\n"
    )
}

fn id(view: &Value) -> String {
    view["id"].as_str().unwrap().to_owned()
}

async fn waits_for(server: &Server, id: &str, what: &str) {
    let id = MigrationId(id.to_owned());
    until(what, || async {
        let view = server.view(&id).await;
        let text = view["waiting_for"].as_str().unwrap_or_default().to_owned();
        (text == what).then_some(())
    })
    .await;
}

async fn owners(server: &Server) -> Vec<(String, String)> {
    let map = server.json("/api/v1/maps/tenants").await;
    let mappings = map["mappings"].as_array().unwrap().iter();
    let owner = |m: &Value| {
        let range = &m["keys"]["range"][0];
        let ends = format!("{}..{}", range["from"], range["to"]).replace("null", "");
        (ends, m["shard"].as_str().unwrap().to_owned())
    };
    mappings.map(owner).collect()
}

/// A second write stop would be in vain: the map changes under it.
#[tokio::test]
async fn of_two_cutovers_of_a_map_one_waits_before_it_stops_writes() {
    // Whoever has not been heard of for the lease is in nobody's way, and this agent sends no heartbeats.
    let lease = Duration::from_secs(3600);
    let server = three_with(ControllerSettings { lease, ..quick() }).await;
    let agent = server.agent("x", "x1");
    let options = "cutover: automatic, moves_at_once: 2, moves_per_shard: 2";
    server.submit(&agent, &two_moves(options)).await;
    let mut cutovers = Vec::new();
    while cutovers.len() < 2 {
        let dispatch = agent.next().await;
        match step_name(&dispatch) {
            "cutover" => cutovers.push(dispatch),
            _ => agent.done(&dispatch).await,
        }
    }
    let (first, second) = (&cutovers[0], &cutovers[1]);
    let direction = Direction::Forward;
    let begin = || agent.cutover(second, CutoverQuery::Begin { direction });
    let attempt = agent.begin(first, direction).await;
    let CutoverAnswer::Refused { reason } = begin().await else {
        panic!("both began");
    };
    assert!(reason.contains(first.migration.as_str()), "{reason}");
    let view = server.view(&second.migration).await;
    assert_eq!(view["ownership"], "ready");
    // What was given up is in nobody's way.
    let reason = "test".to_owned();
    let released = agent.cutover(
        first,
        CutoverQuery::Release {
            direction: Direction::Forward,
            attempt,
            reason,
        },
    );
    assert_eq!(released.await, CutoverAnswer::Released);
    assert_eq!(agent.flip(second, direction).await, 2);
    assert_eq!(agent.flip(first, direction).await, 3);
}

#[tokio::test]
async fn two_moves_run_one_after_the_other_where_one_is_the_limit() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let view = server.submit(&agent, &two_moves("moves_at_once: 1")).await;
    let id = id(&view);
    assert_eq!(view["moves"][1]["id"], format!("{id}x2"));
    waits_for(&server, &format!("{id}x2"), "1 other move is running").await;
    // The second move has not reached its cutover, and is approved all the same.
    assert_eq!(server.order(&id, "approve").await.status(), 200);

    let cutover = agent.run_to("cutover").await;
    assert_eq!(cutover.migration.as_str(), format!("{id}x1"));
    assert!(cutover.source_keeps_keys);
    assert_eq!(agent.flip(&cutover, Direction::Forward).await, 2);
    agent.done(&cutover).await;
    let first = agent.take("hold").await;
    let cutover = agent.run_to("cutover").await;
    assert_eq!(cutover.migration.as_str(), format!("{id}x2"));
    assert_eq!(agent.flip(&cutover, Direction::Forward).await, 3);
    agent.done(&cutover).await;
    let second = agent.take("hold").await;
    let view = server.operation_in(&id, "flipped").await;
    assert_eq!(view["totals"]["flipped"], 2);

    assert_eq!(server.order(&id, "finish").await.status(), 200);
    for hold in [&first, &second] {
        assert_eq!(agent.beat(hold).await, Action::EndHold);
        agent.done(hold).await;
    }
    for _ in 0..2 {
        let drop_old = agent.take("drop_old").await;
        assert!(drop_old.source_keeps_keys);
        agent.done(&drop_old).await;
    }
    let view = server.operation_in(&id, "completed").await;
    assert!(view["finished_at"].is_string());
    let lines = server
        .json(&format!("/api/v1/operations/{id}/events"))
        .await;
    let lines = lines.as_array().unwrap();
    let ahead =
        |line: &&Value| line["kind"] == "migration.approved" && line["data"]["ahead"] == true;
    assert_eq!(lines.iter().filter(ahead).count(), 2, "{lines:?}");
}

#[tokio::test]
async fn an_abort_takes_back_at_once_what_has_not_begun() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let id = id(&server
        .submit(&agent, &two_moves("moves_per_shard: 1"))
        .await);
    let copy = agent.run_to("copy").await;
    waits_for(
        &server,
        &format!("{id}x2"),
        "1 other move is running on shard a",
    )
    .await;
    assert_eq!(server.order(&id, "rollback").await.status(), 409);
    assert_eq!(server.order(&id, "abort").await.status(), 200);
    let second = server.view(&MigrationId(format!("{id}x2"))).await;
    assert_eq!(second["state"], "unwound");
    assert!(second["finished_at"].is_string());
    assert_eq!(agent.beat(&copy).await, Action::Pause);
    let interrupted = plans::wire::Outcome::Interrupted;
    assert_eq!(agent.report(&copy, interrupted).await, 200);
    agent.done(&agent.take("unwind").await).await;
    server.operation_in(&id, "unwound").await;
}

#[tokio::test]
async fn a_queued_plan_waits_and_fails_when_its_source_lost_the_keys() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let late = server.planned(&agent, &one_move(150, "")).await;
    let first = id(&server
        .submit(&agent, &one_move(100, "cutover: automatic"))
        .await);
    let refused = server.post("/api/v1/operations", &late).await;
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "keys.moving");
    let late = id(&server.admitted(&agent, &late, true).await);
    waits_for(
        &server,
        &late,
        &format!("migration {first} moves some of these keys"),
    )
    .await;

    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.order(&first, "finish").await.status(), 200);
    agent.done(&hold).await;
    agent.done(&agent.take("drop_old").await).await;
    let failed = server.in_state(&MigrationId(late.clone()), "failed").await;
    assert_eq!(failed["failure"]["code"], "map.changed");
    // Nothing was begun: no agent is asked to take anything back.
    assert_eq!(server.order(&late, "abort").await.status(), 200);
    server.operation_in(&late, "unwound").await;
    assert!(agent.claim().await.is_none());
}

#[tokio::test]
async fn a_queued_plan_that_is_resumed_is_held_back_again() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let late = server.planned(&agent, &one_move(150, "")).await;
    server.submit(&agent, &one_move(100, "")).await;
    let late = MigrationId(id(&server.admitted(&agent, &late, true).await));
    agent.take("preflight").await;
    assert_eq!(server.command(&late, "pause").await.status(), 200);
    assert_eq!(server.command(&late, "resume").await.status(), 200);
    assert_eq!(server.view(&late).await["state"], "planned");
}

#[tokio::test]
async fn one_move_goes_back_after_another_flipped() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let id = id(&server
        .submit(&agent, &two_moves("cutover: automatic"))
        .await);
    let mut holds = Vec::new();
    while holds.len() < 2 {
        let dispatch = agent.next().await;
        match step_name(&dispatch) {
            "hold" => holds.push(dispatch),
            "cutover" => {
                agent.flip(&dispatch, Direction::Forward).await;
                agent.done(&dispatch).await;
            }
            _ => agent.done(&dispatch).await,
        }
    }
    let first = MigrationId(format!("{id}x1"));
    assert_eq!(server.command(&first, "rollback").await.status(), 200);
    let hold = holds.iter().find(|hold| hold.migration == first).unwrap();
    agent.done(hold).await;
    let rollback = agent.take("rollback").await;
    assert_eq!(agent.flip(&rollback, Direction::Reverse).await, 4);
    let expected = [("..200", "a"), ("200..", "c")];
    let expected = expected.map(|(keys, shard)| (keys.to_owned(), shard.to_owned()));
    assert_eq!(owners(&server).await, expected);
    assert_eq!(
        server.json(&format!("/api/v1/operations/{id}")).await["totals"]["flipped"],
        1
    );
}

#[tokio::test]
async fn an_offline_move_has_no_stream_and_no_way_back() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let request = one_move(100, "mode: offline, cutover: automatic");
    let id = MigrationId(id(&server.submit(&agent, &request).await));
    let mut steps = Vec::new();
    let cutover = loop {
        let dispatch = agent.next().await;
        assert_eq!(dispatch.stream, None);
        steps.push(step_name(&dispatch).to_owned());
        if step_name(&dispatch) == "cutover" {
            break dispatch;
        }
        agent.done(&dispatch).await;
    };
    let expected = [
        "preflight",
        "create_target",
        "set_read_only",
        "copy",
        "build_indexes",
        "verify",
        "cutover",
    ];
    assert_eq!(steps, expected);
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(hold.stream, None);
    let refused = server.command(&id, "rollback").await;
    assert_eq!(refused.status(), 409);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "migration.offline");
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.contains("plan move tenants --from b --to a"), "{hint}");
    assert_eq!(server.command(&id, "finish").await.status(), 200);
}

#[tokio::test]
async fn a_broken_rule_needs_a_reason_that_is_written_down() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    let plan = server.planned(&agent, &one_move(100, "")).await;
    let rules = json!({"rules": [{"name": "stays", "effect": "pin", "shard": "a"}]});
    let url = format!("{}/api/v1/maps/tenants/settings", server.url);
    let set = server.http.patch(url).json(&rules).send().await.unwrap();
    assert_eq!(set.status(), 200);
    let refused = server.post("/api/v1/operations", &plan).await;
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "rules.broken");
    assert!(
        problem["detail"].as_str().unwrap().contains("rule stays"),
        "{problem}"
    );

    let request = one_move(100, "override_rules: the auditor asked for it");
    let view = server.submit(&agent, &request).await;
    assert_eq!(view["override_reason"], "the auditor asked for it");
    let audit = server.json("/api/v1/audit").await;
    let line = audit
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["action"] == "rules.overridden");
    assert_eq!(line.unwrap()["data"]["operation"], view["id"]);
    let events = server
        .json(&format!("/api/v1/migrations/{}/events", id(&view)))
        .await;
    assert_eq!(
        events[0]["data"]["override_reason"],
        "the auditor asked for it"
    );
}

fn moved(from: i64, to: i64, target: &str) -> String {
    format!(
        "operation: move\nmap: tenants\nmoves:\n- {{source: a, target: {target}, keys: {{from: {from}, to: {to}}}}}\n\
         tables: {{orders: tenant_id}}\noptions: {{cutover: automatic}}\n"
    )
}

/// All of them lie in one piece of the map, of which a part is on its way.
#[tokio::test]
async fn keys_that_do_not_meet_are_planned_and_admitted_beside_each_other() {
    let server = three().await;
    let agent = server.agent("x", "x1");
    server.submit(&agent, &moved(300, 600, "b")).await;
    let preflight = agent.take("preflight").await;
    let apart = server.planned(&agent, &moved(700, 900, "c")).await;
    let url = format!("{}/api/v1/plans", server.url);
    let meets = server.http.post(url).body(moved(500, 800, "c")).send();
    let refused: Value = meets.await.unwrap().json().await.unwrap();
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("[500, 600) of the keys"), "{refused}");

    agent.done(&preflight).await;
    let cutover = agent.run_to("cutover").await;
    assert_eq!(agent.flip(&cutover, Direction::Forward).await, 2);
    let view = server.admitted(&agent, &apart, false).await;
    assert_eq!(view["map_version"], 1, "planned before the flip: {view}");
}
