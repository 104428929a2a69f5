//! A publication that somebody altered and altered back while a migration waited for its approval: the stream went on
//! without a change and says nothing, and the cutover refuses.

use crate::fleet::Fleet;
use plans::id::MigrationId;
use plans::names::Direction;
use serde_json::json;

const SOURCE: &str = "
    create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id));
    insert into public.item select t, i, 'seed' from unnest('{50, 150}'::bigint[]) t, generate_series(1, 50) i;
    analyze";

const MOVE: &str =
    "operation: move\nmap: shop\nmoves:\n- {source: a, target: b, keys: {from: 100}}\n";

#[tokio::test]
async fn a_change_that_was_left_out_of_the_stream_halts_the_cutover() {
    let fleet = Fleet::start("republished", &["a", "b"]).await;
    fleet.sql("a", SOURCE).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"item": "tenant_id"}},
        }))
        .await;
    let id = fleet.reach(MOVE, "waiting").await;

    let name = MigrationId::from(id.as_str()).publication(Direction::Forward);
    let left_out = [
        format!("alter publication {name} set (publish = 'insert')"),
        "update public.item set v = 'left out' where tenant_id = 150 and id = 7".to_owned(),
        format!("alter publication {name} set (publish = 'insert, update, delete, truncate')"),
        "update public.item set v = 'sent' where tenant_id = 150 and id = 8".to_owned(),
    ];
    for statement in left_out {
        fleet.sql("a", &statement).await;
    }
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "failed").await;
    let shown = fleet.ok(&["show", &id]).await;
    assert!(shown.contains("publication.changed"), "{shown}");
    assert!(shown.contains(&name), "{shown}");

    fleet.ok(&["abort", &id, "--yes"]).await;
    fleet.wait(&id, "unwound").await;
    assert_eq!(fleet.leftovers(&[]).await.total(), 0);
    let kept = "select count(*) from public.item where v in ('left out', 'sent')";
    assert_eq!(fleet.number("a", kept).await, 2, "the source takes writes");
}
