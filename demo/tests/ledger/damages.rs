//! The checker finds every kind of damage to the rows, and wrong results that clients received.

use super::Fleet;
use demo::checker::{self, CheckReport};
use demo::ledger::{self, Balances, CallEvent, CallPhase, ListOperation};
use demo::shop;

/// The index of the shard, the SQL of the damage, the count that must increase, and by how much.
type Damage = (usize, &'static str, fn(&CheckReport) -> u64, u64);

const DAMAGES: [Damage; 17] = [
    (
        0,
        "delete from ledger where entry = (select min(entry) from ledger)",
        |c| c.lost,
        1,
    ),
    (
        1,
        "delete from order_items where op is null and line = 1 \
         and order_id = (select min(order_id) from order_items)",
        |c| c.lost,
        1,
    ),
    (
        1,
        "insert into ledger (tenant_id, op, client, kind) \
         select tenant_id, op, client, kind from ledger limit 1",
        |c| c.duplicated,
        1,
    ),
    (
        0,
        "insert into ledger (tenant_id, op, client, kind) values (1, 77, 1, 'x')",
        |c| c.phantom,
        1,
    ),
    (
        0,
        "insert into tenants (id, name) values (1000000, 'stray')",
        |c| c.misplaced,
        1,
    ),
    (
        1,
        "update accounts set balance = balance + 1 where id = (select min(id) from accounts)",
        |c| c.wrong,
        1,
    ),
    // An item with a wrong price, an item without an order of the workload, and an event with a wrong payload.
    (
        1,
        "update order_items set cents = cents + 1 where (order_id, line) = \
         (select order_id, line from order_items where op is not null order by 1, 2 limit 1)",
        |c| c.wrong,
        1,
    ),
    (
        1,
        "insert into order_items (tenant_id, order_id, line, op, sku, quantity, cents) \
         select tenant_id, id, 9, 4711, 'x', 1, 1 from orders where op is null limit 1",
        |c| c.phantom,
        1,
    ),
    (
        0,
        "update events set payload = '{}' where (tenant_id, id) = \
         (select tenant_id, id from events where op is not null limit 1)",
        |c| c.wrong,
        1,
    ),
    // A lost append, a doubled append, an append that no client made, and a missing list.
    (
        1,
        "update lists set items = trim_array(items, 1) where (tenant_id, id) = \
         (select tenant_id, id from lists order by 1, 2 limit 1)",
        |c| c.histories.not_linearizable,
        1,
    ),
    (
        1,
        "update lists set items = items || items[1] where (tenant_id, id) = \
         (select tenant_id, id from lists order by 1, 2 offset 1 limit 1)",
        |c| c.histories.not_linearizable,
        1,
    ),
    (
        0,
        "update lists set items = items || 1000::bigint where (tenant_id, id) = \
         (select tenant_id, id from lists order by 1, 2 limit 1)",
        |c| c.histories.not_linearizable,
        1,
    ),
    (
        0,
        "delete from lists where (tenant_id, id) = \
         (select tenant_id, id from lists order by 1, 2 offset 1 limit 1)",
        |c| c.histories.not_linearizable,
        1,
    ),
    // A wrong balance, which also changes the sum; a lost transfer; a transfer with only one leg; a leg without a
    // transfer.
    (
        1,
        "update bank set balance = balance + 1 where (tenant_id, id) = \
         (select tenant_id, id from bank order by 1, 2 limit 1)",
        |c| c.bank.violations,
        2,
    ),
    (
        0,
        "with gone as (delete from transfers where id = (select min(id) from transfers \
                where account > 0) returning tenant_id, account, delta) \
         update bank b set balance = balance - gone.delta from gone \
         where (b.tenant_id, b.id) = (gone.tenant_id, gone.account)",
        |c| c.bank.violations,
        1,
    ),
    (
        0,
        "delete from transfers where (id, account) = \
         (select id, account from transfers where account > 0 order by 1, 2 limit 1)",
        |c| c.bank.violations,
        2,
    ),
    (
        1,
        "insert into transfers (tenant_id, id, account, delta) \
         select tenant_id, -1, id, 0 from bank limit 1",
        |c| c.bank.violations,
        1,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_damage_is_found() {
    let fleet = Fleet::start("damage").await;
    let work = fleet.start_workload();
    fleet.wait_for_acknowledged(1_500).await;
    work.stop().await.unwrap();
    let clean = fleet.check(false).await;
    assert!(clean.is_clean(), "{clean:?}");
    fleet.split_by_hand().await;
    fleet.wait_for_new_map().await;
    let held = fleet.check(true).await;
    assert!(held.is_clean(), "{held:?}");
    fleet
        .sql(
            1,
            "update events set payload = '{}' where id = (select min(id) from events)",
        )
        .await;
    let damaged = fleet.check(true).await;
    assert_eq!((damaged.diverged, damaged.wrong), (1, 1), "{damaged:?}");
    fleet
        .sql(
            1,
            "update events set body = body || 'x' where length(body) > 8000 and op is null",
        )
        .await;
    fleet.drop_old().await;

    let mut before = fleet.check(false).await;
    for (shard, damage, count, more) in DAMAGES {
        fleet.sql(shard, damage).await;
        let after = fleet.check(false).await;
        assert_eq!(count(&after), count(&before) + more, "{damage}: {after:?}");
        before = after;
    }
}

/// Returns the events of a history file, and the two events of a read that lacks the last acknowledged append.
fn with_stale_read(history: &std::path::Path) -> (Vec<CallEvent>, [CallEvent; 2]) {
    let text = std::fs::read_to_string(history).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let events: Vec<CallEvent> = lines.collect();
    let is_acknowledged_append =
        |event: &&CallEvent| event.kind == CallPhase::Ok && event.call != ListOperation::Read;
    let last = events.iter().rfind(is_acknowledged_append).unwrap();
    let mut stale = last.values.clone().unwrap();
    stale.pop();
    let event = |kind, values| CallEvent {
        process: 1_000_000,
        kind,
        call: ListOperation::Read,
        values,
        ..last.clone()
    };
    let read = [
        event(CallPhase::Invoke, None),
        event(CallPhase::Ok, Some(stale)),
    ];
    (events, read)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_read_and_an_inconsistent_snapshot_are_found() {
    let fleet = Fleet::start("stale").await;
    let work = fleet.start_workload();
    fleet.wait_for_acknowledged(500).await;
    work.stop().await.unwrap();
    let clean = fleet.check(false).await;
    assert!(clean.is_clean(), "{clean:?}");

    let history = fleet.dir.join("history");
    ledger::export(&fleet.dir.join("ledger"), &history).unwrap();
    let from_file = checker::check_history(&history).unwrap();
    assert_eq!(from_file, clean.histories);
    let (mut events, stale) = with_stale_read(&history);
    for event in &stale {
        fleet.ledger.record_event(event.clone()).unwrap();
    }
    events.extend(stale);
    let lines = events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap() + "\n");
    std::fs::write(&history, lines.collect::<String>()).unwrap();
    assert_eq!(
        checker::check_history(&history).unwrap().not_linearizable,
        1
    );
    let read = Balances {
        key: fleet.shop.key(1),
        balances: vec![
            shop::BANK_DEPOSIT,
            shop::BANK_DEPOSIT,
            shop::BANK_DEPOSIT - 1,
        ],
    };
    fleet.ledger.record_balances(read).unwrap();
    let checked = fleet.check(false).await;
    assert_eq!(checked.histories.not_linearizable, 1, "{checked:?}");
    assert_eq!(checked.bank.violations, 1, "{checked:?}");
}
