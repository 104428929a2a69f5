//! Reads which statements the sessions of a migration execute on a shard.
//!
//! The agent's statements have row values as parameters, so their texts contain only names of tables and moving keys.

use connect::Connected;
use plans::id::{MigrationId, ShardName};
use plans::wire::Statement;

use crate::error::{StepError, WithIntent};

/// Selects the statements that have run longest. It excludes walsenders and idle sessions that hold a snapshot.
const RUNNING_STATEMENTS: &str = "
    select application_name,
           pg_catalog.left(pg_catalog.btrim(pg_catalog.regexp_replace(query, '\\s+', ' ', 'g')), 600),
           (extract(epoch from pg_catalog.clock_timestamp() - query_start) * 1000)::bigint
      from pg_catalog.pg_stat_activity
     where application_name like $1 and usename = session_user and datname = pg_catalog.current_database()
       and application_name not like '%/holder/%'
       and state = 'active' and backend_type = 'client backend' and pid <> pg_catalog.pg_backend_pid()
     order by query_start
     limit 4";

/// Runs the query once.
pub(crate) async fn running_statements(
    session: &Connected,
    migration: &MigrationId,
) -> Result<Vec<Statement>, StepError> {
    let shard = session.name();
    let name_pattern = migration.application_name("%");
    let what = format!("shard {shard}: reading the statements of the migration");
    let rows = session
        .query_prepared(RUNNING_STATEMENTS, &[&name_pattern])
        .await
        .at(&what)?;
    let statements = rows.iter().map(|row| {
        let name: String = row.get(0);
        Statement {
            shard: ShardName::from(shard),
            // The name consists of `shardwright`, the migration, the role and the epoch.
            role: name.split('/').nth(2).unwrap_or_default().to_owned(),
            text: row.get(1),
            ms: row.get(2),
        }
    });
    Ok(statements.collect())
}
