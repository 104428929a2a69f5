//! Every finding on every schema is one that the file beside it expects and calls true.

use crate::fleet::Fleet;
use demo::shop::{Shop, TABLES};
use plans::key_set::KeySet;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// A schema, how an operator would shard it, and what is to be found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// A file in `schemas/`; none: the demo's.
    schema: Option<String>,
    /// A file that is run after it, from here.
    then: Option<String>,
    /// Statements after that.
    rows: Option<String>,
    mode: String,
    /// The type of the key.
    key: String,
    /// Keys from here on are to move.
    at: Value,
    /// The settings of the map.
    settings: Value,
    findings: Vec<Judged>,
}

/// What is found of some objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    code: String,
    /// Without the shard.
    objects: Vec<String>,
    /// Whether it would really go wrong, or is worth knowing.
    verdict: bool,
    why: String,
}

/// Code and object.
type Found = BTreeSet<(String, String)>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor")
}

/// All cases by name.
fn cases() -> Vec<(String, Case)> {
    crate::cases::read(&folder().join("judged"))
}

/// The two shards of a case; a test's names live as long as the test.
fn shards(name: &str) -> [&'static str; 2] {
    ["a", "b"].map(|side| &*format!("{name}_{side}").leak())
}

impl Case {
    /// Makes the schema on the first shard; the second one stays empty.
    async fn make(&self, fleet: &Fleet, shard: &str) {
        match &self.schema {
            Some(file) => load(fleet, shard, &folder().join("schemas").join(file)).await,
            None => demo(fleet, shard).await,
        }
        if let Some(file) = &self.then {
            load(fleet, shard, &folder().join(file)).await;
        }
        if let Some(rows) = &self.rows {
            fleet
                .sql(shard, &format!("set search_path = public; {rows}"))
                .await;
        }
    }

    /// Makes the map, and a request that takes the keys from `at` on to the second shard.
    async fn request(&self, fleet: &Fleet, name: &str) -> String {
        let [from, to] = shards(name);
        let map = json!({
            "name": name, "strategy": "range", "key": [self.key],
            "mappings": [{"keys": {"range": [{}]}, "shard": from}],
            "settings": self.settings,
        });
        fleet.map(map).await;
        let request = json!({
            "operation": "split", "map": name, "source": from,
            "into": [
                {"shard": from, "keys": {"to": self.at}},
                {"shard": to, "keys": {"from": self.at}},
            ],
            "options": {"mode": self.mode},
        });
        fleet.request(&request.to_string())
    }

    fn judged(&self) -> Found {
        let judged = self.findings.iter().flat_map(|judged| {
            let objects = judged.objects.iter();
            objects.map(|object| (judged.code.clone(), object.clone()))
        });
        judged.collect()
    }
}

/// Runs a file as its author would: with psql.
async fn load(fleet: &Fleet, shard: &str, file: &Path) {
    let server = fleet.server();
    let password = std::fs::read_to_string(server.password_file()).unwrap();
    let mut psql = Command::new(server.binaries().path("psql"));
    psql.args([
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-U",
        "postgres",
        "-d",
        shard,
        "-h",
        server.host(),
    ]);
    psql.args(["-p", &server.port().to_string()])
        .arg("-f")
        .arg(file);
    let output = psql
        .env("PGPASSWORD", password.trim())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", file.display());
}

async fn demo(fleet: &Fleet, shard: &str) {
    let dsn = connect::Dsn::parse(&fleet.server().dsn(shard, "postgres")).unwrap();
    let all = KeySet::range(None, None);
    Shop::new(0.0001, 1).load(&dsn, &all, None).await.unwrap();
}

/// Runs the script of what is found on each shard, as an operator would; what it covered, and is found still.
async fn left_by_script(fleet: &Fleet, name: &str, request: &str) -> Vec<String> {
    let file = Path::new(request).with_file_name("fix.sql");
    let with_fix = |found: &[Value]| -> Found {
        let covered = found.iter().filter(|finding| finding["fix"] != Value::Null);
        covered.map(code_and_object).collect()
    };
    let path = file.to_str().unwrap();
    let before = findings(fleet, &[request, "--script", path, "--deletes"]).await;
    let covered = with_fix(&before);
    if covered.is_empty() {
        return Vec::new();
    }
    let statements = std::fs::read_to_string(&file).unwrap();
    for shard in shards(name) {
        if statements.contains(&format!("= '{shard}' as chosen")) {
            load(fleet, shard, &file).await;
        }
    }
    let after: Found = findings(fleet, &[request])
        .await
        .iter()
        .map(code_and_object)
        .collect();
    let left = covered.intersection(&after);
    left.map(|(code, object)| format!("{name}: {code} of {object} is there after the script"))
        .collect()
}

fn code_and_object(finding: &Value) -> (String, String) {
    let text = |field: &str| finding[field].as_str().unwrap().to_owned();
    let object = text("object");
    let object = object
        .split_once(", ")
        .map_or(&*object, |(_, object)| object);
    (text("code"), object.to_owned())
}

/// The findings as the doctor prints them for programs.
async fn findings(fleet: &Fleet, what: &[&str]) -> Vec<Value> {
    let output = fleet.run(&[&["doctor", "-o", "json"], what].concat()).await;
    let said = String::from_utf8_lossy(&output.stderr);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(answer.get("failed"), None, "{answer}");
    let parts =
        ["shards", "moves"].map(|part| answer[part].as_array().cloned().unwrap_or_default());
    let found = parts.iter().flatten();
    found
        .flat_map(|part| part["findings"].as_array().unwrap().clone())
        .collect()
}

/// What the doctor finds beside what is said of the server of the tests itself: it does without fsync, and its agents are
/// superusers.
pub(crate) async fn doctor(fleet: &Fleet, what: &[&str]) -> Found {
    let found = findings(fleet, what).await;
    let mut found: Found = found.iter().map(code_and_object).collect();
    let of_tests = |code: &str, object: &str| (code.to_owned(), object.to_owned());
    found.remove(&of_tests("server.fsync", "setting fsync"));
    // A move is not refused for it: only the examination of a shard says it.
    found.remove(&of_tests("role.superuser", "role postgres"));
    found
}

#[tokio::test]
async fn every_finding_on_every_schema_is_judged_and_none_is_false() {
    let cases = cases();
    let names: Vec<&'static str> = cases.iter().flat_map(|(name, _)| shards(name)).collect();
    let fleet = Fleet::start("schemas", &names).await;
    fleet.sql(names[0], "create role app").await;
    let mut wrong = Vec::new();
    for (name, case) in &cases {
        case.make(&fleet, shards(name)[0]).await;
        let request = case.request(&fleet, name).await;
        let (found, judged) = (doctor(&fleet, &[&request]).await, case.judged());
        for (code, object) in found.difference(&judged) {
            wrong.push(format!("{name}: nobody judged {code} of {object}"));
        }
        for (code, object) in judged.difference(&found) {
            wrong.push(format!("{name}: not found: {code} of {object}"));
        }
        for judged in &case.findings {
            if !judged.verdict || judged.why.trim().is_empty() {
                wrong.push(format!("{name}: {} is false: {}", judged.code, judged.why));
            }
        }
        println!("{name}: {} findings, all of them judged true", found.len());
        wrong.extend(left_by_script(&fleet, name, &request).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_demos_tables_are_those_of_its_file() {
    let cases = cases();
    let (_, demo) = cases.iter().find(|(name, _)| name == "demo").unwrap();
    let listed: BTreeSet<&str> = demo.settings["tables"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(listed, TABLES.into_iter().collect());
}
