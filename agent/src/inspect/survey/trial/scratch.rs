//! Creates tables for the sample on a live target: like the target's tables, in a schema that disappears with the
//! transaction.

use plans::sql::quote_ident;
use plans::table::TableName;
use uuid::Uuid;

use super::RunningTrial;
use super::failure::{self, TrialEnd};
use crate::error::WithIntent;
use crate::shard::user_code;

impl RunningTrial<'_> {
    /// Creates a table like each table of the target, with its columns, defaults, checks, generated columns and
    /// indexes. The new table has no foreign keys and triggers, which do not fire when the agent copies and applies.
    pub(super) async fn create_scratch_tables(&mut self) -> Result<(), TrialEnd> {
        let schema = format!("shardwright_trial_{}", Uuid::new_v4().simple());
        let action = format!("shard {}: setting up a trial", self.target_name());
        let create = format!("create schema {}", quote_ident(&schema));
        self.target_session()
            .batch_execute(&create)
            .await
            .at(action)?;
        for (index, table) in self.tables.iter().enumerate() {
            let name = TableName {
                schema: schema.clone(),
                name: format!("t{index}"),
            };
            let like = format!(
                "create table {} (like {} including all)",
                name.sql(),
                table.table.sql()
            );
            let result = self.target_session().batch_execute(&like).await;
            result.map_err(|error| failure::rows_failure(self.target_name(), table, &error))?;
            self.copies[index].table = name;
            self.copies[index].partition_of = None;
        }
        Ok(user_code::prove(self.target_session(), &self.copies).await?)
    }
}
