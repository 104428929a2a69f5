//! A row of a reference table is deleted on every shard, in every phase of a migration, and takes the rows of each shard
//! that refer to it with it.

use crate::stage::{Stage, count, sql};

/// Each order refers to one of nine kinds; the other shard has the tables, and no orders yet.
const KINDS: &str = "create table public.kind (id bigint primary key);
    insert into public.kind select generate_series(0, 8);
    alter table public.orders add kind bigint not null default 0 references public.kind on delete cascade;
    update public.orders set kind = id % 9;
    create index on public.orders (kind)";
const ORDERS: &str =
    "create table public.orders (tenant_id bigint, id bigint, note text, primary key (tenant_id, id));
    create index on public.orders (note)";

const REQUEST: &str = "operation: split\nmap: m\nsource: a\ninto:\n- {shard: a, keys: {to: 500}}\n\
    - {shard: b, keys: {from: 500}}\ntables: {orders: tenant_id}\n\
    options: {cutover: approve, hold: until_finish}\n";

/// Orders of the kinds above four whose keys move.
const MOVED: i64 = 893;

/// Deletes a kind on both shards, on `first` before the other, and waits until no copy refers to it any more.
async fn delete(stage: &Stage, kind: i64, b_first: bool) {
    let statement = format!("delete from public.kind where id = {kind}");
    let order = match b_first {
        true => [&stage.b, &stage.a],
        false => [&stage.a, &stage.b],
    };
    for shard in order {
        sql(shard, "app", &statement).await;
    }
    stage
        .until("no copy of a row refers to the kind", || async {
            let left = format!("select count(*) from public.orders where kind = {kind}");
            count(&stage.a, &left).await + count(&stage.b, &left).await == 0
        })
        .await;
}

/// The migration in its hold, with kinds deleted before and in it.
async fn held(stage: &Stage) -> String {
    sql(&stage.a, "app", KINDS).await;
    sql(&stage.b, "app", &format!("{ORDERS}; {KINDS}")).await;
    stage.ok("map set m --reference kind").await;
    let id = stage.submit_as(REQUEST).await;
    stage.until_state(&id, "waiting").await;
    delete(stage, 0, true).await;
    delete(stage, 1, false).await;
    stage.cut_over(&id).await;
    delete(stage, 2, true).await;
    delete(stage, 3, false).await;
    id
}

#[tokio::test]
async fn a_reference_row_is_deleted_on_every_shard_in_every_phase() {
    let stage = Stage::new("cascades").await;
    let id = held(&stage).await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
    delete(&stage, 4, true).await;
    // Each shard has its own orders of the other kinds.
    let rest = "select count(*) from public.orders where kind > 4 and (tenant_id >= 500)";
    let (a, b) = (count(&stage.a, rest).await, count(&stage.b, rest).await);
    assert_eq!((a, b), (0, MOVED));
}

#[tokio::test]
async fn a_reference_row_is_deleted_on_every_shard_after_a_roll_back() {
    let stage = Stage::new("cascades_back").await;
    let id = held(&stage).await;
    stage.ok(&format!("rollback {id} --yes")).await;
    stage.until_state(&id, "rolled_back").await;
    delete(&stage, 4, true).await;
    let rest = "select count(*) from public.orders where kind > 4 and (tenant_id >= 500)";
    assert_eq!(count(&stage.a, rest).await, MOVED);
}
