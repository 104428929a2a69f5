//! What agents look at for a map: load, checks and their mending, directory tables.

use crate::fixture::{Agent, Server, refused, request, said, surveyed, told, until};
use orchestrator::controller::{MapCheck, MapLoad};
use plans::failure::{Failure, RetryClass};
use plans::id::ShardName;
use plans::inspection::check::{CheckSubject, CheckTaskResult, KeyRows, StrayRows, SubjectResult};
use plans::inspection::{
    Directory, Inspected, Inspection, InspectionTask, ItemLoad, KeyLoad, Load,
};
use plans::key::Key;
use plans::plan::TargetState;
use plans::wire::Work;
use serde_json::{Value, json};

/// Map `m`: below 100 on `a`, the rest on `b`, with a table.
pub(crate) async fn two_shards(server: &Server) {
    let parts = [
        "--range",
        "0..100=a",
        "--range",
        "100..200=b",
        "--table",
        "orders=tenant_id",
    ];
    told(server, &[&["map", "create", "m"][..], &parts].concat()).await;
}

/// Answers each inspection by `see` until the request is answered.
pub(crate) async fn seen_by<T>(
    agent: &Agent,
    request: impl Future<Output = T>,
    see: impl Fn(&Inspection) -> Result<Inspected, Failure>,
) -> T {
    let look = async {
        loop {
            let task = agent.asked().await;
            let seen = see(&task.inspection);
            agent.answer(&task, seen).await;
        }
    };
    tokio::select! {
        answer = request => answer,
        () = look => unreachable!("looks for ever"),
    }
}

/// The inspection that an agent is given which works on none.
async fn inspection(agent: &Agent) -> InspectionTask {
    until("asked to look", || async {
        match agent.claim_beside(&[]).await {
            Some(Work::Inspect(task)) => Some(*task),
            _ => None,
        }
    })
    .await
}

#[tokio::test]
async fn an_inspection_whose_way_to_the_agent_was_lost_is_given_again() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let url = format!("{}/api/v1/plans", server.url);
    let asking = server.http.post(url).body(request("")).send();
    let looking = async {
        let lost = inspection(&agent).await;
        let task = inspection(&agent).await;
        assert_eq!(task, lost);
        assert!(
            agent.claim_beside(&[&task]).await.is_none(),
            "it works on it"
        );
        agent
            .answer(&task, Ok(surveyed("f1", TargetState::New)))
            .await;
    };
    let (answer, ()) = tokio::join!(asking, looking);
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_step_is_given_to_an_agent_that_inspects_before_another_inspection() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "").await;
    let preflight = agent.take("preflight").await;
    let url = format!("{}/api/v1/doctor", server.url);
    let asking = server.http.post(url).body("{}").send();
    let working = async {
        let first = inspection(&agent).await;
        agent.done(&preflight).await;
        let held = [&first];
        let next = until("given more", || agent.claim_beside(&held)).await;
        assert!(matches!(next, Work::Step(_)), "{next:?}");
    };
    // The doctor waits for answers that do not come.
    tokio::select! {
        answer = asking => panic!("{answer:?}"),
        () = working => {}
    }
}

