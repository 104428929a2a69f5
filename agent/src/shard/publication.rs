//! The publication that a stream reads, and the check that it did not change since it was created.
//!
//! PostgreSQL 18 omits the changes that happen while a publication is missing, and reports nothing; earlier versions
//! end the stream. A publication that was altered omits changes on every version. The state of the publication is
//! therefore recorded when it is created, and compared when the keys change their owner. As long as it is equal, no
//! earlier change was omitted.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::names::Direction;
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableName};
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use super::epoch::{self, EpochToken};
use super::published_tables::{self, Departure};
use crate::error::{StepError, WithIntent};
use crate::postgres::wait_out::wait_for_all_writers;

/// Returns the query for the state of a publication. Its row has another version if its options were altered, also if they
/// were altered back. A table that was removed and added again has another OID there. `dropped` is a query for the OIDs
/// of entries that count as present.
fn state_sql(publication: &str, dropped: &str) -> String {
    format!(
        "select pg_catalog.md5(row(p.oid, p.xmin, p.puballtables,
           array(select r.oid from pg_catalog.pg_publication_rel r where r.prpubid = p.oid {dropped} order by 1),
           array(select n.oid from pg_catalog.pg_publication_namespace n where n.pnpubid = p.oid order by n.oid))::text)
         from pg_catalog.pg_publication p where p.pubname::text = {publication}"
    )
}

/// Returns the statements that record the present state of the publication of one direction, and its tables.
fn record_sql(migration: &MigrationId, direction: Direction) -> String {
    let name = quote_literal(&migration.publication(direction));
    format!(
        "update shardwright.move set published = ({}) where migration = {}; {}",
        state_sql(&name, ""),
        quote_literal(&migration.0),
        published_tables::record_sql(migration, direction),
    )
}

/// How long `drop` waits for transactions that may have read the publications of a table.
const WRITERS_LIMIT: Duration = Duration::from_secs(2);

/// How often [`add_table`] requests its lock, and the pause in which writers that queue after the request proceed.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// The query for the tables of publication `$1`.
const TABLES: &str = "
    select pg_catalog.format('%I.%I', n.nspname, c.relname)
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_rel r on r.prpubid = p.oid
    join pg_catalog.pg_class c on c.oid = r.prrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where p.pubname = $1";

/// Creates the publication of one direction again, for these tables with their row filters, and records its state.
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
        "create publication {name} for table {}; {}",
        tables.join(", "),
        record_sql(&token.migration, direction),
    );
    epoch::execute(client, token, &sql)
        .await
        .at(format_args!("shard {shard}: creating publication {name}"))
}

/// A table that is to be added to a publication.
pub(crate) struct AddedTable<'a> {
    /// The name in SQL.
    pub(crate) name: &'a str,
    /// The table with its row filter, as a publication lists it.
    pub(crate) published: String,
    /// Statements that are executed in the same transaction, with the same lock.
    pub(crate) statements: String,
    /// The partitioned table above it, if the statements lock this one and all of its partitions too.
    pub(crate) locked_top: Option<String>,
}

/// Adds a table to the existing publication of a direction, unless the publication has it, and records its new state.
///
/// # Errors
/// See [`begin_to_add_table`].
pub(crate) async fn add_table(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    added: &AddedTable<'_>,
) -> Result<(), StepError> {
    begin_to_add_table(client, token, direction, added).await?;
    epoch::commit(client, &intent_to_add(client, added)).await
}

fn intent_to_add(client: &Connected, added: &AddedTable<'_>) -> String {
    let (shard, table) = (client.name(), added.name);
    format!("shard {shard}: adding {table} to the publication")
}

/// Opens a transaction that adds a table to the existing publication of a direction, unless the publication has it, and
/// records the new state. The caller commits. Returns whether the publication had the table already.
///
/// The transaction holds a lock that excludes every writer of the table. So each transaction that has written to the
/// table before is visible when this function returns, and each later write is in the stream: a snapshot that is taken
/// afterwards sees the former, and the stream sends the latter (I2). Without the lock, a transaction that wrote before
/// and commits later could be in neither.
///
/// # Errors
/// `publication.changed` if the publication is not as the agent left it; the server's error if writers hold the
/// table for too long. Then no transaction is open.
pub(crate) async fn begin_to_add_table(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    added: &AddedTable<'_>,
) -> Result<bool, StepError> {
    let what = intent_to_add(client, added);
    // Writers lock the partitioned table before its partitions. LOCK TABLE includes these.
    let locked = match &added.locked_top {
        Some(top) => top.clone(),
        None => format!("only {}", added.name),
    };
    let lock = format!(
        "set local lock_timeout = '200ms'; lock table {locked} in share row exclusive mode"
    );
    for attempt in 1.. {
        epoch::begin(client, token).await?;
        match client.batch_execute(&lock).await {
            Ok(()) => break,
            Err(error) => {
                epoch::rollback(client).await;
                let is_locked = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
                if !is_locked || attempt == LOCK_TRIES {
                    return Err(error).at(&what);
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        }
    }
    // The new state is recorded only if the old one is intact; otherwise it would hide an earlier change.
    let changed = async {
        check(client, token, direction).await?;
        let name = token.migration.publication(direction);
        let listed = client.query(TABLES, &[&name]).await.at(&what)?;
        let listed: Vec<String> = listed.iter().map(|row| row.get(0)).collect();
        let is_listed = is_same_table(client, added.name, &listed).await.at(&what)?;
        let mut sql = added.statements.clone();
        if !is_listed {
            sql.push_str(&format!(
                "; alter publication {} add table {}; {}",
                quote_ident(&name),
                added.published,
                record_sql(&token.migration, direction),
            ));
        }
        client.batch_execute(&sql).await.at(&what)?;
        Ok(is_listed)
    };
    let changed: Result<bool, StepError> = changed.await;
    if changed.is_err() {
        epoch::rollback(client).await;
    }
    changed
}

/// Returns whether one of the names in `listed` is that of the table `name`.
async fn is_same_table(
    client: &Connected,
    name: &str,
    listed: &[String],
) -> Result<bool, tokio_postgres::Error> {
    let row = client
        .query_one(
            "select exists (select from pg_catalog.unnest($2::text[]) listed (name)
                            where pg_catalog.to_regclass(listed.name) = pg_catalog.to_regclass($1))",
            &[&name, &listed],
        )
        .await?;
    Ok(row.get(0))
}

/// Drops a publication if it exists. With `token` the statements prove the epoch.
///
/// Order: remove its tables, wait for the transactions that write to them, drop it. A write first reads the list of a
/// table's publications and then each publication. It fails if one was dropped in between (`cache lookup failed for
/// publication`), whether it is a write of the application or of a stream.
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
        // The lock conflicts only with VACUUM and other DDL, so no write queues after it.
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
                "dropping the publication without removing its tables first: writes may fail for a moment"
            ),
        }
    }
    let sql = format!("drop publication if exists {quoted}");
    execute(client, token, &sql).await.at(&what)
}

