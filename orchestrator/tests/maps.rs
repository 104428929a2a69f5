//! Maps over the API and the command line: strategies, changes by hand, load, checks, directory tables.

use crate::fixture::{Agent, Server};
use orchestrator::controller::{MapCheck, MapLoad};
use plans::failure::{Failure, RetryClass};
use plans::id::ShardName;
use plans::inspection::check::{Checked, KeyRows, Look, RowsSeen, Seen};
use plans::inspection::{Directory, Inspected, Inspection, ItemLoad, KeyLoad, Load};
use plans::key::Key;
use serde_json::{Value, json};
use std::process::Output;

async fn run(server: &Server, line: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_shardwright"));
    command.env("SHARDWRIGHT_CONTROLLER", &server.url);
    command.args(line).output().await.unwrap()
}

/// Stdout of a command that must succeed.
async fn said(server: &Server, line: &[&str]) -> String {
    let output = run(server, line).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

async fn told(server: &Server, line: &[&str]) -> Value {
    let line = [line, &["-o", "json"]].concat();
    serde_json::from_str(&said(server, &line).await).unwrap()
}

/// The exit code and stderr.
async fn refused(server: &Server, line: &[&str]) -> (i32, String) {
    let output = run(server, line).await;
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

const UUID: &str = "5f2a9d3e-5b1c-4b8e-9a0d-1234567890ab";

#[tokio::test]
async fn maps_of_every_strategy_are_made_and_asked() {
    let server = Server::start().await;
    let hash = [
        "map",
        "create",
        "h",
        "--strategy",
        "hash",
        "--key",
        "uuid",
        "--buckets",
        "16",
    ];
    let map = told(
        &server,
        &[&hash[..], &["--shards", "a,b", "--table", "orders=tenant"]].concat(),
    )
    .await;
    assert_eq!(
        map["mappings"][1]["keys"]["hash"]["ranges"][0],
        json!({"from": 8, "to": 16})
    );
    assert_eq!(map["settings"]["tables"]["orders"], "tenant");
    let found = told(&server, &["map", "locate", "h", UUID]).await;
    assert_eq!(found["key"]["uuid"], UUID);

    let list = ["map", "create", "l", "--strategy", "list", "--key", "text"];
    told(
        &server,
        &[&list[..], &["--shard-of", "acme=a", "--shard-of", "b=c=b"]].concat(),
    )
    .await;
    assert_eq!(said(&server, &["map", "locate", "l", "b=c"]).await, "b\n");
    let (code, text) = refused(&server, &["map", "locate", "l", "nobody"]).await;
    assert_eq!(code, 3);
    assert!(text.contains("no shard owns key \"nobody\""), "{text}");
    told(&server, &["map", "assign", "l", "--shard-of", "nobody=a"]).await;
    assert_eq!(
        said(&server, &["map", "locate", "l", "nobody"]).await,
        "a\n"
    );
    let (code, text) = refused(&server, &["map", "assign", "l", "--shard-of", "acme=b"]).await;
    assert_ne!(code, 0);
    assert!(text.contains("overlap"), "{text}");

    let composite = ["map", "create", "c", "--key", "text,integer"];
    told(
        &server,
        &[
            &composite[..],
            &["--range", "..eu,5=a", "--range", "eu,5..=b"],
        ]
        .concat(),
    )
    .await;
    assert_eq!(said(&server, &["map", "locate", "c", "eu,4"]).await, "a\n");
    assert_eq!(said(&server, &["map", "locate", "c", "eu,5"]).await, "b\n");
    let (code, _) = refused(&server, &["map", "create", "x", "--range", "1..x=a"]).await;
    assert_eq!(code, 64);
}

#[tokio::test]
async fn a_map_and_its_settings_come_from_files() {
    let server = Server::start().await;
    let dir = server.database.cluster.dir();
    let file = |name: &str| {
        dir.join(format!("{name}-{}.yaml", server.url.len()))
            .display()
            .to_string()
    };
    let (map, settings) = (file("map"), file("settings"));
    let text = "strategy: list\nkey: [integer]\nmappings:\n- {keys: {list: [1, 2]}, shard: a}\n\
                settings: {tables: {orders: tenant_id}, sequences: keep}\n";
    std::fs::write(&map, text).unwrap();
    let made = told(&server, &["map", "create", "f", "--file", &map]).await;
    assert_eq!(
        (&made["name"], &made["settings"]["sequences"]),
        (&json!("f"), &json!("keep"))
    );
    std::fs::write(
        &settings,
        "reference: [countries]\nthrough: {items: {parent: orders}}\n",
    )
    .unwrap();
    let seen = told(
        &server,
        &["map", "set", "f", &settings, "--ignore", "audit"],
    )
    .await;
    assert_eq!(
        (&seen["reference"], &seen["ignore"]),
        (&json!(["countries"]), &json!(["audit"]))
    );
    assert_eq!(
        (&seen["through"]["items"]["parent"], &seen["sequences"]),
        (&json!("orders"), &json!("keep"))
    );
}

#[tokio::test]
async fn versions_made_by_hand_are_joined_compared_and_reverted() {
    let server = Server::start().await;
    let parts = [
        "--range", "0..5=a", "--range", "5..9=a", "--range", "20..30=b",
    ];
    told(&server, &[&["map", "create", "m"][..], &parts].concat()).await;
    let joined = told(&server, &["map", "join", "m"]).await;
    assert_eq!(
        (
            &joined["version"],
            joined["mappings"].as_array().unwrap().len()
        ),
        (&json!(2), 2)
    );
    let again = told(&server, &["map", "join", "m"]).await;
    assert_eq!(again["version"], 2);
    told(&server, &["map", "assign", "m", "--range", "9..20=b"]).await;
    let changed = told(&server, &["map", "diff", "m", "1", "3"]).await;
    assert_eq!(changed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&changed[0]["from"], &changed[0]["to"]),
        (&Value::Null, &json!("b"))
    );
    assert_eq!(
        told(&server, &["map", "history", "m"])
            .await
            .as_array()
            .unwrap()
            .len(),
        3
    );
    // Keys that had no owner cannot go back to none.
    assert_eq!(refused(&server, &["map", "revert", "m", "1"]).await.0, 4);
    assert_eq!(refused(&server, &["map", "diff", "m", "1", "9"]).await.0, 3);
    let csv = said(&server, &["map", "export", "m", "--format", "csv"]).await;
    assert!(csv.starts_with("from,to,shard\n"), "{csv}");
    let file = server
        .database
        .cluster
        .dir()
        .join(format!("map-{}.csv", server.url.len()));
    std::fs::write(&file, &csv).unwrap();
    let copy = told(&server, &["map", "import", "copy", file.to_str().unwrap()]).await;
    let map = told(&server, &["map", "show", "m"]).await;
    assert_eq!(copy["mappings"], map["mappings"]);
}

#[tokio::test]
async fn settings_are_merged_and_contradictions_are_named() {
    let server = Server::start().await;
    let line = [
        "map",
        "set",
        "tenants",
        "--table",
        "orders=tenant_id",
        "--reference",
        "countries",
    ];
    told(&server, &line).await;
    let line = [
        "map",
        "set",
        "tenants",
        "--pin",
        "eu=region:eu@..100",
        "--exclude",
        "big=b@500..600",
    ];
    let settings = told(
        &server,
        &[&line[..], &["--check-every", "1h", "--sequences", "block"]].concat(),
    )
    .await;
    assert_eq!(settings["tables"]["orders"], "tenant_id");
    assert_eq!(settings["rules"][0]["labels"]["region"], "eu");
    assert_eq!(
        settings["rules"][1]["keys"]["range"][0],
        json!({"from": 500, "to": 600})
    );
    assert_eq!(
        (&settings["check_every"], &settings["sequences"]),
        (&json!(3600), &json!("block"))
    );
    let settings = told(
        &server,
        &[
            "map",
            "set",
            "tenants",
            "--drop-rule",
            "eu",
            "--forget",
            "countries",
        ],
    )
    .await;
    assert_eq!(settings["rules"].as_array().unwrap().len(), 1);
    let (_, text) = refused(&server, &["map", "set", "tenants", "--ignore", "orders"]).await;
    assert!(text.contains("public.orders is listed twice"), "{text}");
    let (_, text) = refused(&server, &["map", "set", "tenants", "--table", "t=a,b"]).await;
    assert!(text.contains("names 2 key column(s)"), "{text}");
}

#[tokio::test]
async fn shards_have_labels_capacity_and_space() {
    let server = Server::start().await;
    let line = [
        "shard",
        "add",
        "e",
        "host=x",
        "--label",
        "region=eu",
        "--label",
        "tier=gold",
    ];
    let shard = told(
        &server,
        &[&line[..], &["--capacity", "200", "--space", "1000"]].concat(),
    )
    .await;
    assert_eq!(
        (&shard["number"], &shard["labels"]["tier"]),
        (&json!(3), &json!("gold"))
    );
    let line = [
        "shard",
        "set",
        "e",
        "--unlabel",
        "tier",
        "--label",
        "region=us",
        "--space",
        "0",
    ];
    let shard = told(&server, &line).await;
    assert_eq!(shard["labels"], json!({"region": "us"}));
    assert_eq!(
        (&shard["capacity"], &shard["space"]),
        (&json!(200), &Value::Null)
    );
    assert_eq!(
        refused(&server, &["shard", "set", "e", "--capacity", "0"])
            .await
            .0,
        1
    );
}

/// The request that `plan LINE --request` prints.
async fn built(server: &Server, line: &str) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    let text = said(server, &[&["plan"][..], &words, &["--request"]].concat()).await;
    let request = plans::request::Request::parse(&text);
    serde_json::to_value(request.expect(&text)).unwrap()
}

