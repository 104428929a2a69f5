//! Every operation on every kind of map, online and offline, each under load and proved by the ledger.
//!
//! One test is one cell of the table in docs/operations.md: `<operation>_<strategy>_<mode>`. A test runs the demo as
//! a program, with servers of its own; what all runs have in common is asserted in [`run::operation`].
//!
//! `make test` runs a slice: each operation online, and offline where it can be, on another kind of map each time.
//! `make operations` runs all.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

#[allow(dead_code, reason = "the tests of connections use more of it")]
#[path = "../../../crates/connect/tests/protected/authority.rs"]
mod authority;
#[path = "operations/conversions.rs"]
mod conversions;
#[path = "operations/dependents.rs"]
mod dependents;
#[path = "operations/existing.rs"]
mod existing;
#[allow(dead_code, reason = "the suite of the doctor uses more of it")]
#[path = "operations/fleet.rs"]
mod fleet;
#[path = "operations/followed.rs"]
mod followed;
#[path = "operations/groups.rs"]
mod groups;
#[path = "operations/hot_tenant.rs"]
mod hot_tenant;
#[path = "operations/identities.rs"]
mod identities;
#[path = "operations/least_privilege.rs"]
mod least_privilege;
#[path = "operations/merges.rs"]
mod merges;
#[path = "operations/names.rs"]
mod names;
#[path = "operations/new_partitions.rs"]
mod new_partitions;
#[path = "operations/new_tables.rs"]
mod new_tables;
#[path = "operations/partitions.rs"]
mod partitions;
#[path = "operations/real_schema.rs"]
mod real_schema;
#[path = "operations/republished.rs"]
mod republished;
#[path = "operations/retired_partitions.rs"]
mod retired_partitions;
#[path = "operations/rewritten.rs"]
mod rewritten;
#[allow(dead_code, reason = "the suite of disturbed splits uses more of it")]
mod run;
#[path = "operations/schemas.rs"]
mod schemas;
#[path = "operations/types.rs"]
mod types;
#[path = "operations/virtual_shards.rs"]
mod virtual_shards;
#[path = "operations/waiting.rs"]
mod waiting;
#[path = "operations/writers.rs"]
mod writers;

use demo::{LoadBalance, MapOperation, RunReport};
use plans::request::{Measure, Mode};
use plans::shard_map::Strategy;
use run::operation;

/// Runs one cell; `moves` is how many moves the plan must have.
async fn cell(
    what: MapOperation,
    strategy: Strategy,
    mode: Mode,
    more: &str,
    moves: usize,
) -> RunReport {
    let offline = if mode == Mode::Offline {
        "--offline"
    } else {
        ""
    };
    let line = format!("--operation {what} --strategy {strategy} {offline} {more}");
    let report = operation(&line).await;
    assert_eq!((report.operation, report.strategy), (what, strategy));
    assert_eq!(report.moves.len(), moves, "{:?}", report.moves);
    let completed = |m: &demo::MovedKeys| m.state == "completed" && m.rows > 0;
    assert!(report.moves.iter().all(completed), "{:?}", report.moves);
    let flips = i64::try_from(moves).unwrap();
    assert_eq!(report.map_version.after - report.map_version.before, flips);
    if mode == Mode::Offline {
        assert!(report.reads_while_read_only.is_some_and(|reads| reads > 0));
    }
    report
}

