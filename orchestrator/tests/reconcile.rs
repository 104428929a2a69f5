//! A store that is older than its fleet: what `reconcile --apply` makes of what the shards prove.
//!
//! An agent that touches no shard says what was seen there.

use crate::fixture::{Agent, Server, failure, quick, step_name, until};
use orchestrator::controller::ControllerSettings;
use plans::failure::RetryClass;
use plans::id::{MapVersion, MigrationId, ShardName};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::{About, CLOSED, COUNTS_PER_ATTEMPT, Inventory, ObservedMove};
use plans::inspection::{Inspected, Inspection};
use plans::names::Direction;
use plans::wire::{CutoverAnswer, CutoverQuery, Dispatch, Outcome, Work};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

/// A migration as both shards know it after the flip to `version`.
struct Flip {
    migration: MigrationId,
    about: About,
    version: i64,
    owner: &'static str,
}

impl Flip {
    fn seen_on(&self, shard: &str) -> ObservedMove {
        let owns = shard == self.owner;
        let role = if self.about.source.as_str() == shard {
            "source"
        } else {
            "target"
        };
        ObservedMove {
            migration: self.migration.clone(),
            role: role.to_owned(),
            epoch: 50,
            attempt: 7 * COUNTS_PER_ATTEMPT,
            map: "tenants".into(),
            map_version: 1,
            flipped: Some(self.version),
            register: Some(if owns { 0 } else { CLOSED }),
            guards: 1,
            owns,
            copied: role == "target",
            about: Some(self.about.clone()),
        }
    }

    fn seen(&self, inspection: &Inspection) -> Inspected {
        let Inspection::Inventory(task) = inspection else {
            panic!("{inspection:?}")
        };
        let name = task.shard.name.as_str();
        let ends = [&self.about.source, &self.about.target];
        let here = ends.iter().any(|end| end.as_str() == name);
        let nothing = nothing_on(&task.shard.name);
        Inspected::Inventory(Box::new(Inventory {
            server: DatabaseIdentity {
                system: task.shard.number.to_string(),
                ..nothing.server
            },
            moves: here.then(|| self.seen_on(name)).into_iter().collect(),
            ..nothing
        }))
    }
}

/// A shard without an object of Shardwright.
fn nothing_on(shard: &ShardName) -> Inventory {
    Inventory {
        shard: shard.clone(),
        server: DatabaseIdentity {
            system: "1".to_owned(),
            timeline: 1,
            database: Some(1),
            // Registered already: nothing is asked for besides.
            id: Some("id".to_owned()),
            standby: false,
        },
        flushed: 1,
        objects: Vec::new(),
        figures: None,
        activity: None,
        similar: Vec::new(),
        moves: Vec::new(),
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    }
}

async fn about(server: &Server, migration: &MigrationId) -> About {
    let view = server.view(migration).await;
    let field = |name: &str| view[name].clone();
    About {
        incarnation: String::new(),
        source: serde_json::from_value(field("source")).unwrap(),
        target: serde_json::from_value(field("target")).unwrap(),
        keys: serde_json::from_value(field("keys")).unwrap(),
        tables: Vec::new(),
    }
}

/// `reconcile --apply` on what was seen; what was given to the agent meanwhile.
async fn reconcile(server: &Server, agent: &Agent, flip: &Flip) -> Vec<Dispatch> {
    let given = Mutex::new(Vec::new());
    let look = async {
        loop {
            match agent.claim().await {
                Some(Work::Inspect(task)) => {
                    agent.answer(&task, Ok(flip.seen(&task.inspection))).await;
                }
                Some(Work::Step(dispatch)) => given.lock().unwrap().push(*dispatch),
                None => {}
            }
        }
    };
    let order = json!({ "apply": true });
    let answer = tokio::select! {
        answer = server.post("/api/v1/fleet/reconcile", &order) => answer,
        () = look => unreachable!("looks for ever"),
    };
    let status = answer.status();
    let report: Value = answer.json().await.unwrap();
    assert_eq!(status, 200, "{report}");
    assert_eq!(report["findings"], json!([]), "{report}");
    given.into_inner().unwrap()
}

