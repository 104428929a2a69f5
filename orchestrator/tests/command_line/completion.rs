//! Completion as shells request it: the real program, with the variable and the words of a command line.

use crate::fixture::{Server, free_address, program};
use plans::names::Direction;
use std::time::{Duration, Instant};
use tokio::process::Command;

/// The candidates for the last word, as fish reads them: name and description, without options.
async fn complete(mut command: Command, line: &str) -> Vec<(String, String)> {
    command.env("SHARDWRIGHT_COMPLETE", "fish").arg("--");
    let output = command.args(line.split(' ')).output().await.unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..]),
        "{line}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let pairs = text.lines().filter(|line| !line.starts_with('-'));
    pairs
        .map(|pair| {
            let (name, about) = pair.split_once('\t').unwrap_or((pair, ""));
            (name.to_owned(), about.to_owned())
        })
        .collect()
}

async fn names(url: &str, line: &str) -> Vec<String> {
    let found = complete(program(url), line).await;
    found.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn a_migration_is_completed_where_its_state_permits_the_command() {
    let server = Server::start().await;
    let (url, agent) = (server.url.as_str(), server.agent("x", "x1"));
    let id = server.apply(&agent, "").await.to_string();
    let expected = async |verbs: &[&str], ids: &[&String]| {
        for verb in verbs {
            for line in [
                format!("shardwright {verb} "),
                format!("shardwright migration {verb} "),
            ] {
                let found = names(url, &line).await;
                assert_eq!(found.iter().collect::<Vec<_>>(), ids, "{line}");
            }
        }
    };
    let open = [
        "show", "watch", "wait", "report", "pause", "abort", "set rate",
    ];
    expected(&open, &[&id]).await;
    expected(&["resume", "approve", "rollback", "finish", "verify"], &[]).await;
    let shown = complete(program(url), "shardwright show ").await;
    assert!(
        shown[0].1.ends_with(", split of map tenants, a -> b"),
        "{shown:?}"
    );
    assert_eq!(
        names(url, "shardwright show nothing").await,
        Vec::<String>::new()
    );

    agent.done(&agent.run_to("open_reverse").await).await;
    crate::fixture::until("waiting", || async {
        let view = server.json(&format!("/api/v1/migrations/{id}")).await;
        (view["state"] == "waiting").then_some(())
    })
    .await;
    expected(&["approve", "verify", "pause", "abort"], &[&id]).await;
    expected(&["resume", "rollback", "finish"], &[]).await;
    let shown = complete(program(url), "shardwright approve ").await;
    assert_eq!(shown[0].1, "waiting, split of map tenants, a -> b");

    let paused = program(url).args(["pause", &id]).output().await.unwrap();
    assert!(paused.status.success());
    expected(&["resume", "show", "abort"], &[&id]).await;
    expected(&["approve", "pause", "retry"], &[]).await;
}

#[tokio::test]
async fn after_the_flip_only_the_commands_of_the_hold_are_completed() {
    let server = Server::start().await;
    let (url, agent) = (server.url.as_str(), server.agent("x", "x1"));
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    for (verb, is_completed) in [
        ("rollback", true),
        ("finish", true),
        ("show", true),
        ("abort", false),
        ("approve", false),
    ] {
        let found = names(url, &format!("shardwright {verb} ")).await;
        let expected = is_completed.then(|| id.to_string());
        assert_eq!(found, Vec::from_iter(expected), "{verb}");
    }
}

#[tokio::test]
async fn an_operation_is_completed_with_its_moves() {
    let server = Server::start().await;
    let (url, agent) = (server.url.as_str(), server.agent("x", "x1"));
    let added = program(url).args(["shard", "add", "c", "host=z"]).output();
    assert!(added.await.unwrap().status.success());
    let request = crate::operations::two_moves("moves_at_once: 1");
    let view = server.submit(&agent, &request).await;
    let id = view["id"].as_str().unwrap();
    let all = [id.to_owned(), format!("{id}x1"), format!("{id}x2")];
    assert_eq!(names(url, "shardwright abort ").await, all);
    // A comparison is of one move.
    agent.done(&agent.run_to("open_reverse").await).await;
    crate::fixture::until("completed", || async {
        let found = names(url, "shardwright verify ").await;
        (found == all[1..2]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn maps_and_shards_are_completed_where_they_make_sense() {
    let server = Server::start().await;
    let url = server.url.as_str();
    for line in [
        "shard add c host=z --label region=eu",
        "map create events --strategy hash --buckets 8 --shards a,b",
        "map create billing --strategy group --shard-of invoices=b --group invoices=invoice",
    ] {
        let made = program(url).args(line.split(' ')).output().await.unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{line}: {said}");
    }
    for (line, found) in [
        ("map show ", &["billing", "events", "tenants"][..]),
        ("map show te", &["tenants"]),
        ("map buckets ", &["events"]),
        ("map revert tenants ", &["1"]),
        ("map locate billing ", &["invoices"]),
        ("map locate tenants ", &[]),
        ("plan isolate billing ", &["invoices"]),
        ("plan move tenants --from ", &["a"]),
        ("plan move events --from ", &["a", "b"]),
        ("plan move tenants --from a --to ", &["a", "b", "c"]),
        ("plan move --from ", &["a", "b", "c"]),
        ("doctor --map ", &["billing", "events", "tenants"]),
        ("shard set ", &["a", "b", "c"]),
        ("shard remove ", &["c"]),
        ("shard add ", &[]),
        ("map create events --shards a,", &["a,a", "a,b", "a,c"]),
    ] {
        assert_eq!(
            names(url, &format!("shardwright {line}")).await,
            found,
            "{line}"
        );
    }
    let shards = complete(program(url), "shardwright shard set ").await;
    assert_eq!(shards[2], ("c".to_owned(), "shard 3, region=eu".to_owned()));
    let maps = complete(program(url), "shardwright map show ").await;
    assert_eq!(maps[1].1, "hash, version 1, on a, b");
    // A connection string is none of what is completed.
    assert!(!format!("{shards:?}").contains("host="), "{shards:?}");
}

#[tokio::test]
async fn completion_uses_the_controller_of_the_command_line() {
    let server = Server::start().await;
    let nowhere = format!("http://{}", free_address());
    let line = format!("shardwright --controller {} shard show ", server.url);
    assert_eq!(names(&nowhere, &line).await, ["a", "b"]);
    let config = server.database.cluster.dir().join("completion.yaml");
    let contexts = format!("contexts:\n  here:\n    controller: {}\n", server.url);
    std::fs::write(&config, contexts).unwrap();
    let with_config = || {
        let mut command = program(&nowhere);
        command.env("SHARDWRIGHT_CONFIG", &config);
        command
    };
    let found = complete(with_config(), "shardwright shard show --context here ").await;
    assert_eq!(found.len(), 2, "{found:?}");
    let contexts = complete(with_config(), "shardwright context use ").await;
    assert_eq!(contexts, [("here".to_owned(), server.url.clone())]);
}

#[tokio::test]
async fn without_an_answer_nothing_is_completed_or_said() {
    let nowhere = format!("http://{}", free_address());
    assert_eq!(
        names(&nowhere, "shardwright show ").await,
        Vec::<String>::new()
    );
    // A controller that accepts the connection and is silent.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let began = Instant::now();
    assert_eq!(names(&url, "shardwright show ").await, Vec::<String>::new());
    let took = began.elapsed();
    let (least, most) = (Duration::from_millis(900), Duration::from_secs(20));
    assert!(least < took && took < most, "{took:?}");
    assert_eq!(names(&nowhere, "shardwright resu").await, ["resume"]);
}

#[tokio::test]
async fn bash_completes_a_line_with_the_script_that_the_program_prints() {
    let server = Server::start().await;
    let folder = env!("CARGO_BIN_EXE_shardwright").strip_suffix("/shardwright");
    let path = format!("{}:{}", folder.unwrap(), std::env::var("PATH").unwrap());
    let script = "source <(shardwright completions bash) || exit 1
        COMP_WORDS=(shardwright shard show '') COMP_CWORD=3 COMP_TYPE=9
        _clap_complete_shardwright shardwright '' show 2>/dev/null
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script]).env("PATH", path);
    bash.env("SHARDWRIGHT_CONTROLLER", &server.url);
    let output = bash.output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(names, ["a", "b"], "{text}");
}
