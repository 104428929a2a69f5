//! From databases that no controller knows to a registered fleet: `init`, then `fleet apply`.

use crate::fixture::{Database, Server, program};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;

const SHOP: &str = "create table tenants (id bigint primary key, name text);
    create table orders (tenant_id bigint references tenants, id bigint, primary key (tenant_id, id));
    create table schema_migrations (version text primary key);";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = format!("shardwright-adopt-{}", uuid::Uuid::now_v7());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> String {
        self.0.join("fleet.yaml").display().to_string()
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A database with the shop's tables and these tenants.
async fn shop(from: i64, to: i64) -> Database {
    let database = Database::new().await;
    let pool = database.pool().await;
    let fill = format!("insert into tenants select generate_series({from}, {to})");
    for sql in SHOP.split(';').chain([fill.as_str()]) {
        sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()))
            .execute(&pool)
            .await
            .unwrap();
    }
    pool.close().await;
    database
}

async fn run(url: &str, line: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = program(url).args(line).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

async fn ok(url: &str, line: &[&str]) -> Value {
    let (code, out, errors) = run(url, line).await;
    assert_eq!(code, 0, "{line:?}: {errors}");
    serde_json::from_str(&out).unwrap_or(Value::Null)
}

#[tokio::test]
async fn two_databases_are_looked_at_and_become_a_fleet() {
    let (low, high) = (shop(1, 40).await, shop(60, 90).await);
    let folder = Folder::new();
    let (a, b) = (format!("low={}", low.dsn), format!("high={}", high.dsn));
    let init = [
        "init",
        "--shard",
        &a,
        "--shard",
        &b,
        "--map",
        "shop",
        "--out",
        &folder.file(),
    ];
    let (code, out, told) = run("http://127.0.0.1:1", &init).await;
    assert_eq!((code, out.as_str()), (0, ""), "{told}");
    for part in [
        "key tenant_id (bigint)",
        "low has 1 to 40, high has 60 to 90",
        "fleet apply",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let file: Value = serde_saphyr::from_str(&folder.read()).unwrap();
    assert_eq!(file["shards"][0], json!({"name": "low", "dsn": low.dsn}));
    let (code, _, told) = run("http://127.0.0.1:1", &init).await;
    assert_eq!(code, 4, "a file that is there is left alone: {told}");

    let server = Server::start().await;
    let url = server.url.as_str();
    let file = folder.file();
    let apply = ["fleet", "apply", &file, "-o", "json"];
    let (code, _, told) = run(url, &[&apply[..3], &["--dry-run"]].concat()).await;
    assert!(code == 0 && told.contains("Registers shard low."), "{told}");
    assert_eq!(server.get("/api/v1/maps/shop").await.status(), 404);

    let done = |what: &str| {
        json!([
        {"kind": "shard", "name": "low", "done": what}, {"kind": "shard", "name": "high", "done": what},
        {"kind": "map", "name": "shop", "done": what}])
    };
    assert_eq!(ok(url, &apply).await, done("added"));
    assert_eq!(
        ok(url, &apply).await,
        done("unchanged"),
        "again, nothing is to be done"
    );
    let map = server.json("/api/v1/maps/shop").await;
    assert_eq!(
        map["settings"]["tables"],
        json!({"tenants": "id", "orders": "tenant_id"})
    );
    assert_eq!(map["settings"]["ignore"], json!(["schema_migrations"]));
    let keys: Vec<&Value> = map["mappings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["keys"])
        .collect();
    assert_eq!(
        keys,
        [
            &json!({"range": [{"to": 60}]}),
            &json!({"range": [{"from": 60}]})
        ]
    );
}

#[tokio::test]
async fn a_fleet_file_changes_what_it_names_and_no_owner_of_keys() {
    let server = Server::start().await;
    let (url, folder) = (server.url.as_str(), Folder::new());
    let file = folder.file();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let tenants = |rest: &str| {
        format!(
            "maps:\n- name: tenants\n  strategy: range\n  key: [bigint]\n  mappings: [{{keys: {{range: [{{}}]}}, shard: a}}]\n{rest}"
        )
    };
    write(&(tenants("  settings: {ignore: [x]}\n") + "shards: [{name: b, dsn: host=y}]\n"));
    let (code, _, told) = run(url, &["fleet", "apply", &file]).await;
    assert!(code == 64 && told.contains("--yes"), "{told}");
    let (code, _, told) = run(url, &["fleet", "apply", &file, "--dry-run"]).await;
    assert_eq!(code, 0);
    for part in [
        "shard b: connection string.",
        "settings of map tenants: ignore.",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let apply = ["fleet", "apply", &file, "--yes", "-o", "json"];
    ok(url, &apply).await;
    assert_eq!(server.json("/api/v1/shards/b").await["dsn"], "host=y");
    assert_eq!(
        server.json("/api/v1/maps/tenants").await["settings"]["ignore"],
        json!(["x"])
    );

    // Nothing is named, nothing changes; other owners are told and left.
    write(&tenants("").replace("shard: a", "shard: b"));
    let (code, _, told) = run(url, &apply).await;
    assert!(
        code == 0 && told.contains("the owners of keys differ"),
        "{told}"
    );
    let map = server.json("/api/v1/maps/tenants").await;
    assert_eq!(
        (&map["version"], &map["mappings"][0]["shard"]),
        (&json!(1), &json!("a"))
    );
    assert_eq!(map["settings"]["ignore"], json!(["x"]));

    for (text, code, said) in [
        (
            tenants("").replace("bigint", "text"),
            4,
            "cannot be changed",
        ),
        (tenants("  colour: red\n"), 64, "colour"),
        (
            "shards: [{name: c, dsn: host=x password=geheim}]\n".to_owned(),
            64,
            "password",
        ),
    ] {
        write(&text);
        let (seen, _, told) = run(url, &apply).await;
        assert!(seen == code && told.contains(said), "{text}: {seen} {told}");
        assert!(!told.contains("geheim"), "{told}");
    }
}

#[tokio::test]
async fn init_refuses_what_it_cannot_say_or_must_not_write() {
    let database = shop(1, 3).await;
    let good = format!("a={}", database.dsn);
    let nowhere = "http://127.0.0.1:1";
    for (line, code, said) in [
        (vec!["init"], 64, "--shard"),
        (vec!["init", "--shard", "host=x"], 64, "number 1"),
        (
            vec!["init", "--shard", "a=host=x password=hunter2"],
            64,
            "${env:NAME}",
        ),
        (
            vec!["init", "--shard", "a=postgres://u:hunter2@h/d"],
            64,
            "${env:NAME}",
        ),
        (
            vec!["init", "--shard", "a=host=x", "--shard", "a=host=x"],
            64,
            "twice",
        ),
        (
            vec!["init", "--shard", &good, "--key", "colour"],
            64,
            "no table has it",
        ),
    ] {
        let (seen, out, told) = run(nowhere, &line).await;
        assert_eq!(seen, code, "{line:?}: {told}");
        assert!(out.is_empty() && told.contains(said), "{line:?}: {told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