#[tokio::test]
async fn load_is_measured_side_by_side_and_a_hot_key_is_isolated() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let shard = json!({"name": "free", "dsn": "host=x"});
    assert_eq!(server.post("/api/v1/shards", &shard).await.status(), 201);
    let report = json!({"counts": [[7, 30], [150, 600]], "window_ms": 1000});
    let counted = server.post("/api/v1/maps/m/counters", &report).await;
    assert_eq!(counted.status(), 200);
    let see = |inspection: &Inspection| {
        let Inspection::Load(task) = inspection else {
            panic!("{inspection:?}")
        };
        assert_eq!(task.watch_seconds, 1);
        let hot = task.shard.name == ShardName::from("b");
        let (key, writes) = if hot { (150, 900) } else { (7, 40) };
        let writes_elsewhere = 60;
        Ok(Inspected::Load(Load {
            shard: task.shard.name.clone(),
            items: vec![ItemLoad {
                keys: task.owned.clone(),
                rows: 10,
                bytes: 100,
                writes: writes + writes_elsewhere,
                weight: 0,
            }],
            hottest: vec![KeyLoad {
                key: Key::Int(key),
                rows: 3,
                writes,
            }],
            watched_ms: 1000,
            sampled: true,
            findings: Vec::new(),
        }))
    };
    let line = ["map", "load", "m", "--for", "1s"];
    let load = seen_by(&agent, told(&server, &line), see).await;
    let load: MapLoad = serde_json::from_value(load).unwrap();
    assert_eq!(load.hottest[0].key, Key::Int(150));
    assert_eq!(load.shards[1].cost, 960);
    assert!(load.shards[1].of_fair_share > 1.5, "{:?}", load.shards);
    assert_eq!(load.proposals.len(), 1);
    let proposal = &load.proposals[0].proposal;
    assert!(proposal.contains("shardwright plan isolate"), "{proposal}");
    assert_eq!(
        (&load.counted[0].key, load.counted[0].uses),
        (&Key::Int(150), 600)
    );

    let (_, text) = refused(&server, &["map", "load", "tenants"]).await;
    assert!(text.contains("map tenants lists no tables"), "{text}");
}

/// What an agent sees: one row on `a` that nobody owns; shard `broken` cannot be reached.
fn part(inspection: &Inspection, broken: &str) -> Result<Inspected, Failure> {
    let Inspection::Check(task) = inspection else {
        panic!("{inspection:?}")
    };
    if task.shard.name.as_str() == broken {
        return Err(Failure {
            code: "connect.refused".to_owned(),
            message: "nobody listens".to_owned(),
            hint: None,
            retry: RetryClass::Exponential,
        });
    }
    let seen = match &task.subject {
        CheckSubject::WholeTables => SubjectResult::WholeTables { tables: Vec::new() },
        CheckSubject::Rows { table } => SubjectResult::Rows(StrayRows {
            table: table.to_string(),
            unmapped: u64::from(task.shard.name == ShardName::from("a")),
            unmapped_keys: vec![KeyRows {
                key: Key::Int(-3),
                rows: 1,
            }],
            surplus: u64::from(task.has_surplus),
            ..StrayRows::default()
        }),
        CheckSubject::Schema => SubjectResult::Schema { tables: Vec::new() },
        CheckSubject::Reference => SubjectResult::Reference { tables: Vec::new() },
        CheckSubject::Guards => SubjectResult::Guards { broken: Vec::new() },
        CheckSubject::Sequences => SubjectResult::Sequences {
            sequences: Vec::new(),
        },
        CheckSubject::Present { .. } => SubjectResult::Present { keys: Vec::new() },
    };
    Ok(Inspected::Check(CheckTaskResult {
        shard: task.shard.name.clone(),
        result: seen,
    }))
}

#[tokio::test]
async fn a_check_names_defects_and_takes_up_what_failed() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let path = "/api/v1/maps/m/check";
    let nobody = json!({});
    let asked = seen_by(&agent, server.post(path, &nobody), |i| part(i, "b"));
    let check: MapCheck = asked.await.json().await.unwrap();
    assert!(!check.failed.is_empty() && check.failed.iter().all(|part| part.shard.as_str() == "b"));
    assert!(
        check.failed[0].message.contains("nobody listens"),
        "{:?}",
        check.failed
    );

    // Only what failed is asked again.
    let path = format!("{path}?token={}", check.token);
    let asked = seen_by(&agent, server.post(&path, &nobody), |i| {
        let Inspection::Check(task) = i else {
            panic!("{i:?}")
        };
        assert_eq!(task.shard.name.as_str(), "b");
        part(i, "")
    });
    let again: MapCheck = asked.await.json().await.unwrap();
    assert_eq!((again.failed.len(), again.parts), (0, check.parts));
    let kinds: Vec<&str> = again
        .defects
        .iter()
        .map(|defect| defect.kind.name())
        .collect();
    assert_eq!(kinds, ["unmapped_key"]);
    let metrics = server.get("/metrics").await.text().await.unwrap();
    assert!(
        metrics.contains("shardwright_map_defects{map=\"m\",kind=\"unmapped_key\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("shardwright_map_defects{map=\"m\",kind=\"gap\"} 0"),
        "{metrics}"
    );
    let stale = server
        .post("/api/v1/maps/m/check?token=other", &nobody)
        .await;
    assert_eq!(stale.status(), 422);
}

