//! The number of virtual shards of a hash map changes: one version, and every key keeps its shard for every reader.

use crate::fixture::{Server, program, refused, told, until};
use plans::id::MigrationId;
use plans::key::Key;
use plans::shard_map::ShardMap;
use serde_json::{Value, json};
use sqlx::PgPool;

/// The golden keys of one column, with their texts and the type of the column.
fn golden() -> Vec<(String, Vec<(Key, Value)>)> {
    let text = include_str!("../../docs/golden/keys.json");
    let document: Value = serde_json::from_str(text).unwrap();
    let groups = document["groups"].as_array().unwrap().clone();
    let of_group = |group: Value| {
        let columns: Vec<String> = serde_json::from_value(group["columns"].clone()).unwrap();
        let [column] = columns.as_slice() else {
            return None;
        };
        let keys = group["keys"].as_array().unwrap().iter();
        let keys = keys.map(|entry| {
            let key = serde_json::from_value(entry["key"].clone()).unwrap();
            (key, entry["texts"].clone())
        });
        Some((column.replace("varchar", "text"), keys.collect()))
    };
    groups.into_iter().filter_map(of_group).collect()
}

/// The shard of each key, by the map as programs read it, and by SQL.
async fn routes(server: &Server, pool: &PgPool, name: &str, keys: &[(Key, Value)]) -> Vec<String> {
    let map = server.json(&format!("/api/v1/maps/{name}")).await;
    let map: ShardMap = serde_json::from_value(map).unwrap();
    let mut found = Vec::new();
    for (key, texts) in keys {
        let texts: Vec<String> = serde_json::from_value(texts.clone()).unwrap();
        let ask = format!("select shardwright.shard_for('{name}', variadic $1)");
        let row: (String,) = sqlx::query_as(sqlx::AssertSqlSafe(ask))
            .bind(texts)
            .fetch_one(pool)
            .await
            .unwrap();
        assert_eq!(row.0, map.locate(key).unwrap().shard.as_str(), "{key}");
        found.push(row.0);
    }
    found
}

async fn change(server: &Server, name: &str, buckets: u32) -> Value {
    let buckets = buckets.to_string();
    let line = ["map", "buckets", name, &buckets, "--yes"];
    told(server, &line).await
}

#[tokio::test]
async fn golden_keys_keep_their_shards() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    for (number, (kind, keys)) in golden().into_iter().enumerate() {
        let name = format!("hash-{number}");
        let of = |from, to, shard| {
            let ranges = json!([{ "from": from, "to": to }]);
            json!({ "keys": { "hash": { "of": 16, "ranges": ranges } }, "shard": shard })
        };
        // Each third key is on shard b, wherever its virtual shard is.
        let single: Vec<&Key> = keys.iter().map(|(key, _)| key).step_by(3).collect();
        let single = json!({ "hash": { "of": 16, "ranges": [], "except": single } });
        let mappings = [
            of(0, 5, "a"),
            of(5, 8, "b"),
            of(8, 12, "a"),
            of(12, 16, "b"),
            json!({ "keys": single, "shard": "b" }),
        ];
        let map = json!({
            "name": name, "strategy": "hash", "key": [kind], "buckets": 16, "mappings": mappings,
        });
        assert_eq!(server.post("/api/v1/maps", &map).await.status(), 201);
        let before = routes(&server, &pool, &name, &keys).await;
        assert!(
            before.contains(&"a".to_owned()) && before.contains(&"b".to_owned()),
            "{kind}"
        );
        assert!(before.iter().step_by(3).all(|shard| shard == "b"), "{kind}");
        for (version, buckets) in [(2, 32), (3, 4096), (4, 16)] {
            let map = change(&server, &name, buckets).await;
            assert_eq!(
                (&map["version"], &map["buckets"]),
                (&json!(version), &json!(buckets))
            );
            assert_eq!(
                routes(&server, &pool, &name, &keys).await,
                before,
                "{kind} {buckets}"
            );
        }
        let first = server
            .json(&format!("/api/v1/maps/{name}/versions/1"))
            .await;
        let last = server.json(&format!("/api/v1/maps/{name}")).await;
        assert_eq!(first["mappings"], last["mappings"]);
    }
    pool.close().await;
}

