//! The views of the control store that monitoring reads: they say what the API says, and nothing else can be read.

use crate::fixture::{Agent, Server, failure, step_name, stream_of, until};
use plans::failure::RetryClass;
use plans::id::MigrationId;
use plans::wire::{Dispatch, Outcome, Progress, TableProgress};
use serde_json::{Value, json};
use sqlx::PgPool;

/// The row of a view as JSON, in the session's time zone UTC.
async fn row(pool: &PgPool, view: &str, name: (&str, &str)) -> Value {
    let (column, value) = name;
    let text = format!("select to_jsonb(v) from shardwright.{view} v where v.{column} = $1");
    let found: Option<(Value,)> = sqlx::query_as(sqlx::AssertSqlSafe(text))
        .bind(value)
        .fetch_optional(pool)
        .await
        .unwrap();
    found.unwrap().0
}

/// A sign of life with figures of a table and of a stream; returns once they are in the store.
async fn tell(pool: &PgPool, agent: &Agent, dispatch: &Dispatch, rows: i64) {
    let mut holding = stream_of(dispatch, |stream| {
        stream.lag_bytes = 4096;
        stream.lag_ms = 1500;
    });
    holding.progress = Progress {
        tables: vec![table("public.orders", rows), table("public.items", rows)],
        rows_per_second: 12.5,
        bytes_per_second: 800.0,
        eta_seconds: Some(90.0),
        ..Progress::default()
    };
    until("kept", || async {
        agent.beat_with(holding.clone()).await;
        let id = dispatch.migration.as_str();
        let seen = row(pool, "migration_status", ("id", id)).await;
        let told = seen["rows_done"] == json!(2 * rows) && seen["lag_bytes"] == 4096;
        told.then_some(())
    })
    .await;
}

fn table(name: &str, rows: i64) -> TableProgress {
    TableProgress {
        table: name.to_owned(),
        rows_done: rows,
        rows_total: 100,
        bytes_done: rows * 10,
        bytes_total: 1000,
        phase: "copying".to_owned(),
    }
}

/// A moment in either form.
fn moment(value: &Value) -> Option<chrono::DateTime<chrono::Utc>> {
    let text = value.as_str()?;
    Some(chrono::DateTime::parse_from_rfc3339(text).unwrap().into())
}

/// Holds the views to what the API says of a migration.
async fn hold(server: &Server, pool: &PgPool, id: &MigrationId) -> (Value, Value) {
    // Both of one moment: nothing was changed meanwhile.
    let (api, seen) = until("at rest", || async {
        let api = server.view(id).await;
        let seen = row(pool, "migration_status", ("id", id.as_str())).await;
        let same = server.view(id).await["revision"] == api["revision"];
        same.then_some((api, seen))
    })
    .await;
    for (column, field) in [
        ("id", "/id"),
        ("operation_id", "/operation_id"),
        ("move", "/move"),
        ("operation", "/operation"),
        ("mode", "/mode"),
        ("map", "/map"),
        ("source", "/source"),
        ("target", "/target"),
        ("state", "/state"),
        ("ownership", "/ownership"),
        ("approved", "/approved"),
        ("waits_kind", "/waits/0/kind"),
        ("waits_for", "/waiting_for"),
        ("error_code", "/failure/code"),
        ("map_version_before", "/map_version/before"),
        ("map_version_after", "/map_version/after"),
        ("map_version_back", "/map_version/back"),
        ("submitted_by", "/submitted_by"),
    ] {
        let said = api.pointer(field).unwrap_or(&Value::Null);
        assert_eq!(&seen[column], said, "{column} of {seen}");
    }
    for column in ["created_at", "started_at", "finished_at"] {
        assert_eq!(moment(&seen[column]), moment(&api[column]), "{column}");
    }
    assert_eq!(seen["owned"], api["owner"]["live"] == true, "{seen}");
    for step in api["steps"].as_array().unwrap() {
        let text =
            "select to_jsonb(v) from shardwright.step_status v where migration = $1 and step = $2";
        let (seen,): (Value,) = sqlx::query_as(text)
            .bind(id.as_str())
            .bind(step["id"].as_str().unwrap())
            .fetch_one(pool)
            .await
            .unwrap();
        for column in ["kind", "state", "attempt", "epoch"] {
            assert_eq!(seen[column], step[column], "{column} of {seen}");
        }
        let code = step.pointer("/failure/code").unwrap_or(&Value::Null);
        assert_eq!(&seen["error_code"], code);
        assert_eq!(moment(&seen["next_try_at"]), moment(&step["next_at"]));
        let agent = match step["state"] == "running" {
            true => &api["owner"]["agent"],
            false => &Value::Null,
        };
        assert_eq!(&seen["agent"], agent);
    }
    (api, seen)
}