/// Two applications in one controller whose tables have the same names.
#[tokio::test]
async fn a_shard_of_another_map_alone_is_neither_examined_nor_repaired() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    let shard = json!({"name": "staging", "dsn": "host=x"});
    assert_eq!(server.post("/api/v1/shards", &shard).await.status(), 201);
    let free = json!({"name": "free", "dsn": "host=x"});
    assert_eq!(server.post("/api/v1/shards", &free).await.status(), 201);
    let other = [
        "map",
        "create",
        "o",
        "--range",
        "..=staging",
        "--table",
        "orders=tenant_id",
    ];
    told(&server, &other).await;
    let nobody = json!({});
    let asked = seen_by(&agent, server.post("/api/v1/maps/m/check", &nobody), |i| {
        let Inspection::Check(task) = i else {
            panic!("{i:?}")
        };
        assert_ne!(task.shard.name.as_str(), "staging");
        part(i, "")
    });
    let check: MapCheck = asked.await.json().await.unwrap();
    assert_eq!(check.other_maps, ["staging".into()]);
    assert!(check.failed.is_empty());
    let stray = json!({"map": "m", "map_version": 1, "mends": [
        {"mend": "delete_stray", "shard": "staging", "owner": "a", "keys": [5]}]});
    let answer = server.post("/api/v1/maps/m/mend", &stray).await;
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert!(status == 422 && text.contains("staging"), "{status} {text}");
}

#[tokio::test]
async fn a_check_that_is_due_runs_by_itself() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    two_shards(&server).await;
    told(&server, &["map", "set", "m", "--check-every", "1h"]).await;
    let task = agent.asked().await;
    assert!(matches!(task.inspection, Inspection::Check(_)), "{task:?}");
}

#[tokio::test]
async fn gaps_are_mended_by_a_request() {
    let server = Server::start().await;
    let parts = ["--range", "0..5=a", "--range", "10..20=b"];
    told(&server, &[&["map", "create", "g"][..], &parts].concat()).await;
    let gap = json!({"range": [{"from": 5, "to": 10}]});
    let request = json!({"map": "g", "map_version": 1, "mends": [
        {"mend": "map_keys", "keys": gap, "shard": "b"}, {"mend": "by_hand", "advice": "look"}]});
    let outcomes: Value = server
        .post("/api/v1/maps/g/mend", &request)
        .await
        .json()
        .await
        .unwrap();
    assert!(outcomes[0]["done"].is_object(), "{outcomes}");
    assert_eq!(told(&server, &["map", "show", "g"]).await["version"], 2);
    let again = server.post("/api/v1/maps/g/mend", &request).await;
    assert_eq!(again.status(), 422);
}

#[tokio::test]
async fn a_directory_table_becomes_a_list_map() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let see = |inspection: &Inspection| {
        let Inspection::Directory(task) = inspection else {
            panic!("{inspection:?}")
        };
        assert_eq!(task.table.sql(), "\"app\".\"directory\"");
        assert_eq!(task.table.columns(), ["tenant", "home"]);
        let row = |tenant: &str, home: &str| vec![Some(tenant.to_owned()), Some(home.to_owned())];
        Ok(Inspected::Directory(Directory {
            columns: vec!["tenant".to_owned(), "home".to_owned()],
            rows: vec![row("acme", "a"), row("bolt", "b"), row("core", "a")],
        }))
    };
    let line = [
        "map",
        "import",
        "d",
        "--strategy",
        "list",
        "--key",
        "text",
        "--from",
        "a",
    ];
    let line = [
        &line[..],
        &["--directory", "app.directory", "--key-column", "tenant"],
        &["--shard-column", "home"],
    ]
    .concat();
    let map = seen_by(&agent, told(&server, &line), see).await;
    assert_eq!(map["mappings"][0]["keys"]["list"], json!(["acme", "core"]));
    assert_eq!(said(&server, &["map", "locate", "d", "bolt"]).await, "b\n");
}