/// Cells by name: operation, strategy, mode, moves, and more options.
macro_rules! cells {
    ($($(#[$ignored:meta])? $name:ident: $operation:ident $strategy:ident $mode:ident $moves:literal $more:literal;)+) => {
        $(
            #[tokio::test]
            $(#[$ignored])?
            async fn $name() {
                cell(MapOperation::$operation, Strategy::$strategy, Mode::$mode, $more, $moves).await;
            }
        )+
    };
}

cells! {
    #[ignore = "make operations runs it"]
    split_range_online: Split Range Online 1 "--key bigint";
    #[ignore = "make operations runs it"]
    split_hash_online: Split Hash Online 1 "";
    #[ignore = "make operations runs it"]
    split_list_online: Split List Online 1 "";
    #[ignore = "make operations runs it"]
    split_range_offline: Split Range Offline 1 "";
    #[ignore = "make operations runs it"]
    split_hash_offline: Split Hash Offline 1 "";
    #[ignore = "make operations runs it"]
    split_list_offline: Split List Offline 1 "";
    #[ignore = "make operations runs it"]
    split_in_three_range_online: Split Range Online 2 "--parts 3";
    split_composite_key_online: Split Range Online 1 "--key text,bigint";
    #[ignore = "make operations runs it"]
    split_timestamptz_online: Split Range Online 1 "--key timestamptz";
    #[ignore = "make operations runs it"]
    merge_range_online: Merge Range Online 2 "";
    #[ignore = "make operations runs it"]
    merge_hash_online: Merge Hash Online 2 "";
    #[ignore = "make operations runs it"]
    merge_list_online: Merge List Online 2 "";
    #[ignore = "make operations runs it"]
    merge_range_offline: Merge Range Offline 2 "";
    #[ignore = "make operations runs it"]
    merge_hash_offline: Merge Hash Offline 2 "";
    #[ignore = "make operations runs it"]
    merge_list_offline: Merge List Offline 2 "";
    #[ignore = "make operations runs it"]
    merge_into_live_range_online: Merge Range Online 1 "--into-live";
    #[ignore = "make operations runs it"]
    merge_into_live_hash_online: Merge Hash Online 1 "--into-live";
    #[ignore = "make operations runs it"]
    merge_into_live_list_online: Merge List Online 1 "--into-live";
    #[ignore = "make operations runs it"]
    move_range_online: Move Range Online 1 "";
    #[ignore = "make operations runs it"]
    move_hash_online: Move Hash Online 1 "";
    #[ignore = "make operations runs it"]
    move_list_online: Move List Online 1 "";
    #[ignore = "make operations runs it"]
    move_range_offline: Move Range Offline 1 "";
    move_hash_offline: Move Hash Offline 1 "";
    #[ignore = "make operations runs it"]
    move_list_offline: Move List Offline 1 "";
    #[ignore = "make operations runs it"]
    isolate_range_online: Isolate Range Online 1 "";
    isolate_hash_online: Isolate Hash Online 1 "";
    #[ignore = "make operations runs it"]
    isolate_list_online: Isolate List Online 1 "";
    drain_range_online: Drain Range Online 2 "";
    #[ignore = "make operations runs it"]
    drain_hash_online: Drain Hash Online 2 "";
    #[ignore = "make operations runs it"]
    drain_list_online: Drain List Online 2 "";
}

/// Four shards, one with ten times the load of each other: it ends within the threshold, by the planned moves.
async fn rebalance(strategy: Strategy, by: &Measure, more: &str) {
    let line = format!("--operation rebalance --strategy {strategy} {more}");
    let report = operation(&line).await;
    assert_eq!(
        (report.operation, report.strategy),
        (MapOperation::Rebalance, strategy)
    );
    let balance = report.balance.as_ref().unwrap();
    assert_eq!(&balance.by, by);
    assert!(
        LoadBalance::heaviest_percent(&balance.before) > 250,
        "{balance:?}"
    );
    let after = LoadBalance::heaviest_percent(&balance.after);
    assert!(after <= balance.permitted_percent(), "{balance:?}");
    assert!(!report.moves.is_empty() && report.moves.iter().all(|m| m.state == "completed"));
    let flips = i64::try_from(report.moves.len()).unwrap();
    assert_eq!(report.map_version.after - report.map_version.before, flips);
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn rebalance_range_online() {
    rebalance(Strategy::Range, &Measure::Rows, "").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn rebalance_hash_online() {
    rebalance(Strategy::Hash, &Measure::Rows, "").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn rebalance_list_online() {
    rebalance(Strategy::List, &Measure::Rows, "").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn rebalance_hash_by_writes() {
    rebalance(Strategy::Hash, &Measure::Writes, "--by writes").await;
}

/// The table in the documentation names tests of this suite only, and every cell of this file.
#[test]
fn the_documented_cells_are_the_tested_ones() {
    let document = include_str!("../../../docs/operations.md");
    let source = [
        include_str!("operations.rs"),
        include_str!("operations/merges.rs"),
        include_str!("operations/hot_tenant.rs"),
    ]
    .concat();
    let linked = |end| {
        let parts = document
            .split(end)
            .filter_map(|text: &str| text.rsplit_once('['));
        parts
            .map(|(_, name)| name.to_owned())
            .collect::<Vec<String>>()
    };
    let mut cells = linked("][t]");
    cells.pop();
    for name in cells
        .iter()
        .chain(&linked("][m]")[..2])
        .chain(&linked("][h]")[..1])
    {
        let is_test = source.contains(&format!("    {name}: "))
            || source.contains(&format!("async fn {name}("));
        assert!(is_test, "{name} is no test");
    }
    assert!(cells.len() >= 34, "{cells:?}");
}
