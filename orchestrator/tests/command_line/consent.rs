//! Changes that need consent, dry runs, and the reasons of commands.

use super::{json, run};
use crate::fixture::{Server, program};
use serde_json::Value;

#[tokio::test]
async fn nothing_grave_is_done_without_consent_and_nothing_at_all_on_a_dry_run() {
    let server = Server::start().await;
    let url = server.url.as_str();
    assert_eq!(json(url, "shard add c host=z -o json").await.0, 0);
    for (line, code, said) in [
        ("shard remove c", 64, "--yes"),
        ("shard remove c --dry-run", 0, "Removes shard c"),
        ("shard remove nothing --dry-run", 3, "nothing"),
        ("token revoke ada", 64, "--yes"),
        ("token create ada --role viewer --dry-run", 0, "ada"),
        ("shard add d host=z --dry-run", 0, "Registers shard d"),
        ("shard set c --capacity 7 --dry-run", 0, "shard c"),
        ("cleanup --apply", 64, "--yes"),
        ("reconcile --apply", 64, "--yes"),
        ("reconcile --accept a", 64, "--yes"),
        ("map join nothing --dry-run", 3, "nothing"),
    ] {
        let output = run(url, line).await;
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {text}");
        assert!(text.contains(said), "{line}: {text}");
    }
    let (_, shards) = json(url, "shard list -o json").await;
    let names: Vec<_> = shards
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["name"])
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(
        json(url, "token list -o json").await.1,
        serde_json::json!([])
    );
    let line = ["shard", "remove", "c", "--yes", "--reason", "it was a test"];
    let removed = program(url).args(line).args(["-o", "json"]).output().await;
    let removed = removed.unwrap();
    assert_eq!(removed.status.code(), Some(0));
    let removed: Value = serde_json::from_slice(&removed.stdout).unwrap();
    assert_eq!(removed, serde_json::json!({"kind": "shard", "name": "c"}));
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], "it was a test", "{trail}");
}

#[tokio::test]
async fn a_revoked_token_is_printed_as_a_removed_object_is() {
    let server = Server::start().await;
    let url = server.url.as_str();
    for name in ["ada", "eve"] {
        let line = format!("token create {name} --role viewer -o json");
        assert_eq!(json(url, &line).await.0, 0);
    }
    let (code, revoked) = json(url, "token revoke ada --yes --reason left -o json").await;
    let ada = serde_json::json!({"kind": "token", "name": "ada"});
    assert_eq!((code, revoked), (0, ada));
    let output = run(url, "token revoke eve --yes").await;
    assert_eq!(output.stdout, b"token eve revoked\n");
    let (_, tokens) = json(url, "token list -o json").await;
    let tokens = tokens.as_array().unwrap().iter();
    assert_eq!(
        tokens
            .filter(|token| !token["revoked_at"].is_null())
            .count(),
        2
    );
}

#[tokio::test]
async fn a_version_and_a_mend_made_by_hand_say_why() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let made = "map create gap --range ..5=a --range 10..=a -o json";
    assert_eq!(json(url, made).await.0, 0);
    let why = "die Lücke war ein Versehen";
    let line = "map assign gap --range 5..10=b --yes --reason";
    let mut command = program(url);
    let assigned = command.args(line.split(' ')).arg(why).output().await;
    let assigned = assigned.unwrap();
    let said = String::from_utf8(assigned.stderr).unwrap();
    assert_eq!(assigned.status.code(), Some(0), "{said}");
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], why, "{trail}");

    // What is mended has to be of the version in force; refused orders are in the trail too.
    let request = serde_json::json!({"map": "gap", "map_version": 99, "mends": []});
    let file = server.database.cluster.dir().join("mend-of-99.yaml");
    std::fs::write(&file, request.to_string()).unwrap();
    let mut command = program(url);
    command.args(["map", "mend", "--yes", "--reason", "CHG-1042"]);
    let mended = command.arg(&file).output().await.unwrap();
    assert_ne!(mended.status.code(), Some(64));
    let trail = server.json("/api/v1/audit").await;
    assert_eq!(trail[0]["data"]["why"], "CHG-1042", "{trail}");
}
