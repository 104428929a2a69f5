//! Connection strings that lead to another database than the shard's: both shards are databases of one server.

use crate::stage::{Stage, count, count_in, sql};

/// The words of a refusal, with its exit code.
async fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.run(args).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{args:?}: {said}");
    said
}

#[tokio::test]
async fn exchanged_connection_strings_are_refused_in_the_hold_and_the_owner_keeps_its_rows() {
    let stage = Stage::new("exchanged").await;
    sql(&stage.a, "postgres", "create database app_b").await;
    let (a, b) = (
        stage.a.dsn("app", "postgres"),
        stage.a.dsn("app_b", "postgres"),
    );
    let said = refused(&stage, &["shard", "set", "b", "--dsn", &b]).await;
    assert!(said.contains("but shard b is the database"), "{said}");
    let said = refused(&stage, &["shard", "add", "c", "--dsn", &a]).await;
    assert!(said.contains("the database of shard a"), "{said}");
    let replaced = ["--replaced", "--reason", "it is beside a from now on"];
    let set_b = [&["shard", "set", "b", "--dsn", &b], &replaced[..]].concat();
    assert!(stage.run(&set_b).await.status.success());

    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    for (name, other, dsn) in [("a", "b", &b), ("b", "a", &a)] {
        let set = ["shard", "set", name, "--dsn", dsn];
        let said = refused(&stage, &set).await;
        assert!(
            said.contains(&format!("the database of shard {other}")),
            "{said}"
        );
        let _ = refused(&stage, &[&set, &replaced[..]].concat()).await;
    }
    // Nor does another one become the shard while the migration lasts.
    let elsewhere = stage.b.dsn("app", "postgres");
    let set = ["shard", "set", "a", "--dsn", &elsewhere];
    let said = refused(&stage, &[&set, &replaced[..]].concat()).await;
    assert!(said.contains(&id), "{said}");
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
    let (moved, kept) = (
        "select count(*) from public.orders where tenant_id >= 500",
        "select count(*) from public.orders where tenant_id < 500",
    );
    assert_eq!(count_in(&stage.a, "app_b", moved).await, 2004);
    assert_eq!(
        (count(&stage.a, moved).await, count(&stage.a, kept).await),
        (0, 1996)
    );
}
