//! Tables for the sample on a live target: like its own, in a schema that goes with the transaction.

use plans::sql::quote_ident;
use plans::table::TableName;
use uuid::Uuid;

use super::RunningTrial;
use super::failure::{self, TrialEnd};
use crate::error::WithIntent;
use crate::shard::user_code;

impl RunningTrial<'_> {
    /// Makes a table like each of the target's: its columns, defaults, checks, generated columns and indexes. Foreign keys
    /// and triggers do not fire where rows are copied and changed.
    pub(super) async fn make_like(&mut self) -> Result<(), TrialEnd> {
        let schema = format!("shardwright_trial_{}", Uuid::new_v4().simple());
        let what = format!("shard {}: setting up a trial", self.target());
        let made = format!("create schema {}", quote_ident(&schema));
        self.there().batch_execute(&made).await.at(what)?;
        for (at, table) in self.tables.iter().enumerate() {
            let name = TableName {
                schema: schema.clone(),
                name: format!("t{at}"),
            };
            let like = format!(
                "create table {} (like {} including all)",
                name.sql(),
                table.table.sql()
            );
            let made = self.there().batch_execute(&like).await;
            made.map_err(|error| failure::of_rows(self.target(), table, &error))?;
            self.copies[at].table = name;
            self.copies[at].partition_of = None;
        }
        Ok(user_code::prove(self.there(), &self.copies).await?)
    }
}