/// The step that runs, or the next one. What was given before the mend runs no more, and an answer that was on its way
/// when the mend was done is lost: such a step is given again.
async fn next(
    server: &Server,
    agent: &Agent,
    id: &MigrationId,
    mut given: Vec<Dispatch>,
) -> Dispatch {
    let view = server.view(id).await;
    let mut steps = view["steps"].as_array().unwrap().iter();
    let running = steps.find(|step| step["state"] == "running");
    let heard = given.pop();
    match heard.filter(|heard| running.is_some_and(|step| step["kind"] == step_name(heard))) {
        Some(dispatch) => dispatch,
        None => agent.next().await,
    }
}

async fn step(server: &Server, migration: &MigrationId, kind: &str) -> Value {
    let view = server.view(migration).await;
    let steps = view["steps"].as_array().unwrap().iter();
    let mut own = steps.filter(|step| step["kind"] == kind);
    own.next().unwrap()["state"].clone()
}

/// The source owns the keys: nothing that follows may open the target.
async fn goes_on_after_the_roll_back(server: &Server, agent: &Agent, rollback: &Dispatch) {
    let id = &rollback.migration;
    assert_eq!(step_name(rollback), "rollback");
    assert_eq!(server.view(id).await["ownership"], "rolled_back");
    for kind in ["cutover", "hold"] {
        assert_eq!(step(server, id, kind).await, "done", "{kind}");
    }
    let direction = Direction::Forward;
    let begun = agent.cutover(rollback, CutoverQuery::Begin { direction });
    let begun = begun.await;
    assert!(matches!(begun, CutoverAnswer::Refused { .. }), "{begun:?}");
    let release = CutoverQuery::Release {
        direction: Direction::Reverse,
        attempt: plans::id::AttemptNo(7),
        reason: "an earlier attempt was interrupted".to_owned(),
    };
    let flipped = CutoverAnswer::Flipped {
        map_version: MapVersion(3),
    };
    assert_eq!(agent.cutover(rollback, release).await, flipped);
    agent.done(rollback).await;
    agent.take("hold_back").await;
    assert_eq!(server.map_version().await, 3);
}

#[tokio::test]
async fn a_store_that_lost_a_flip_and_its_roll_back_leaves_the_source_open() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    agent.run_to("cutover").await;
    let lost = Flip {
        migration: id.clone(),
        about: about(&server, &id).await,
        version: 3,
        owner: "a",
    };
    let given = reconcile(&server, &agent, &lost).await;
    let rollback = next(&server, &agent, &id, given).await;
    goes_on_after_the_roll_back(&server, &agent, &rollback).await;
}

#[tokio::test]
async fn a_store_that_lost_a_roll_back_does_not_hold_the_keys_again() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    agent.take("hold").await;
    let lost = Flip {
        migration: id.clone(),
        about: about(&server, &id).await,
        version: 3,
        owner: "a",
    };
    let given = reconcile(&server, &agent, &lost).await;
    let rollback = next(&server, &agent, &id, given).await;
    goes_on_after_the_roll_back(&server, &agent, &rollback).await;
}

/// The flip, the roll back, and that it went forward once more.
#[tokio::test]
async fn a_store_that_lost_the_second_way_forward_knows_its_owner() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "rollback").await.status(), 200);
    agent.done(&hold).await;
    let rollback = agent.take("rollback").await;
    agent.flip(&rollback, Direction::Reverse).await;
    agent.done(&rollback).await;
    agent.take("hold_back").await;
    let lost = Flip {
        migration: id.clone(),
        about: about(&server, &id).await,
        version: 4,
        owner: "b",
    };
    let given = reconcile(&server, &agent, &lost).await;
    let cutover = next(&server, &agent, &id, given).await;
    assert_eq!(step_name(&cutover), "cutover");
    assert_eq!(cutover.map_version.0, 3);
    assert_eq!(server.view(&id).await["ownership"], "flipped");
    agent.done(&cutover).await;
    agent.take("hold").await;
}