#[tokio::test]
async fn the_views_say_what_the_api_says_from_start_to_end() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "max_attempts: 1").await;
    let (_, seen) = hold(&server, &pool, &id).await;
    assert_eq!(seen["progress"], Value::Null, "no rows are counted yet");

    let copy = agent.run_to("copy").await;
    tell(&pool, &agent, &copy, 30).await;
    let (api, seen) = hold(&server, &pool, &id).await;
    assert_eq!(
        (&seen["phase"], &seen["phase_state"]),
        (&json!("copy"), &json!("running"))
    );
    let tables = api["steps"][3]["progress"]["tables"].as_array().unwrap();
    let rows: i64 = tables
        .iter()
        .map(|t| t["rows_done"].as_i64().unwrap())
        .sum();
    assert_eq!(seen["rows_done"], json!(rows));
    assert_eq!(seen["rows_expected"], json!(200));
    assert_eq!(seen["progress"], json!(0.3));
    assert_eq!(seen["rows_per_second"], json!(12.5));
    assert_eq!(seen["remaining"], "00:01:30");
    assert_eq!(seen["lag"], "00:00:01.5");

    let cause = failure(RetryClass::None);
    agent
        .report(&copy, Outcome::Failed { failure: cause })
        .await;
    server.in_state(&id, "failed").await;
    let (_, seen) = hold(&server, &pool, &id).await;
    assert_eq!(seen["error_code"], "test.failed");
    server.command(&id, "resume").await;
    server.command(&id, "pause").await;
    hold(&server, &pool, &id).await;
    server.command(&id, "resume").await;

    let open = agent.run_to("open_reverse").await;
    agent.done(&open).await;
    server.in_state(&id, "waiting").await;
    let (_, seen) = hold(&server, &pool, &id).await;
    assert_eq!(seen["waits_kind"], "approval");
    assert_eq!(seen["phase"], "cutover");
    server.command(&id, "abort").await;
    let unwind = agent.run_to("unwind").await;
    let (_, seen) = hold(&server, &pool, &id).await;
    assert_eq!(seen["phase"], "unwind");
    agent.done(&unwind).await;
    server.in_state(&id, "unwound").await;
    let (_, seen) = hold(&server, &pool, &id).await;
    assert_eq!(seen["phase"], Value::Null);
    let events = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    let last = events.as_array().unwrap().last().unwrap();
    assert_eq!(moment(&seen["updated_at"]), moment(&last["at"]));
}

#[tokio::test]
async fn the_views_count_shards_maps_and_agents() {
    let server = Server::start().await;
    let pool = server.database.pool().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let begun = agent.next().await;
    assert_eq!(step_name(&begun), "preflight");
    let from = row(&pool, "shard_status", ("shard", "a")).await;
    assert_eq!(
        (&from["mappings"], &from["moving_from"]),
        (&json!(1), &json!(1))
    );
    let to = row(&pool, "shard_status", ("shard", "b")).await;
    assert_eq!((&to["mappings"], &to["moving_to"]), (&json!(0), &json!(1)));
    let map = row(&pool, "map_status", ("map", "tenants")).await;
    assert_eq!(
        (&map["version"], &map["migrations"]),
        (&json!(1), &json!(1))
    );
    let agent = row(&pool, "agent_status", ("agent", "x")).await;
    assert_eq!(agent["migrations"], 1, "{id}");
}

/// The statements of docs/sql-views.md that make the role.
fn role_as_documented() -> &'static str {
    let docs = include_str!("../../docs/sql-views.md");
    let (_, code) = docs.split_once("```sql\n").unwrap();
    code.split_once("```").unwrap().0
}

#[tokio::test]
async fn a_role_with_the_documented_grants_reads_the_views_and_no_secret() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let pool = server.database.pool().await;
    let mut session = pool.acquire().await.unwrap();
    // Roles are of the whole server, which other tests share.
    let role = format!("status_{}", uuid::Uuid::new_v4().simple());
    let made = role_as_documented().replace("shardwright_status", &role);
    for text in [made, format!("set role {role}")] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(text))
            .execute(&mut *session)
            .await
            .unwrap();
    }
    let views = [
        "migration_status",
        "step_status",
        "shard_status",
        "map_status",
        "agent_status",
    ];
    for view in views {
        let text = format!("select to_jsonb(v)::text from shardwright.{view} v");
        let rows: Vec<(String,)> = sqlx::query_as(sqlx::AssertSqlSafe(text))
            .fetch_all(&mut *session)
            .await
            .unwrap();
        assert!(!rows.is_empty(), "{view} of {id}");
        for (text,) in rows {
            assert!(!text.contains("host=") && !text.contains("${env"), "{text}");
        }
    }
    let closed = [
        "migration",
        "step",
        "shard",
        "token",
        "session",
        "event",
        "audit",
        "operation",
    ];
    for table in closed {
        let text = format!("select from shardwright.{table}");
        let refused = sqlx::query(sqlx::AssertSqlSafe(text))
            .execute(&mut *session)
            .await;
        let code = refused.unwrap_err();
        let code = code.as_database_error().and_then(|e| e.code());
        assert_eq!(code.as_deref(), Some("42501"), "{table}");
    }
}
