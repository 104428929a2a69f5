//! Maps over the command line: strategies, files, changes by hand, settings, shards, requests from flags.

use crate::fixture::{Server, program, refused, said, told};
use serde_json::{Value, json};

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
    told(
        &server,
        &["map", "assign", "l", "--shard-of", "nobody=a", "--yes"],
    )
    .await;
    assert_eq!(
        said(&server, &["map", "locate", "l", "nobody"]).await,
        "a\n"
    );
    let (code, text) = refused(
        &server,
        &["map", "assign", "l", "--shard-of", "acme=b", "--yes"],
    )
    .await;
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
    // A table that is listed anew leaves the list where it was.
    std::fs::write(
        &settings,
        "tables: {orders: tenant_id, public.items: order_id}\n",
    )
    .unwrap();
    let seen = told(&server, &["map", "set", "f", &settings]).await;
    assert_eq!(
        (&seen["tables"]["public.items"], &seen["through"]),
        (&json!("order_id"), &Value::Null)
    );
    std::fs::write(
        &settings,
        "tables: {orders: tenant_id}\nreference: [public.orders]\n",
    )
    .unwrap();
    let (code, said) = refused(&server, &["map", "set", "f", &settings]).await;
    assert!(
        code != 0 && said.contains("public.orders is listed twice: under `tables` and `reference`"),
        "{said}"
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
    told(
        &server,
        &["map", "assign", "m", "--range", "9..20=b", "--yes"],
    )
    .await;
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
    assert!(
        text.contains("public.orders is listed twice: under `tables` and `ignore`"),
        "{text}"
    );
    let (_, text) = refused(&server, &["map", "set", "tenants", "--table", "t=a,b"]).await;
    assert!(text.contains("has 2 key column(s)"), "{text}");
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
        64
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

#[tokio::test]
async fn a_map_without_a_migration_is_removed_and_its_name_is_free() {
    let server = Server::start().await;
    told(&server, &["map", "create", "stray", "--range", "..=a"]).await;
    let dry = ["map", "remove", "stray", "--dry-run"];
    let output = program(&server.url).args(dry).output().await.unwrap();
    assert!(output.status.success());
    let remove = ["map", "remove", "stray", "--yes"];
    let output = program(&server.url).args(remove).output().await.unwrap();
    let written = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{written}");
    let (code, _) = refused(&server, &["map", "show", "stray"]).await;
    assert_eq!(code, 3);
    let pool = server.database.pool().await;
    let asked = sqlx::query("select shardwright.shard_for('stray', '1')");
    let error = asked.fetch_one(&pool).await.unwrap_err();
    let state = error.as_database_error().and_then(|error| error.code());
    assert_eq!(state.as_deref(), Some("42704"));
    let create = [
        "map",
        "create",
        "stray",
        "--strategy",
        "hash",
        "--shards",
        "a,b",
    ];
    let map = told(&server, &create).await;
    assert_eq!(
        (&map["version"], &map["strategy"]),
        (&json!(3), &json!("hash"))
    );
    assert_eq!(server.json("/api/v1/maps/stray").await["version"], 3);
    let versions: Vec<(i64,)> = sqlx::query_as(
        "select distinct version from shardwright.shard_map_history where map = 'stray'",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(versions, [(3,)]);
    pool.close().await;

    // A single key of a virtual shard with an owner: its rows would stay.
    let single = json!({"hash": {"of": map["buckets"], "ranges": [], "except": [7]}});
    let assign = json!({"edit": "assign", "mappings": [{"keys": single, "shard": "b"}]});
    let answer = server.post("/api/v1/maps/stray/versions", &assign).await;
    assert_eq!(answer.status(), 422);
    assert!(answer.text().await.unwrap().contains("owns keys 7 already"));
    assert_eq!(server.json("/api/v1/maps/stray").await["version"], 3);

    let agent = server.agent("x", "1");
    let request = "operation: move\nmap: tenants\nmoves:\n- {source: a, target: b}\ntables: {orders: tenant_id}\n";
    let operation = server.submit(&agent, request).await;
    let id = operation["id"].as_str().unwrap();
    for option in ["--dry-run", "--yes"] {
        let (code, text) = refused(&server, &["map", "remove", "tenants", option]).await;
        assert_eq!(code, 7, "{text}");
        assert!(text.contains(id), "{text}");
    }
}