/// The store's copy was made before the second move of an operation began.
#[tokio::test]
async fn a_store_that_is_older_than_a_moves_start_is_moved_forward() {
    let server = Server::start().await;
    let shard = json!({"name": "c", "dsn": "host=x password=${env:X}"});
    assert_eq!(server.post("/api/v1/shards", &shard).await.status(), 201);
    let agent = server.agent("x", "x1");
    let request = crate::operations::two_moves("moves_at_once: 1");
    let operation = server.submit(&agent, &request).await;
    let id = MigrationId(format!("{}x2", operation["id"].as_str().unwrap()));
    assert_eq!(server.view(&id).await["state"], "planned");
    let lost = Flip {
        migration: id.clone(),
        about: about(&server, &id).await,
        version: 2,
        owner: "c",
    };
    reconcile(&server, &agent, &lost).await;
    let view = server.view(&id).await;
    assert_eq!(view["state"], "completed", "{view}");
    assert!(view["started_at"].is_string(), "{view}");
    assert_eq!(server.map_version().await, 2);
}

/// The store's copy has a migration that was taken back since; another one, which it does not know, took the keys.
#[tokio::test]
async fn keys_that_another_migration_took_are_given_to_their_owner() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let about = about(&server, &id).await;
    let lost = Flip {
        migration: MigrationId::from("m9"),
        about,
        version: 2,
        owner: "b",
    };
    reconcile(&server, &agent, &lost).await;
    let map = server.json("/api/v1/maps/tenants").await;
    assert_eq!(map["version"], 2);
    assert_eq!(map["mappings"][1]["shard"], "b", "{map}");
    assert_eq!(server.command(&id, "abort").await.status(), 200);
}

/// The controller was restarted since the target was lost: it will never look at it again.
#[tokio::test]
async fn an_abort_is_given_out_although_the_target_is_never_seen() {
    let lease = Duration::from_secs(1);
    let before = Server::with(ControllerSettings { lease, ..quick() }).await;
    let agent = before.agent("x", "x1");
    let id = before.apply(&agent, "").await;
    let preflight = agent.take("preflight").await;
    assert_eq!(before.command(&id, "abort").await.status(), 200);
    assert_eq!(agent.report(&preflight, Outcome::Interrupted).await, 200);
    let settings = ControllerSettings {
        reconcile_every: Some(Duration::from_millis(50)),
        ..quick()
    };
    let server = Server::on(before.into_database(), settings).await;
    let agent = server.agent("y", "y1");
    let given = until("given out", || async {
        match agent.claim().await? {
            Work::Step(dispatch) => Some(*dispatch),
            Work::Inspect(task) => {
                let Inspection::Inventory(look) = &task.inspection else {
                    panic!("{task:?}")
                };
                let name = &look.shard.name;
                let seen = Inspected::Inventory(Box::new(nothing_on(name)));
                let answer = match name.as_str() {
                    "a" => Ok(seen),
                    _ => Err(failure(RetryClass::Exponential)),
                };
                agent.answer(&task, answer).await;
                None
            }
        }
    })
    .await;
    assert_eq!(step_name(&given), "unwind");
}

/// An agent lists the objects of one shard at once, and of another one not at all.
#[tokio::test]
async fn a_slow_probe_delays_no_other_shard() {
    let settings = ControllerSettings {
        reconcile_every: Some(Duration::from_secs(3_600)),
        ..quick()
    };
    let server = Server::with(settings).await;
    let agent = server.agent("x", "x1");
    let slow = agent.asked().await;
    let fast = until("the other probe", || async {
        match agent.claim_beside(&[&slow]).await? {
            Work::Inspect(task) => Some(*task),
            Work::Step(dispatch) => panic!("{dispatch:?}"),
        }
    })
    .await;
    let Inspection::Inventory(look) = &fast.inspection else {
        panic!("{fast:?}")
    };
    let seen = Inspected::Inventory(Box::new(nothing_on(&look.shard.name)));
    agent.answer(&fast, Ok(seen)).await;
    let observed = until("a probe that succeeded", || async {
        let report = server.json("/api/v1/fleet").await;
        let shards = report["shards"].as_array().unwrap().iter();
        let observed = shards.filter(|shard| shard["seen_at"].is_string());
        let names: Vec<Value> = observed.map(|shard| shard["shard"].clone()).collect();
        (!names.is_empty()).then_some(names)
    })
    .await;
    assert_eq!(observed, [json!(look.shard.name)]);
}