#[tokio::test]
async fn requests_are_built_from_flags() {
    let server = Server::start().await;
    let line = "isolate tenants 42 --to b --offline --cutover automatic --hold 0";
    let seen = built(&server, line).await;
    assert_eq!(
        (&seen["operation"], &seen["key"]),
        (&json!("isolate"), &json!(42))
    );
    assert_eq!(seen["options"]["mode"], "offline");
    assert_eq!(seen["options"]["hold"], json!({"seconds": 0}));
    let seen = built(&server, "merge tenants --from a --from b --into c").await;
    assert_eq!(seen["sources"], json!(["a", "b"]));
    let seen = built(&server, "move tenants --from a --to b --keys -5..10").await;
    assert_eq!(seen["moves"][0]["keys"], json!({"from": -5, "to": 10}));
    let line = "split tenants --source a --even rows --into a --into b=3";
    let seen = built(&server, line).await;
    assert_eq!(
        (&seen["even"], &seen["into"][1]["share"]),
        (&json!("rows"), &json!(3))
    );
    let line = "drain tenants --shard a --drop-tables --override-rules because";
    let seen = built(&server, line).await;
    assert_eq!(seen["drop_tables"], true);
    assert_eq!(seen["options"]["override_rules"], "because");
    let line = "rebalance tenants --by writes --threshold 20 --for 30s";
    let seen = built(&server, line).await;
    assert_eq!(
        (&seen["threshold_percent"], &seen["watch_seconds"]),
        (&json!(20), &json!(30))
    );
}

