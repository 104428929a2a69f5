//! A role with the documented grants and no others runs every kind of migration: each operation in each mode to its end,
//! back again and aborted, under load, over verified TLS with its password bound to the connection; no acknowledged write
//! is lost.
//!
//! `make test` runs a few of them, `scripts/test-matrix` all on each pair of versions.

#[path = "least_privilege/shop.rs"]
mod shop;

use plans::shard_map::Strategy;
use shop::shop;

/// What is done with the keys of half of the tenants, or of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// The second half goes from `a` to `b`.
    Split,
    /// The second half goes from `b` to `a`; of an offline one both halves go to `c`.
    Merge,
    /// All keys go from `a` to `b`.
    Move,
}

/// What the application may do meanwhile, and when its writes are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Asynchronous,
    Synchronous,
    Offline,
}

/// How the migration ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The source's rows are deleted.
    Finish,
    /// The keys go back behind the flip, and the target's rows are deleted.
    RollBack,
    /// Right before the cutover.
    Abort,
}

/// Attributes of the tests, then kinds by name: operation, kind of the map, mode, end.
macro_rules! kinds {
    (@ [$($attribute:tt)*] $name:ident $operation:ident $strategy:ident $mode:ident $end:ident) => {
        $($attribute)*
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let kind = (Operation::$operation, Strategy::$strategy, Mode::$mode);
            run(stringify!($name), kind, End::$end).await;
        }
    };
    ($attributes:tt $($name:ident: $operation:ident $strategy:ident $mode:ident $end:ident;)+) => {
        $(kinds!{@ $attributes $name $operation $strategy $mode $end})+
    };
}

// Each operation, each kind of map, each mode and each end once.
kinds! { []
    move_hash_synchronous_rolled_back: Move Hash Synchronous RollBack;
    merge_list_offline_aborted: Merge List Offline Abort;
}

kinds! { [#[ignore = "scripts/test-matrix runs it"]]
    split_range_asynchronous_finished: Split Range Asynchronous Finish;
    split_hash_synchronous_finished: Split Hash Synchronous Finish;
    split_list_offline_finished: Split List Offline Finish;
    merge_list_asynchronous_finished: Merge List Asynchronous Finish;
    merge_range_synchronous_finished: Merge Range Synchronous Finish;
    merge_hash_offline_finished: Merge Hash Offline Finish;
    move_hash_asynchronous_finished: Move Hash Asynchronous Finish;
    move_list_synchronous_finished: Move List Synchronous Finish;
    move_range_offline_finished: Move Range Offline Finish;
    split_list_asynchronous_rolled_back: Split List Asynchronous RollBack;
    merge_range_asynchronous_rolled_back: Merge Range Asynchronous RollBack;
    split_range_synchronous_aborted: Split Range Synchronous Abort;
    merge_hash_synchronous_aborted: Merge Hash Synchronous Abort;
    move_list_asynchronous_aborted: Move List Asynchronous Abort;
}

async fn run(name: &'static str, kind: (Operation, Strategy, Mode), end: End) {
    let mut shop = shop(name, kind).await;
    let id = match end {
        End::Finish | End::RollBack => shop.flip().await,
        End::Abort => shop.prepare().await,
    };
    match end {
        End::Finish => shop.fleet.ok(&["finish", &id, "--yes"]).await,
        End::RollBack => {
            shop.fleet.ok(&["rollback", &id, "--yes"]).await;
            shop.fleet.wait(&id, "rolled_back").await;
            shop.fleet.ok(&["finish", &id, "--yes"]).await
        }
        End::Abort => shop.fleet.ok(&["abort", &id, "--yes"]).await,
    };
    match end {
        End::Finish => shop.fleet.wait(&id, "finished").await,
        End::Abort => shop.fleet.wait(&id, "unwound").await,
        End::RollBack => {
            // It has ended, and not as it was planned.
            let wait = ["wait", &id, "--for", "finished", "--timeout", "120s"];
            let ended = shop.fleet.run(&wait).await;
            assert_eq!(ended.status.code(), Some(8), "{ended:?}");
        }
    }
    shop.check(end == End::Finish).await;
}
