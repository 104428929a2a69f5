//! A table that is written anew by an ALTER TABLE whose definition is the same afterwards: no stream tells what changed,
//! so the rows are compared again before keys change hands.

use crate::fleet::Fleet;
use serde_json::json;
use std::time::{Duration, Instant};

const SOURCE: &str = "
    create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
    insert into public.item select t, i, 'seed' from unnest('{50, 150}'::bigint[]) t, generate_series(1, 50) i;
    analyze";

const MOVE: &str =
    "operation: move\nmap: shop\nmoves:\n- {source: a, target: b, keys: {from: 100}}\n";

#[tokio::test]
async fn a_table_that_was_written_anew_is_compared_again() {
    let fleet = Fleet::start("rewritten", &["a", "b"]).await;
    fleet.sql("a", SOURCE).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"item": "tenant_id"}},
        }))
        .await;
    let id = fleet.reach(MOVE, "waiting").await;
    let shout = "alter table public.item alter column v type text using upper(v)";
    fleet.sql("a", shout).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "failed").await;
    let shown = fleet.ok(&["show", &id]).await;
    assert!(shown.contains("50 row"), "{shown}");

    fleet.ok(&["verify", &id, "--repair", "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    let there = "select count(*) from public.item where tenant_id = 150 and v = 'SEED'";
    assert_eq!(fleet.number("b", there).await, 50);

    // The copy that would get the keys back has the old values.
    let whisper = "alter table public.item alter column v type text using lower(v)";
    fleet.sql("b", whisper).await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fleet.ok(&["show", &id]).await.contains("written anew") {
        assert!(Instant::now() < deadline, "the roll back is refused");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let refused = "select count(*) from public.item where tenant_id = 150 and v = 'SEED'";
    assert_eq!(fleet.number("a", refused).await, 50);
    fleet.ok(&["verify", &id, "--repair", "--yes"]).await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    fleet.wait(&id, "rolled_back").await;
    let there = "select count(*) from public.item where tenant_id = 150 and v = 'seed'";
    assert_eq!(fleet.number("a", there).await, 50);
}
