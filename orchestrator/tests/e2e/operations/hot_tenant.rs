//! A planted hot tenant: `map load` names it first, a rebalance by writes says that it is more than a fair share, and
//! isolating it gives it a shard of its own.

use crate::fleet::Fleet;
use connect::Connected;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;

const HOT: i64 = 17;
const TENANTS: i64 = 40;
const TABLE: &str = "create table public.counters (
        tenant_id bigint not null primary key, count bigint not null default 0)";

/// Writes until it is ended, one change after the other over both shards, so that the shares do not depend on which
/// shard is quicker: three of five changes to the hot tenant, one to another of its shard, one on the other shard.
struct Writer {
    stop: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Writer {
    fn start(hot: Connected, other: Connected) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut neighbours = of(1).into_iter().filter(|tenant| *tenant != HOT).cycle();
            let mut others = of(0).into_iter().cycle();
            while !stopped.load(Ordering::Relaxed) {
                for tenant in [HOT, HOT, HOT, neighbours.next().unwrap()] {
                    count(&hot, tenant).await;
                }
                count(&other, others.next().unwrap()).await;
            }
        });
        Self { stop, task }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
    }
}

async fn count(session: &Connected, tenant: i64) {
    let change = "update public.counters set count = count + 1 where tenant_id = $1";
    session.execute(change, &[&tenant]).await.unwrap();
}

/// The tenants with this remainder by two.
fn of(remainder: i64) -> Vec<i64> {
    (1..=TENANTS)
        .filter(|tenant| tenant % 2 == remainder)
        .collect()
}

#[tokio::test]
async fn a_hot_tenant_is_named_first_and_isolated() {
    let fleet = Fleet::start("hot", &["a", "b", "c"]).await;
    for (shard, odd) in [("a", 1), ("b", 0)] {
        fleet.sql(shard, TABLE).await;
        for tenant in of(odd) {
            let insert = format!("insert into public.counters values ({tenant})");
            fleet.sql(shard, &insert).await;
        }
    }
    fleet
        .map(json!({
            "name": "shop", "strategy": "list", "key": ["bigint"],
            "mappings": [
                {"keys": {"list": of(1)}, "shard": "a"},
                {"keys": {"list": of(0)}, "shard": "b"},
            ],
            "settings": {"tables": {"counters": "tenant_id"}},
        }))
        .await;
    let writer = Writer::start(fleet.session("a").await, fleet.session("b").await);
    let load = fleet
        .ok(&["map", "load", "shop", "--for", "1s", "-o", "json"])
        .await;
    let load: Value = serde_json::from_str(&load).unwrap();
    assert_eq!(load["hottest"][0]["key"], HOT, "{load}");
    let rebalance = "operation: rebalance\nmap: shop\nby: writes\nwatch_seconds: 1\nonto: [c]\n";
    let planned = fleet.plan(rebalance).await;
    let said = String::from_utf8_lossy(&planned.stdout).into_owned();
    assert!(planned.status.success(), "{planned:?}");
    assert!(
        said.contains(&format!("key {HOT}")) && said.contains("isolate"),
        "{said}"
    );
    writer.end().await;
    let isolate = format!(
        "operation: isolate\nmap: shop\nkey: {HOT}\ntarget: c\noptions: {{cutover: automatic, hold: {{seconds: 0}}}}\n"
    );
    fleet.complete(&isolate).await;
    let rows = "select count(*) from public.counters";
    assert_eq!(fleet.number("c", rows).await, 1);
    assert_eq!(fleet.number("a", rows).await, TENANTS / 2 - 1);
}
