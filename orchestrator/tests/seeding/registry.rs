//! How a standby is registered, and what makes it a shard of its own.

use super::{Stage, primary, promoted, source_row, standby};
use crate::fixture::{program, step_name};
use plans::identity::DatabaseIdentity;
use serde_json::{Value, json};

#[tokio::test]
async fn a_standby_is_registered_besides_its_primary_and_once_by_address() {
    let stage = Stage::new().await;
    assert_eq!(stage.registered("b").await, standby());
    let again = "postgres://other@b:5432/app";
    stage.set("c", standby());
    let refused = stage.add("c", again).await;
    assert_eq!(refused.status(), 409);
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["code"], "shard.taken", "{body}");
    assert_eq!(
        stage.add("c", "host=c dbname=app user=u").await.status(),
        201
    );
    // The primary's database is a shard already, whatever the address.
    stage.set("d", primary());
    assert_eq!(
        stage.add("d", "host=d dbname=app user=u").await.status(),
        409
    );
    let list = program(&stage.server.url).args(["shard", "list"]).output();
    stage.reconcile(&json!({})).await;
    let list = String::from_utf8(list.await.unwrap().stdout).unwrap();
    let is_standby = |name: &str| {
        let mut lines = list.lines();
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        line.contains("; a standby")
    };
    assert_eq!(
        ["a ", "b ", "c "].map(is_standby),
        [false, true, true],
        "{list}"
    );
}

#[tokio::test]
async fn the_result_of_the_promotion_is_registered_and_nothing_else() {
    let stage = Stage::new().await;
    let id = stage.submit().await;
    let open = stage.agent.run_to("open_capture").await;
    assert_eq!(open.target.identity, Some(standby()));
    assert_eq!(
        open.surplus_keys,
        Some(crate::fixture::keys(None, Some(100)))
    );
    // Shard `b` has a copy of the row.
    stage.set_rows(["a", "b"].map(|shard| (shard, source_row(id.as_str()))));
    assert_eq!(stage.reconcile(&json!({})).await["findings"], json!([]));
    stage.agent.done(&open).await;
    let promote = stage.agent.take("promote").await;
    // The server is promoted, and the step has not reported it yet.
    stage.set("b", promoted());
    assert_eq!(stage.reconcile(&json!({})).await["findings"], json!([]));
    assert_eq!(stage.registered("b").await, standby());
    stage.promote(&promote).await;
    assert_eq!(stage.registered("b").await, promoted());
    let next = stage.agent.take("catch_up").await;
    assert_eq!(next.target.identity, Some(promoted()));
    assert_eq!(next.source.identity, Some(primary()));
}

#[tokio::test]
async fn a_lost_registration_of_the_promotion_is_repaired_by_dispatches_and_probes() {
    let stage = Stage::new().await;
    stage.submit().await;
    let promote = stage.agent.run_to("promote").await;
    stage.promote(&promote).await;
    let pool = stage.server.database.pool().await;
    let forget = || async {
        // As after a crash between the journal and the registry.
        let sql = "set session_replication_role = replica; \
            update shardwright.server_seen set standby = true, timeline = 1, identity = null where number = 2; \
            reset session_replication_role";
        sqlx::raw_sql(sql).execute(&pool).await.unwrap();
        assert_eq!(stage.registered("b").await, standby());
    };
    forget().await;
    let next = stage.agent.next().await;
    assert_eq!(step_name(&next), "catch_up");
    assert_eq!(next.target.identity, Some(promoted()));
    assert_eq!(stage.registered("b").await, promoted());
    // Also while no agent claims anything.
    forget().await;
    assert_eq!(stage.reconcile(&json!({})).await["findings"], json!([]));
    assert_eq!(stage.registered("b").await, promoted());
}

#[tokio::test]
async fn a_standby_that_someone_promoted_is_reported_and_stays_registered() {
    let stage = Stage::new().await;
    let elsewhere = DatabaseIdentity {
        id: primary().id,
        ..promoted()
    };
    stage.set("b", elsewhere);
    stage.set_rows(["a", "b"].map(|shard| (shard, source_row("m123456789"))));
    let report = stage.reconcile(&json!({})).await;
    let findings = report["findings"].as_array().unwrap();
    let kinds: Vec<_> = findings.iter().map(|f| (&f["shard"], &f["kind"])).collect();
    assert!(
        kinds.contains(&(&json!("b"), &json!("failed_over"))),
        "{report}"
    );
    assert_eq!(stage.registered("b").await, standby());
    // An operator cannot make it a shard by accepting it.
    let accept = json!({"accept": ["b"], "reason": "r"});
    let refused = stage.reconcile(&accept).await;
    let refused = refused.to_string();
    assert!(refused.contains("create the standby again"), "{refused}");
    // The standby that was created again is the registered one.
    stage.set("b", standby());
    stage.set_rows([]);
    assert_eq!(stage.reconcile(&json!({})).await["findings"], json!([]));
}
