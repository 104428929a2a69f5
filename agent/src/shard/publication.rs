//! The publication that a stream reads through, and the proof that it is still the one that was made for it.
//!
//! PostgreSQL 18 leaves out what changes while a publication is missing, and tells nobody; earlier versions end the
//! stream. One that was altered leaves changes out on every version. So what was made is recorded with it, and
//! compared when keys change hands: as long as it is the same, nothing before that moment was left out.

use std::time::Duration;

use connect::Connected;
use plans::names::Direction;
use plans::sql::{quote_ident, quote_literal};
use tokio::time::Instant;

use super::epoch::{self, EpochToken};
use crate::error::{StepError, WithIntent};
use crate::postgres::replication::PUBLICATION_CHANGED;
use crate::postgres::wait_out::wait_for_all_writers;

/// What a publication is. Its row has another version when its options were altered, also when they were altered back;
/// each of its tables has another number when it was taken out and put back.
const STATE: &str = "select pg_catalog.md5(row(p.oid, p.xmin, p.puballtables,
      array(select r.oid from pg_catalog.pg_publication_rel r where r.prpubid = p.oid order by r.oid),
      array(select n.oid from pg_catalog.pg_publication_namespace n where n.pnpubid = p.oid order by n.oid))::text)
    from pg_catalog.pg_publication p where p.pubname::text = ";

/// How long `drop` waits for transactions that may have read of which publications a table is part.
const WRITERS_LIMIT: Duration = Duration::from_secs(2);

/// The tables of publication `$1`.
const TABLES: &str = "
    select pg_catalog.format('%I.%I', n.nspname, c.relname)
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_rel r on r.prpubid = p.oid
    join pg_catalog.pg_class c on c.oid = r.prrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where p.pubname = $1";

/// Makes the publication of one direction anew, for these tables with their row filters, and records it.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    tables: &[String],
) -> Result<(), StepError> {
    let shard = client.name();
    let name = token.migration.publication(direction);
    drop(client, Some(token), &name).await?;
    let sql = format!(
        "create publication {name} for table {}; \
         update shardwright.move set published = ({STATE}{}) where migration = {}",
        tables.join(", "),
        quote_literal(&name),
        quote_literal(&token.migration.0),
    );
    epoch::execute(client, token, &sql)
        .await
        .at(format_args!("shard {shard}: creating publication {name}"))
}

/// Drops a publication if it is there; with `token` its statements prove the epoch.
///
/// Order: its tables are taken out of it; the transactions that write to them end; it is dropped. A write reads of which
/// publications a table is part, then each of them, and fails where one is gone in between (`cache lookup failed for
/// publication`), whether it is the application's or a stream's.
pub(crate) async fn drop(
    client: &Connected,
    token: Option<&EpochToken>,
    name: &str,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: dropping publication {name}");
    let tables = client.query(TABLES, &[&name]).await.at(&what)?;
    let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
    let quoted = quote_ident(name);
    if !tables.is_empty() {
        // The lock conflicts with VACUUM and other DDL: no write waits behind it.
        let sql = format!(
            "set local lock_timeout = '5s'; alter publication {quoted} drop table only {}",
            tables.join(", only ")
        );
        match execute(client, token, &sql).await {
            Ok(()) => {
                let deadline = Instant::now() + WRITERS_LIMIT;
                wait_for_all_writers(client, &tables, deadline).await?;
            }
            Err(error) => tracing::warn!(
                shard, publication = name, %error,
                "publication is dropped with its tables: writes may fail for a moment"
            ),
        }
    }
    let sql = format!("drop publication if exists {quoted}");
    execute(client, token, &sql).await.at(&what)
}

/// Runs `sql` in a transaction of its own.
async fn execute(
    client: &Connected,
    token: Option<&EpochToken>,
    sql: &str,
) -> Result<(), tokio_postgres::Error> {
    let Some(token) = token else {
        let done = client.batch_execute(&format!("begin; {sql}; commit")).await;
        if done.is_err() {
            epoch::rollback(client).await;
        }
        return done;
    };
    epoch::execute(client, token, sql).await
}

/// Refuses unless the publication is there as it was made.
pub(crate) async fn check(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = client.name();
    let name = token.migration.publication(direction);
    let sql = format!(
        "select coalesce((select published from shardwright.move where migration = $1) = ({STATE}$2), false)"
    );
    let rows = client
        .query_prepared(&sql, &[&token.migration.0, &name])
        .await
        .at(format_args!("shard {shard}: reading publication {name}"))?;
    if rows[0].get(0) {
        return Ok(());
    }
    Err(StepError::refused(
        PUBLICATION_CHANGED,
        format!(
            "shard {shard}: publication {name} was dropped or altered, so changes may be missing on the other shard"
        ),
        "`abort` it and plan it again",
    ))
}
