//! `agent remove`: the record of an agent that does not come back.

use crate::fixture::{Server, program, quick, stream_of, until};
use orchestrator::controller::ControllerSettings;
use plans::names::Direction;
use serde_json::json;
use std::time::Duration;

/// A server that counts an agent as gone two seconds after its lease.
async fn server(lease: Duration) -> Server {
    Server::with(ControllerSettings { lease, ..quick() }).await
}

/// The exit code and stderr.
async fn run(server: &Server, line: &str) -> (i32, String) {
    let output = program(&server.url).args(line.split(' ')).output().await;
    let output = output.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said)
}

async fn agents(server: &Server) -> Vec<String> {
    let all = server.json("/api/v1/agents").await;
    let all = all.as_array().unwrap().iter();
    all.map(|agent| agent["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until the agent can be removed, as a dry run reports it.
async fn can_be_removed(server: &Server, name: &str) {
    until("removable", || async {
        let (code, _) = run(server, &format!("agent remove {name} --dry-run")).await;
        (code == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_is_gone_is_removed_once_and_can_come_back() {
    let server = server(Duration::from_millis(100)).await;
    let gone = server.agent("gone", "g1");
    gone.try_claims().await;
    let line = "agent remove gone --yes --reason CHG-1";
    let (code, said) = run(&server, line).await;
    assert_eq!(code, 7, "{said}");
    assert!(
        said.contains("agent gone may be running") && said.contains("hint: "),
        "{said}"
    );
    assert_eq!(run(&server, "agent remove gone --dry-run").await.0, 7);

    can_be_removed(&server, "gone").await;
    assert_eq!(agents(&server).await, ["gone"]);
    assert_eq!(run(&server, "agent remove gone").await.0, 64);
    let mut command = program(&server.url);
    command.args(line.split(' ')).args(["-o", "name"]);
    let removed = command.output().await.unwrap();
    assert_eq!(removed.status.code(), Some(0), "{removed:?}");
    assert_eq!(removed.stdout, b"gone\n");
    assert_eq!(agents(&server).await, Vec::<String>::new());
    let trail = server.json("/api/v1/audit").await;
    let removal = trail
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["action"] == "agent.removed");
    let removal = removal.unwrap_or_else(|| panic!("{trail}"));
    assert_eq!(
        (&removal["actor"], &removal["object"]),
        (&json!("eve"), &json!("agent gone"))
    );
    assert_eq!(removal["data"]["reason"], "CHG-1", "{removal}");

    for line in [
        line,
        "agent remove gone --dry-run",
        "agent remove never --yes",
    ] {
        let (code, said) = run(&server, line).await;
        assert_eq!(code, 3, "{line}: {said}");
    }
    gone.try_claims().await;
    assert_eq!(agents(&server).await, ["gone"]);
    // It runs, and this controller knows it from the agent itself.
    for line in [line, "agent remove gone --dry-run"] {
        let (code, said) = run(&server, line).await;
        assert_eq!(code, 7, "{line}: {said}");
        assert!(
            said.contains("its last request arrived at"),
            "{line}: {said}"
        );
    }
}

#[tokio::test]
async fn an_agent_with_a_migration_stays() {
    // The lease outlasts the test, so the migration stays assigned to the agent.
    let server = Server::with(ControllerSettings {
        lease: Duration::from_secs(600),
        ..quick()
    })
    .await;
    let busy = server.agent("busy", "b1");
    let id = server.apply(&busy, "").await;
    busy.next().await;
    let database = server.into_database();
    // After its restart the controller counts silence by a shorter lease.
    let lease = Duration::from_millis(100);
    let server = Server::on(database, ControllerSettings { lease, ..quick() }).await;
    let (code, said) = until("refused because of the migration", || async {
        let (code, said) = run(&server, "agent remove busy --yes").await;
        (!said.contains("may be running")).then_some((code, said))
    })
    .await;
    assert_eq!(code, 7, "{said}");
    let expected = format!("migration {id} is assigned to agent busy");
    assert!(said.contains(&expected), "{said}");
    assert!(said.contains(&format!("shardwright show {id}")), "{said}");
    assert_eq!(run(&server, "agent remove busy --dry-run").await.0, 7);
    assert_eq!(agents(&server).await, ["busy"]);
}

#[tokio::test]
async fn an_agent_whose_spool_is_needed_stays() {
    let server = server(Duration::from_secs(3)).await;
    let holder = server.agent("holder", "h1");
    let id = server.apply(&holder, "").await;
    let copy = holder.run_to("copy").await;
    let beat = stream_of(&copy, |stream| {
        stream.direction = Direction::Forward;
        stream.spooled_bytes = 4096;
    });
    holder.beat_with(beat).await;
    until("without an owner", || async {
        let view = server.json(&format!("/api/v1/migrations/{id}")).await;
        view["owner"].is_null().then_some(())
    })
    .await;
    let (code, said) = until("refused because of the spool", || async {
        let (code, said) = run(&server, "agent remove holder --yes").await;
        (!said.contains("may be running")).then_some((code, said))
    })
    .await;
    assert_eq!(code, 7, "{said}");
    let expected = format!(
        "the spool of agent holder has 4096 bytes of changes that migration {id} has not applied"
    );
    assert!(
        said.contains(&expected) && said.contains("--spool-dir"),
        "{said}"
    );
    assert_eq!(agents(&server).await, ["holder"]);

    // Another agent has taken the migration over, so nothing needs this spool.
    let other = server.agent("other", "o1");
    other.next().await;
    let (code, said) = run(&server, "agent remove holder --yes").await;
    assert_eq!(code, 0, "{said}");
}
