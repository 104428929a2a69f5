//! Routing by SQL in the control store: the keys, bytes, hashes and owners that every other reader has.

use crate::fixture::Server;
use serde_json::{Value, json};
use sqlx::PgPool;

/// What the golden file has of keys of these columns.
fn groups() -> Vec<Value> {
    let text = include_str!("../../docs/golden/keys.json");
    let document: Value = serde_json::from_str(text).unwrap();
    document["groups"].as_array().unwrap().clone()
}

fn strings(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Types of a group's columns; a varchar is a text.
fn types(group: &Value) -> Vec<String> {
    let names = strings(&group["columns"]).into_iter();
    names.map(|name| name.replace("varchar", "text")).collect()
}

/// The answer of `select EXPRESSION` for the texts of one key and the types of its columns.
async fn asked(pool: &PgPool, expression: &str, texts: &Value, types: &[String]) -> Option<String> {
    let sql = format!(
        "select ({expression})::text from (select $1::text[] as texts, $2::text[] as types) k"
    );
    let row: (Option<String>,) = sqlx::query_as(sqlx::AssertSqlSafe(sql))
        .bind(strings(texts))
        .bind(types)
        .fetch_one(pool)
        .await
        .unwrap();
    row.0
}

#[tokio::test]
async fn bytes_and_hashes_are_the_golden_ones() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    const BYTES: &str = "select encode(string_agg(shardwright.key_bytes(k, t), ''), 'hex') from unnest(texts, types) c (k, t)";
    let mut compared = 0;
    for group in groups() {
        let types = types(&group);
        for entry in group["keys"].as_array().unwrap() {
            let bytes = asked(&pool, BYTES, &entry["texts"], &types).await;
            assert_eq!(bytes.as_deref(), entry["ordered"].as_str(), "{entry}");
            if types.len() == 1 {
                let hash = "shardwright.key_hash(texts[1], types[1])";
                let hash = asked(&pool, hash, &entry["texts"], &types).await;
                assert_eq!(hash.as_deref(), entry["hash"].as_str(), "{entry}");
            }
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
    pool.close().await;
}

/// A map whose lower half is on `a` and upper half on `b`, by this strategy, and a key of each.
fn halves(strategy: &str, group: &Value) -> (Vec<Value>, usize) {
    let keys = group["keys"].as_array().unwrap();
    let middle = keys.len() / 2;
    let at = |from: usize, to: usize| -> Vec<&Value> {
        keys[from..to].iter().map(|k| &k["key"]).collect()
    };
    let of = |keys: Value, shard: &str| json!({"keys": keys, "shard": shard});
    let mappings = match strategy {
        "range" => vec![
            of(json!({"range": [{"to": keys[middle]["key"]}]}), "a"),
            of(json!({"range": [{"from": keys[middle]["key"]}]}), "b"),
        ],
        "list" => vec![
            of(json!({"list": at(0, middle)}), "a"),
            of(json!({"list": at(middle, keys.len() - 1)}), "b"),
        ],
        _ => vec![
            of(
                json!({"hash": {"of": 16, "ranges": [{"from": 0, "to": 8}]}}),
                "a",
            ),
            of(
                json!({"hash": {"of": 16, "ranges": [{"from": 8, "to": 16}]}}),
                "b",
            ),
        ],
    };
    (mappings, middle)
}

#[tokio::test]
async fn keys_of_every_type_have_the_owner_that_the_map_names() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    for (nth, group) in groups().iter().enumerate() {
        let (types, keys) = (types(group), group["keys"].as_array().unwrap());
        for strategy in ["range", "hash", "list"] {
            if types.len() > 1 && strategy != "range" {
                continue;
            }
            let (mappings, middle) = halves(strategy, group);
            let name = format!("{strategy}-{nth}");
            let mut map =
                json!({"name": name, "strategy": strategy, "key": types, "mappings": mappings});
            if strategy == "hash" {
                map["buckets"] = json!(16);
            }
            let made = server.post("/api/v1/maps", &map).await;
            assert_eq!(made.status(), 201, "{map}");
            for (at, entry) in keys.iter().enumerate() {
                let here = match (strategy, at) {
                    ("hash", _) if entry["buckets"][1].as_u64() < Some(8) => Some("a"),
                    ("hash", _) => Some("b"),
                    ("list", at) if at + 1 == keys.len() => None,
                    (_, at) => Some(if at < middle { "a" } else { "b" }),
                };
                let ask = format!("shardwright.shard_for('{name}', variadic texts)");
                let found = asked(&pool, &ask, &entry["texts"], &types).await;
                assert_eq!(found.as_deref(), here, "{name}: {entry}");
            }
        }
    }
    pool.close().await;
}

#[tokio::test]
async fn who_may_ask_sees_names_of_shards_and_nothing_else() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    let role = format!("route_{}", uuid::Uuid::now_v7().simple());
    for sql in [
        format!("create role {role}"),
        format!("grant usage on schema shardwright to {role}"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&pool)
            .await
            .unwrap();
    }
    let mut session = pool.acquire().await.unwrap();
    let ask = async |session: &mut sqlx::PgConnection, sql: &str| {
        let row: Result<(Option<String>,), _> = sqlx::query_as(sqlx::AssertSqlSafe(sql.to_owned()))
            .fetch_one(session)
            .await;
        let state = |error: sqlx::Error| {
            error
                .as_database_error()
                .unwrap()
                .code()
                .unwrap()
                .into_owned()
        };
        row.map(|row| row.0).map_err(state)
    };
    let become_it = format!("set role {role}");
    sqlx::query(sqlx::AssertSqlSafe(become_it))
        .execute(&mut *session)
        .await
        .unwrap();
    let route = "select shardwright.shard_for('tenants', '4711')";
    assert_eq!(ask(&mut session, route).await, Err("42501".to_owned()));
    sqlx::query("reset role")
        .execute(&mut *session)
        .await
        .unwrap();
    let grant = format!("grant execute on function shardwright.shard_for to {role}");
    sqlx::query(sqlx::AssertSqlSafe(grant))
        .execute(&mut *session)
        .await
        .unwrap();
    let become_it = format!("set role {role}");
    sqlx::query(sqlx::AssertSqlSafe(become_it))
        .execute(&mut *session)
        .await
        .unwrap();
    assert_eq!(ask(&mut session, route).await, Ok(Some("a".to_owned())));
    for (sql, state) in [
        ("select shardwright.shard_for('nothing', '1')", "42704"),
        ("select shardwright.shard_for('tenants', '1', '2')", "22023"),
        ("select shardwright.shard_for('tenants', null)", "22023"),
        ("select shardwright.shard_for('tenants', 'x')", "22P02"),
        ("select dsn from shardwright.shard limit 1", "42501"),
    ] {
        assert_eq!(ask(&mut session, sql).await, Err(state.to_owned()), "{sql}");
    }
    drop(session);
    pool.close().await;
}
