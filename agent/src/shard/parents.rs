//! Proves that rows of dependent tables which lack their parents can only be rows of the migration's copy. Without the
//! proof they may be rows of the shard itself, which the agent must neither change nor delete (I8).

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::sql::quote_literal;
use plans::table::{MovingTable, no_other_copy};

use crate::error::{StepError, WithIntent};

/// Returns the statement that keeps the foreign keys of the tables' parents until the transaction ends; empty if no table
/// is a dependent one. The foreign keys of the tables themselves are kept by a lock on these.
pub(crate) fn lock_sql(tables: &[MovingTable]) -> String {
    let mut names = BTreeSet::new();
    for table in tables {
        let mut next = table.through();
        while let Some(through) = next {
            names.insert(through.parent.sql());
            next = through.key.through();
        }
    }
    let names = Vec::from_iter(names);
    match names.is_empty() {
        true => String::new(),
        false => format!("lock table {} in access share mode;", names.join(", ")),
    }
}

/// Proves the parents in the caller's transaction, which has locked the tables, so no session drops a foreign key before the
/// transaction ends. Tables with the key need no proof.
///
/// # Errors
/// `schema.drift` if a foreign key is missing or not validated, or if another migration copies such rows to this shard.
pub(crate) async fn prove(
    client: &Connected,
    tables: &[MovingTable],
    migration: &MigrationId,
) -> Result<(), StepError> {
    let Some(sql) = proofs_sql(tables, migration) else {
        return Ok(());
    };
    let shard = client.name();
    let rows = client.query_prepared(&sql, &[]).await;
    let rows = rows.at(format_args!("shard {shard}: proving foreign keys"))?;
    for row in rows {
        let (table, has_foreign_key, is_only_copy): (String, bool, bool) =
            (row.get(0), row.get(1), row.get(2));
        let (what, hint) = match (has_foreign_key, is_only_copy) {
            (true, true) => continue,
            (false, _) => (
                "no validated foreign key proves the parents of its rows any more",
                "add the foreign key to the parent again on this shard, and validate it; then resume the migration",
            ),
            (true, false) => (
                "another migration copies rows without the key to this shard",
                "resume the migration when the other one has flipped or ended; `shardwright cleanup` removes what an ended one has left",
            ),
        };
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "shard {shard}, table {table}: {what}, so rows without parents can be rows of the shard itself; nothing is changed"
            ),
            hint,
        ));
    }
    Ok(())
}

/// Returns the query with one row for each dependent table; `None` if there is none.
fn proofs_sql(tables: &[MovingTable], migration: &MigrationId) -> Option<String> {
    let proofs = tables.iter().filter_map(|table| {
        let proof = table.foreign_keys_proof(migration)?;
        Some(format!(
            "select {}, {proof}, {}",
            quote_literal(&table.table.to_string()),
            no_other_copy(migration)
        ))
    });
    let proofs: Vec<String> = proofs.collect();
    (!proofs.is_empty()).then(|| proofs.join(" union all "))
}
