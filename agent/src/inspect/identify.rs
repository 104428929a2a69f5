//! Reports to which database a connection string leads. If the task demands it, the agent also registers the database:
//! it stores a random id in the database.

use connect::Connected;
use plans::inspection::identify::{Identified, IdentifyTask};
use tokio_postgres::error::SqlState;

use super::inventory;
use crate::error::{StepError, WithIntent};
use crate::shard::{epoch, identity};

pub(super) async fn run(task: &IdentifyTask) -> Result<Identified, StepError> {
    let shard = &task.shard.name;
    let client = super::session(&task.shard, "identify").await?;
    if task.register {
        match identity::register(&client).await {
            // The database is then identified without the random id. The doctor reports the missing privilege.
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                epoch::rollback(&client).await;
                tracing::warn!(%shard, "the agent's role may not store a random id in the database");
            }
            result => {
                result.at(format_args!("shard {shard}: registering the database"))?;
            }
        }
    }
    let action = format!("shard {shard}: identifying the database");
    Ok(Identified {
        identity: identity::read(&client).await.at(&action)?,
        flushed: inventory::flushed_bytes(&client).await.at(&action)?,
        lacks: missing_grants(&client, task).await.at(&action)?,
    })
}

/// Returns the GRANT and ALTER ROLE statements for the privileges that a migration needs and the role lacks.
async fn missing_grants(
    client: &Connected,
    task: &IdentifyTask,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let (schemas, names): (Vec<&str>, Vec<&str>) = task
        .tables
        .iter()
        .map(|table| (table.schema.as_str(), table.name.as_str()))
        .unzip();
    let row = client
        .query_one(
            "select coalesce(pg_catalog.array_agg(lack.remedy order by lack.remedy), '{}') from (
               select pg_catalog.format('alter role %I replication', rolname)
               from pg_catalog.pg_roles where rolname = session_user and not rolreplication and not rolsuper
               union all
               select pg_catalog.format('grant create on database %I to %I', pg_catalog.current_database(), session_user)
               where not pg_catalog.has_database_privilege(pg_catalog.current_database(), 'create')
               union all
               select pg_catalog.format('grant set on parameter session_replication_role to %I', session_user)
               where not pg_catalog.has_parameter_privilege('session_replication_role', 'set')
               union all
               select distinct pg_catalog.format('grant %I to %I', o.rolname, session_user)
               from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) wanted (schema, name)
               join pg_catalog.pg_namespace n on n.nspname = wanted.schema
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = wanted.name
               join pg_catalog.pg_roles o on o.oid = c.relowner
               where not pg_catalog.pg_has_role(o.oid, 'usage')
             ) lack (remedy)",
            &[&schemas, &names],
        )
        .await?;
    Ok(row.get(0))
}
