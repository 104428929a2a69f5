//! pglogical, where it is installed: a backlog of changes, applied by its subscription.

use super::place::Place;
use super::raw;
use anyhow::bail;
use cluster::Binaries;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// Whether a server finds its library.
pub(crate) fn is_installed(server: &Binaries) -> bool {
    server.dir().join("../lib/pglogical.so").exists()
}

/// Lets `target`, which has the rows that match, follow `source` from now on.
pub(crate) fn follow(source: &Place, target: &Place, predicate: &str) -> anyhow::Result<()> {
    let node = |place: &Place, name: &str| {
        let create = format!(
            "select pglogical.create_node(node_name := '{name}', dsn := '{}')",
            place.uri()
        );
        place.run(&["create extension pglogical", &create])
    };
    node(source, "provider")?;
    for table in raw::TABLES {
        source.run(&[&format!(
            "select pglogical.replication_set_add_table('default', '{table}', row_filter := '{predicate}')"
        )])?;
    }
    node(target, "subscriber")?;
    target.run(&[&format!(
        "select pglogical.create_subscription(subscription_name := 'bench', provider_dsn := '{}', \
           synchronize_structure := false, synchronize_data := false)",
        source.uri()
    )])?;
    let begun = Instant::now();
    let follows = "select status = 'replicating' from pglogical.show_subscription_status()";
    while target.run(&[follows])? != "t" {
        if begun.elapsed() > LIMIT {
            bail!("pglogical does not replicate after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Ends it, so that the target can be dropped; nothing of it is left on the source.
pub(crate) fn end(source: &Place, target: &Place) -> anyhow::Result<()> {
    target.run(&[
        "select pglogical.drop_subscription('bench')",
        "drop extension pglogical cascade",
    ])?;
    source.run(&[
        "drop extension pglogical cascade",
        "select pg_drop_replication_slot(slot_name) from pg_replication_slots \
         where database = current_database() and slot_name like 'pgl\\_%' and not active",
    ])?;
    Ok(())
}
