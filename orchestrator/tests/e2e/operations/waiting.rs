//! While a cutover waits for its approval, and in a pause, no shard keeps log for the migration.

use crate::fleet::Fleet;
use plans::id::MigrationId;
use plans::names::Direction;
use serde_json::json;
use std::time::{Duration, Instant};

const SOURCE: &str = "
    create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
    insert into public.item select 150, i, 'seed' from generate_series(1, 50) i;
    analyze";

const MOVE: &str =
    "operation: move\nmap: shop\nmoves:\n- {source: a, target: b, keys: {from: 100}}\n";

/// What the server writes goes into one log for all of its databases.
const WRITE: &str = "create table if not exists public.noise (t text); insert into public.noise select repeat('x', 1000) from generate_series(1, 100)";

/// Writes, and waits until the slot of the stream back keeps nothing of what was there before.
async fn let_go(fleet: &Fleet, id: &MigrationId) {
    fleet.sql("b", WRITE).await;
    let session = fleet.session("b").await;
    let read = "select pg_current_wal_lsn()::text";
    let end: String = session.query_one(read, &[]).await.unwrap().get(0);
    let slot = id.slot(Direction::Reverse);
    let passed = format!(
        "select count(*) from pg_replication_slots where slot_name = '{slot}' and confirmed_flush_lsn >= '{end}'"
    );
    let deadline = Instant::now() + Duration::from_secs(60);
    while fleet.number("b", &passed).await == 0 {
        assert!(Instant::now() < deadline, "the target keeps its log");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn no_shard_keeps_log_while_a_cutover_is_waited_for() {
    let fleet = Fleet::start("waiting", &["a", "b"]).await;
    fleet.sql("a", SOURCE).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"item": "tenant_id"}},
        }))
        .await;
    let id = fleet.reach(MOVE, "waiting").await;
    let migration = MigrationId::from(id.as_str());
    let_go(&fleet, &migration).await;
    fleet.ok(&["pause", &id]).await;
    fleet.wait(&id, "paused").await;
    let_go(&fleet, &migration).await;
    let slot = migration.slot(Direction::Forward);
    let captured =
        format!("select count(*) from pg_replication_slots where slot_name = '{slot}' and active");
    assert_eq!(
        fleet.number("a", &captured).await,
        1,
        "changes are captured in a pause"
    );
    fleet.ok(&["abort", &id, "--yes"]).await;
    fleet.wait(&id, "unwound").await;
    assert_eq!(fleet.leftovers(&[]).await.total(), 0);
}
