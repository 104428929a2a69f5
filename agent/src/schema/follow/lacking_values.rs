//! Copied rows that lack the values of a new column, which PostgreSQL has computed for each row on the owner.
//!
//! Order:
//! 1. The transaction that adds the column records that the rows of its table lack values.
//! 2. The controller gets the new definition, and the migration continues from the copy, in a new epoch (I7). So no agent
//!    that copies without the column can commit rows any more.
//! 3. The copied units of the table lose their snapshots. The copy then compares their rows with a later snapshot, as after
//!    lost changes, and copies those that differ.

use plans::failure::StepCode;
use plans::sql::quote_literal;
use plans::table::TableName;

use super::FollowRequest;
use super::record::{self, FollowRecord};
use crate::error::{StepError, WithIntent};
use crate::shard::epoch;

impl FollowRequest<'_> {
    /// Returns whether rows of a table lack values, or the copy has not compared them yet.
    pub(super) async fn awaits_values(&self, record: &FollowRecord) -> Result<bool, StepError> {
        if record.definitions.iter().any(|table| table.lacks_values) {
            return Ok(true);
        }
        if !self.may_compare_rows {
            return Ok(false);
        }
        let row = self
            .downstream
            .query_one(
                "select exists (select from shardwright.chunk where migration = $1 and done and snapshot is null)",
                &[&self.token.migration.0],
            )
            .await
            .at(self.intent("reading which rows are compared"))?;
        Ok(row.get(0))
    }
}

/// Lets the copy compare the rows of tables that lack values. The caller must be the first of its epoch that copies.
///
/// # Errors
/// The errors of the servers.
pub(crate) async fn compare_rows(request: &FollowRequest<'_>) -> Result<(), StepError> {
    let migration = &request.token.migration;
    let Some(mut recorded) = record::read(request.downstream, migration).await? else {
        return Ok(());
    };
    let lacking = recorded.definitions.iter().filter(|it| it.lacks_values);
    let lacking: Vec<TableName> = lacking.map(|definition| definition.table.clone()).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    if !request.may_compare_rows {
        return Err(StepError::not_yet(
            StepCode::SchemaChanged,
            "copied rows lack the values of a new column, and cannot be copied again now",
        ));
    }
    for definition in &mut recorded.definitions {
        definition.lacks_values = false;
    }
    let copied = request
        .tables
        .iter()
        .filter(|table| lacking.contains(table.top()));
    let names: Vec<String> = copied
        .map(|table| quote_literal(&table.table.to_string()))
        .collect();
    let (id, names) = (quote_literal(migration.as_str()), names.join(", "));
    let sql = format!(
        "update shardwright.chunk set snapshot = null where migration = {id} and done and relation in ({names});
         delete from shardwright.resync where migration = {id} and not done and relation in ({names});
         delete from shardwright.resync_keys where migration = {id} and relation in ({names});
         {}",
        record::write_sql(migration, &recorded)
    );
    epoch::execute(request.downstream, request.token, &sql)
        .await
        .at(request.intent("letting the copy compare rows"))
}