/// Map `m`: below 100 on `a`, the rest on `b`, with a table.
async fn two_shards(server: &Server) {
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
async fn seen_by<T>(
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
    let seen = match &task.look {
        Look::Rows { table } => Seen::Rows(RowsSeen {
            table: table.to_string(),
            unmapped: u64::from(task.shard.name == ShardName::from("a")),
            unmapped_keys: vec![KeyRows {
                key: Key::Int(-3),
                rows: 1,
            }],
            ..RowsSeen::default()
        }),
        Look::Schema => Seen::Schema { tables: Vec::new() },
        Look::Reference => Seen::Reference { tables: Vec::new() },
        Look::Guards => Seen::Guards { broken: Vec::new() },
        Look::Sequences => Seen::Sequences {
            sequences: Vec::new(),
        },
        Look::Present { .. } => Seen::Present { keys: Vec::new() },
    };
    Ok(Inspected::Check(Checked {
        shard: task.shard.name.clone(),
        seen,
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
        assert_eq!(task.query, "select tenant, home from directory");
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
        &["--query", "select tenant, home from directory"],
    ]
    .concat();
    let map = seen_by(&agent, told(&server, &line), see).await;
    assert_eq!(map["mappings"][0]["keys"]["list"], json!(["acme", "core"]));
    assert_eq!(said(&server, &["map", "locate", "d", "bolt"]).await, "b\n");
}