/// Versions are read as they were, and no key has another shard in a later one.
#[tokio::test]
async fn ten_thousand_mappings_become_one_version() {
    const COUNT: u32 = 16_384;
    let server = Server::start().await;
    let pool = server.database.pool().await;
    let (mut mappings, mut from) = (Vec::new(), 0);
    while from < COUNT {
        let to = from + if mappings.len() < 6_384 { 2 } else { 1 };
        let shard = ["a", "b"][mappings.len() % 2];
        let ranges = json!([{ "from": from, "to": to }]);
        mappings
            .push(json!({ "keys": { "hash": { "of": COUNT, "ranges": ranges } }, "shard": shard }));
        from = to;
    }
    assert_eq!(mappings.len(), 10_000);
    let map = json!({
        "name": "big", "strategy": "hash", "key": ["bigint"], "buckets": COUNT, "mappings": mappings,
    });
    assert_eq!(server.post("/api/v1/maps", &map).await.status(), 201);
    let all = golden();
    let (_, keys) = all.iter().find(|(kind, _)| kind == "bigint").unwrap();
    let before = routes(&server, &pool, "big", keys).await;
    let dry = ["map", "buckets", "big", "32768", "--dry-run"];
    let output = program(&server.url).args(dry).output().await.unwrap();
    let written = String::from_utf8(output.stderr).unwrap();
    assert!(
        written.contains("20000 mappings in place of 10000"),
        "{written}"
    );
    assert_eq!(server.json("/api/v1/maps/big").await["version"], 1);
    let (code, text) = refused(&server, &["map", "buckets", "nothing", "64", "--dry-run"]).await;
    assert_eq!(code, 3);
    assert!(text.contains("nothing"), "{text}");
    let changed = change(&server, "big", 2 * COUNT).await;
    assert_eq!(
        (&changed["version"], &changed["buckets"]),
        (&json!(2), &json!(2 * COUNT))
    );
    assert_eq!(changed["mappings"].as_array().unwrap().len(), 20_000);
    assert_eq!(routes(&server, &pool, "big", keys).await, before);
    let difference = told(&server, &["map", "diff", "big", "1", "2"]).await;
    assert_eq!(difference, json!([]));
    let first = server.json("/api/v1/maps/big/versions/1").await;
    assert_eq!(
        (&first["version"], &first["buckets"]),
        (&json!(1), &json!(COUNT))
    );
    assert_eq!(first["mappings"].as_array().unwrap().len(), 10_000);
    let first: ShardMap = serde_json::from_value(first).unwrap();
    let owners = keys
        .iter()
        .map(|(key, _)| first.locate(key).unwrap().shard.to_string());
    assert_eq!(owners.collect::<Vec<_>>(), before);
    let (code, text) = refused(&server, &["map", "buckets", "big", "8192", "--yes"]).await;
    assert_ne!(code, 0);
    assert!(text.contains("of others"), "{text}");
    pool.close().await;
}

#[tokio::test]
async fn rules_name_the_same_keys_and_a_migration_prevents_the_change() {
    let server = Server::start().await;
    let halves = [("a", 0, 8), ("b", 8, 16)].map(|(shard, from, to)| {
        let ranges = json!([{ "from": from, "to": to }]);
        json!({ "keys": { "hash": { "of": 16, "ranges": ranges } }, "shard": shard })
    });
    let map = json!({
        "name": "h", "strategy": "hash", "key": ["bigint"], "buckets": 16, "mappings": halves,
        "settings": { "rules": [{
            "name": "here", "effect": "pin", "shard": "a",
            "keys": { "hash": { "of": 16, "ranges": [{ "from": 1, "to": 2 }] } },
        }] },
    });
    assert_eq!(server.post("/api/v1/maps", &map).await.status(), 201);
    let map = change(&server, "h", 32).await;
    let ranges = &map["settings"]["rules"][0]["keys"]["hash"];
    let expected =
        json!({ "of": 32, "ranges": [{ "from": 1, "to": 2 }, { "from": 17, "to": 18 }] });
    assert_eq!(ranges, &expected);
    let revisions = server.json("/api/v1/maps/h/settings").await;
    assert_eq!(revisions[0]["revision"], 2);

    let agent = server.agent("x", "1");
    let request = "operation: move\nmap: h\nmoves:\n- {source: a, target: b, keys: {buckets: [{from: 2, to: 4}]}}\ntables: {orders: tenant_id}\n";
    let operation = server.submit(&agent, request).await;
    let id = operation["id"].as_str().unwrap().to_owned();
    let (code, text) = refused(&server, &["map", "buckets", "h", "64", "--yes"]).await;
    assert_ne!(code, 0);
    assert!(text.contains(&id), "{text}");
    assert_eq!(server.json("/api/v1/maps/h").await["buckets"], 32);
    let id = MigrationId(id);
    server.command(&id, "abort").await;
    let unwind = agent.take("unwind").await;
    agent.done(&unwind).await;
    until("the migration ends", || async {
        let view = server.view(&id).await;
        (!view["finished_at"].is_null()).then_some(())
    })
    .await;
    let plan = server.planned(&agent, request).await;
    assert_eq!(change(&server, "h", 64).await["buckets"], 64);

    // A plan that names virtual shards of another number is not admitted, also not to the queue; with fewer virtual shards
    // its keys could be impossible, and its cutover would be refused again and again.
    for queue in [false, true] {
        let path = format!("/api/v1/operations?queue={queue}");
        let response = agent.look_until(server.post(&path, &plan)).await;
        assert_eq!(response.status(), 409, "{}", response.text().await.unwrap());
    }
    let view = server.planned(&agent, request).await;
    assert_eq!(view["moves"][0]["move"]["keys"]["hash"]["of"], 64, "{view}");
    server.admitted(&agent, &view, false).await;
}
