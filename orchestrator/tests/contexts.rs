//! Controllers that have a name: what is asked, with whose token, and where that is said.

use crate::fixture::{Server, program};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

/// A folder with a config file of its own, which goes with it.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        let folder = format!("shardwright-contexts-{}", uuid::Uuid::now_v7());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("config.yaml")
    }

    async fn run(&self, line: &str, environment: &[(&str, &str)]) -> Output {
        let mut command = program("");
        command.env_remove("SHARDWRIGHT_CONTROLLER");
        command.env("SHARDWRIGHT_CONFIG", self.file());
        command.envs(environment.iter().copied());
        command.args(line.split(' ')).output().await.unwrap()
    }

    async fn ok(&self, line: &str) -> Value {
        self.ok_in(line, &[]).await
    }

    async fn ok_in(&self, line: &str, environment: &[(&str, &str)]) -> Value {
        let output = self.run(line, environment).await;
        assert!(output.status.success(), "{line}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Each setting as `value from origin`.
fn told(settings: &Value) -> Vec<String> {
    let settings = settings.as_array().unwrap().iter();
    let told = settings.map(|s| format!("{} from {}", s["value"], s["origin"].as_str().unwrap()));
    told.collect()
}

#[tokio::test]
async fn settings_come_from_flags_then_the_environment_then_the_context() {
    let home = Home::new();
    let show = "context show -o json";
    let unset = [
        "null from default".to_owned(),
        "null from default".to_owned(),
    ];
    let first = told(&home.ok(show).await);
    assert_eq!(first[0], "\"http://127.0.0.1:7432\" from default");
    assert_eq!(first[1..], unset);

    home.ok("context set prod --controller http://p --token-file /t --ca-file /c")
        .await;
    home.ok("context set test --controller http://q").await;
    let expected = [
        "\"http://p\" from context prod",
        "\"/t\" from context prod",
        "\"/c\" from context prod",
    ];
    assert_eq!(told(&home.ok(show).await), expected);
    home.ok("context use test").await;
    assert_eq!(
        told(&home.ok(show).await)[0],
        "\"http://q\" from context test"
    );
    let named = [("SHARDWRIGHT_CONTEXT", "prod")];
    assert_eq!(told(&home.ok_in(show, &named).await), expected);

    // The token of a context is for its own controller alone.
    let elsewhere = [
        ("SHARDWRIGHT_CONTROLLER", "http://e"),
        ("SHARDWRIGHT_CONTEXT", "prod"),
    ];
    let seen = told(&home.ok_in(show, &elsewhere).await);
    assert_eq!(
        seen[0],
        "\"http://e\" from environment SHARDWRIGHT_CONTROLLER"
    );
    assert_eq!(seen[1..], unset);
    let seen = told(
        &home
            .ok_in("context show -o json --context prod", &elsewhere)
            .await,
    );
    assert_eq!(seen, expected, "what was typed goes before the environment");
    let line = "context show -o json --context prod --controller http://f --token-file /u";
    let seen = told(&home.ok(line).await);
    assert_eq!(seen[0], "\"http://f\" from flag --controller");
    assert_eq!(seen[1], "\"/u\" from flag --token-file");
    assert_eq!(seen[2], unset[1]);
}

#[tokio::test]
async fn contexts_are_listed_changed_and_forgotten() {
    let server = Server::start().await;
    let home = Home::new();
    home.ok(&format!("context set here --controller {}", server.url))
        .await;
    assert!(
        home.ok("shard list -o json").await.is_array(),
        "the context is used"
    );
    home.ok("context set here --token-file /nowhere").await;
    let listed = home.ok("context list -o json").await;
    let expected = json!([{"name": "here", "current": true, "controller": server.url, "token_file": "/nowhere"}]);
    assert_eq!(listed, expected);
    let output = home.run("shard list", &[]).await;
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(home.file()).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    home.ok("context remove here").await;
    assert_eq!(home.ok("context list -o json").await, json!([]));
    for (line, code) in [
        ("context use here", 3),
        ("context set empty", 64),
        ("shard list --context here", 3),
    ] {
        let output = home.run(line, &[]).await;
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_told_with_its_place() {
    let home = Home::new();
    std::fs::write(home.file(), "contexts:\n  a: {controler: http://x}\n").unwrap();
    let output = home.run("shard list", &[]).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64), "{said}");
    for words in ["config.yaml", "controler", "line 2"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(Path::new(&home.file()).exists(), "it is left as it is");
}

#[tokio::test]
async fn a_token_that_others_can_read_is_warned_of() {
    let server = Server::start().await;
    let home = Home::new();
    let token = home.0.join("token");
    std::fs::write(&token, "secret").unwrap();
    let line = format!(
        "shard list --controller {} --token-file {}",
        server.url,
        token.display()
    );
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&token, mode).unwrap();
        let output = home.run(&line, &[]).await;
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            said.contains("other accounts can read the token"),
            warned,
            "{said}"
        );
    }
}
