//! Applies backlogs of changes with a subscription of pglogical, if it is installed.
//!
//! pglogical has its own servers with the same data, because a server that loads its library takes minutes to drop a
//! database.

use super::database::Database;
use super::{raw, setup, shardwright};
use anyhow::bail;
use cluster::Binaries;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// The two databases of a pglogical subscription.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) source: Database,
    pub(crate) target: Database,
}

impl Pair {
    /// Starts both servers, copies half of the rows to the target, and subscribes the target to the source. Returns
    /// `None` if pglogical is not installed.
    pub(crate) fn start(items: u64) -> anyhow::Result<Option<Self>> {
        let binaries = Binaries::find(None)?;
        if !is_installed(&binaries) {
            return Ok(None);
        }
        let database = |name| {
            let settings = setup::settings(name)
                .binaries(binaries.clone())
                .setting("shared_preload_libraries", "pglogical");
            let database = Database::new(&setup::launch(settings)?, "bench")?;
            database.recreate()?;
            anyhow::Ok(database)
        };
        let pair = Self {
            source: database("provider")?,
            target: database("subscriber")?,
        };
        let (source, target, half) = (&pair.source, &pair.target, shardwright::moving_predicate());
        source.script(include_str!("data.sql"), &[("items", items)])?;
        raw::make_tables(source, target)?;
        raw::copy(source, target, &half)?;
        raw::build(source, target)?;
        pair.follow(&half)?;
        Ok(Some(pair))
    }

    /// Subscribes the target to changes of the rows that match `predicate`. Existing rows are not copied.
    fn follow(&self, predicate: &str) -> anyhow::Result<()> {
        let (source, target) = (&self.source, &self.target);
        make_node(source, "provider")?;
        for table in raw::TABLES {
            source.run(&[&format!(
                "select pglogical.replication_set_add_table('default', '{table}', row_filter := '{predicate}')"
            )])?;
        }
        make_node(target, "subscriber")?;
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
}

/// Returns whether the server's installation has pglogical's library.
fn is_installed(server: &Binaries) -> bool {
    server.dir().join("../lib/pglogical.so").exists()
}

/// Makes the database a node of pglogical.
fn make_node(database: &Database, name: &str) -> anyhow::Result<()> {
    let create = format!(
        "select pglogical.create_node(node_name := '{name}', dsn := '{}')",
        database.uri()
    );
    database
        .run(&["create extension pglogical", &create])
        .map(|_| ())
}