/// Executes `sql` in a separate transaction.
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

/// Removes the departed ones of these tables from the publication of a direction, with the migration's guard of those that
/// still exist, and records the new state. Returns which tables have departed.
///
/// # Errors
/// `publication.changed` if anything else in the publication has changed; `schema.changed`, to be tried again, if a
/// table stays locked.
pub(crate) async fn remove_departed(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
    tables: &[&MovingTable],
) -> Result<Vec<Departure>, StepError> {
    let (shard, name) = (client.name(), token.migration.publication(direction));
    let what = format!("shard {shard}: removing tables from publication {name}");
    epoch::begin(client, token).await?;
    let removed = async {
        if read_state(client, token, direction).await? == PublicationState::Changed {
            return Err(changed_error(shard, &name));
        }
        let departed =
            published_tables::departures(client, &token.migration, direction, tables).await?;
        let mut sql = "set local lock_timeout = '1s'; ".to_owned();
        let listed = departed.iter().filter(|departure| departure.is_listed);
        for departure in listed {
            if let Some(table) = &departure.detached {
                sql.push_str(&format!(
                    "alter publication {} drop table only {table}; drop trigger if exists {} on {table}; ",
                    quote_ident(&name),
                    quote_ident(&token.migration.trigger("truncate")),
                ));
            }
        }
        let names: Vec<&TableName> = departed
            .iter()
            .filter_map(|departure| Some(&tables.get(departure.place)?.table))
            .collect();
        if names.is_empty() {
            return Ok(departed);
        }
        sql.push_str(&published_tables::retire_sql(
            &token.migration,
            direction,
            &names,
        ));
        sql.push_str(&record_sql(&token.migration, direction));
        match client.batch_execute(&sql).await {
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                let message = format!("{what}: a table that was detached is locked");
                Err(StepError::not_yet(StepCode::SchemaChanged, message))
            }
            done => done.at(&what).map(|()| departed),
        }
    };
    let removed: Result<Vec<Departure>, StepError> = removed.await;
    match removed {
        Ok(departed) => epoch::commit(client, &what).await.map(|()| departed),
        Err(error) => {
            epoch::rollback(client).await;
            Err(error)
        }
    }
}

/// The state of a publication, compared with the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PublicationState {
    Unchanged,
    /// Tables of it were dropped and not created again, and nothing else has changed.
    LacksDropped,
    Changed,
}

async fn read_state(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<PublicationState, StepError> {
    let shard = client.name();
    let name = token.migration.publication(direction);
    let dropped = "union select t.entry from shardwright.published_table t \
                   where t.migration = $1 and t.direction = $3 and not t.retired \
                     and not exists (select from pg_catalog.pg_class c where c.oid = t.relation) \
                     and pg_catalog.to_regclass(pg_catalog.format('%I.%I', t.schema_name, t.name)) is null";
    let sql = format!(
        "select coalesce(m.published = ({}), false), coalesce(m.published = ({}), false)
         from shardwright.move m where m.migration = $1",
        state_sql("$2", ""),
        state_sql("$2", dropped),
    );
    let rows = client
        .query_prepared(&sql, &[&token.migration.0, &name, &direction.to_string()])
        .await
        .at(format_args!("shard {shard}: reading publication {name}"))?;
    Ok(match rows.first().map(|row| (row.get(0), row.get(1))) {
        Some((true, _)) => PublicationState::Unchanged,
        Some((false, true)) => PublicationState::LacksDropped,
        Some((false, false)) | None => PublicationState::Changed,
    })
}

/// Fails unless the publication exists as it was created.
///
/// # Errors
/// `publication.changed`; `schema.changed`, to be tried again, if only tables of it were dropped.
pub(crate) async fn check(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let (shard, name) = (client.name(), token.migration.publication(direction));
    match read_state(client, token, direction).await? {
        PublicationState::Unchanged => Ok(()),
        PublicationState::LacksDropped => Err(StepError::not_yet(
            StepCode::SchemaChanged,
            format!("shard {shard}: a table of publication {name} was dropped"),
        )),
        PublicationState::Changed => Err(changed_error(shard, &name)),
    }
}

fn changed_error(shard: &str, publication: &str) -> StepError {
    StepError::refused(
        StepCode::PublicationChanged,
        format!(
            "shard {shard}: publication {publication} was dropped or altered, so changes may be missing on the other shard"
        ),
        "`abort` the migration and plan it again",
    )
}
