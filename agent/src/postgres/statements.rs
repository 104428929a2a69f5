//! What a migration's sessions execute on a shard at this moment.
//!
//! Our statements carry values of rows as parameters, so that their texts name tables and moving keys alone.

use connect::Connected;
use plans::id::{MigrationId, ShardName};
use plans::wire::Statement;

use crate::error::{StepError, WithIntent};

/// The longest first. Streams are none of them, they are walsenders; nor is a session that holds a snapshot and sleeps.
const LOOK: &str = "
    select application_name,
           pg_catalog.left(pg_catalog.btrim(pg_catalog.regexp_replace(query, '\\s+', ' ', 'g')), 600),
           (extract(epoch from pg_catalog.clock_timestamp() - query_start) * 1000)::bigint
      from pg_catalog.pg_stat_activity
     where application_name like $1 and usename = session_user and datname = pg_catalog.current_database()
       and application_name not like '%/holder/%'
       and state = 'active' and backend_type = 'client backend' and pid <> pg_catalog.pg_backend_pid()
     order by query_start
     limit 4";

/// Looks once.
pub(crate) async fn look(
    session: &Connected,
    migration: &MigrationId,
) -> Result<Vec<Statement>, StepError> {
    let shard = session.name();
    let ours = migration.application_name("%");
    let what = format!("shard {shard}: looking at what is executed");
    let rows = session.query_prepared(LOOK, &[&ours]).await.at(&what)?;
    let statements = rows.iter().map(|row| {
        let name: String = row.get(0);
        Statement {
            shard: ShardName::from(shard),
            // shardwright, the migration, the role, the epoch.
            role: name.split('/').nth(2).unwrap_or_default().to_owned(),
            text: row.get(1),
            ms: row.get(2),
        }
    });
    Ok(statements.collect())
}
