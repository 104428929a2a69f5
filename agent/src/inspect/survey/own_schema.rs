//! Checks that the schema `shardwright` contains only what a move creates.

use connect::Connected;
use plans::table::TableName;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::shard::sidecar_schema;

/// Tables, views and foreign tables in the schema that Shardwright did not create.
const OTHER_TABLES: &str = "
    select c.relname::pg_catalog.text, case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'shardwright' and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname <> all ($1::pg_catalog.text[])
    order by c.relname";

/// A table that only a control store has.
const STORE_TABLE: &str = "store_identity";

/// Refuses each table in the schema that Shardwright did not create.
pub(super) async fn check(client: &Connected, findings: &mut Findings) -> Result<(), StepError> {
    let shard = client.name();
    let shardwright_tables: Vec<&str> = sidecar_schema::tables().collect();
    let other_tables = client.query(OTHER_TABLES, &[&shardwright_tables]).await;
    let other_tables =
        other_tables.at(format_args!("shard {shard}: reading schema shardwright"))?;
    if other_tables
        .iter()
        .any(|row| row.get::<_, &str>(0) == STORE_TABLE)
    {
        findings.add_refusal(
            "schema.taken",
            format!("shard {shard}, schema shardwright"),
            "a control store is in this database, and its schema has the same name as the schema that Shardwright creates on each shard",
            "give the control store a database of its own: shardwright serve --store ...",
        );
        return Ok(());
    }
    for row in other_tables {
        let (name, kind): (String, &str) = (row.get(0), row.get(1));
        let table = TableName {
            schema: "shardwright".to_owned(),
            name,
        };
        findings.add_refusal(
            "schema.taken",
            format!("shard {shard}, {kind} {table}"),
            "it is in Shardwright's schema, where a later version may need its name",
            format!(
                "put it into another schema: alter {kind} {} set schema ...",
                table.sql()
            ),
        );
    }
    Ok(())
}
