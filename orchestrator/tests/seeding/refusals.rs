//! Requests that cannot be planned, because of other maps or other migrations, and commands that skip standbys.

use super::{Stage, split};
use crate::fixture::program;
use serde_json::{Value, json};

/// The problems for which a plan is refused.
fn problems((status, body): (u16, Value)) -> String {
    assert_ne!(status, 200, "{body}");
    body.to_string()
}

#[tokio::test]
async fn a_source_with_keys_of_another_map_cannot_be_seeded() {
    let stage = Stage::new().await;
    let map = json!({"name": "shops", "strategy": "range", "key": ["bigint"],
        "mappings": [{"keys": {"range": [{}]}, "shard": "a"}]});
    assert_eq!(stage.server.post("/api/v1/maps", &map).await.status(), 201);
    let refused = problems(stage.plan(&split("seed: standby")).await);
    assert!(
        refused.contains("shard a owns keys of map shops too"),
        "{refused}"
    );
    assert_eq!(stage.plan(&split("seed: copy")).await.0, 200);
}

#[tokio::test]
async fn a_standby_is_the_target_of_one_migration_only() {
    let stage = Stage::new().await;
    let other = "{operation: move, map: tenants, tables: {orders: tenant_id}, moves: [{source: a, target: b, keys: {to: 10}}], options: {seed: SEED}}";
    let planned = stage.plan(&other.replace("SEED", "standby")).await;
    assert_eq!(planned.0, 200, "{planned:?}");
    let id = stage.submit().await;
    for seed in ["standby", "copy"] {
        let refused = problems(stage.plan(&other.replace("SEED", seed)).await);
        let expected = format!("shard b is the target of migration {id}, which promotes it");
        assert!(refused.contains(&expected), "{refused}");
    }
    // The plan that was made before is refused when it is submitted.
    let path = "/api/v1/operations?queue=true";
    let late = stage.during(stage.server.post(path, &planned.1)).await;
    assert_ne!(late.status(), 201);
}

#[tokio::test]
async fn the_command_line_plans_a_seeded_split() {
    let stage = Stage::new().await;
    let line = [
        "plan",
        "split",
        "tenants",
        "--source",
        "a",
        "--into",
        "a=..100",
        "--into",
        "b=100..",
        "--table",
        "orders=tenant_id",
        "--seed",
        "standby",
    ];
    let mut run = program(&stage.server.url);
    let output = stage.during(run.args(line).output()).await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("standby of shard a, promoted"), "{text}");
    let mut wrong = program(&stage.server.url);
    wrong.args(&line[..line.len() - 1]).arg("clone");
    let wrong = wrong.output().await.unwrap();
    assert_eq!(wrong.status.code(), Some(64));
}

#[tokio::test]
async fn cleanup_doctor_and_map_check_do_not_examine_standbys() {
    let stage = Stage::new().await;
    let body = json!({"shards": ["b"]});
    let report = stage.posted("/api/v1/fleet/cleanup", &body).await;
    assert_eq!(report["standbys"], json!(["b"]), "{report}");
    assert_eq!(report["leftovers"], json!([]), "{report}");
    let body = json!({"shard": "b"});
    let report = stage.posted("/api/v1/doctor", &body).await;
    assert_eq!(report["standbys"], json!(["b"]), "{report}");
    assert_eq!(report["shards"], json!([]), "{report}");
    let check = stage.posted("/api/v1/maps/tenants/check", &json!({})).await;
    assert_eq!(check["standbys"], json!(["b"]), "{check}");
    let failed = check["failed"].as_array().unwrap();
    assert!(failed.iter().all(|part| part["shard"] == "a"), "{check}");
}
