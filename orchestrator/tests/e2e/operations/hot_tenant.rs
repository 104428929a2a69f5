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

/// Writes until it is dropped: three of four changes to the hot tenant.
struct Writer {
    stop: Arc<AtomicBool>,
    task: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(session: Connected, tenants: Vec<i64>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let change = session
                .prepare("update public.counters set count = count + 1 where tenant_id = $1")
                .await
                .unwrap();
            let mut others = tenants.iter().cycle();
            let mut turn = 0;
            while !stopped.load(Ordering::Relaxed) {
                turn += 1;
                let hot = tenants.contains(&HOT) && turn % 4 != 0;
                let tenant = if hot { HOT } else { *others.next().unwrap() };
                session.execute(&change, &[&tenant]).await.unwrap();
            }
        });
        Self {
            stop,
            task: Some(task),
        }
    }

    async fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.take().unwrap().await.unwrap();
    }
}

#[tokio::test]
async fn a_hot_tenant_is_named_first_and_isolated() {
    let fleet = Fleet::start("hot", &["a", "b", "c"]).await;
    let of = |shard: i64| (1..=TENANTS).filter(move |tenant| tenant % 2 == shard);
    for (shard, odd) in [("a", 1), ("b", 0)] {
        fleet.sql(shard, TABLE).await;
        for tenant in of(odd) {
            let insert = format!("insert into public.counters values ({tenant})");
            fleet.sql(shard, &insert).await;
        }
    }
    let list = |odd| of(odd).collect::<Vec<i64>>();
    fleet
        .map(json!({
            "name": "shop", "strategy": "list", "key": ["bigint"],
            "mappings": [
                {"keys": {"list": list(1)}, "shard": "a"},
                {"keys": {"list": list(0)}, "shard": "b"},
            ],
            "settings": {"tables": {"counters": "tenant_id"}},
        }))
        .await;
    let writers = [
        Writer::start(fleet.session("a").await, list(1)),
        Writer::start(fleet.session("b").await, list(0)),
    ];
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
    for writer in writers {
        writer.end().await;
    }
    let isolate = format!(
        "operation: isolate\nmap: shop\nkey: {HOT}\ntarget: c\noptions: {{cutover: automatic, hold: {{seconds: 0}}}}\n"
    );
    fleet.complete(&isolate).await;
    let rows = "select count(*) from public.counters";
    assert_eq!(fleet.number("c", rows).await, 1);
    assert_eq!(fleet.number("a", rows).await, TENANTS / 2 - 1);
}
