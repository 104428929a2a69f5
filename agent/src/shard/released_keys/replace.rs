//! Replaces all released keys of a map at once, after the map got another strategy or another key.

use connect::Connected;
use plans::id::MapVersion;
use plans::names::{SCHEMA, released_keys_trigger};
use plans::sql::{quote_ident, quote_literal};
use plans::table::TableName;

use super::ReleasedKeys;
use crate::error::{StepError, WithIntent};
use crate::shard::{epoch, guard};

impl ReleasedKeys<'_> {
    /// Replaces the released keys of the map, which had another form, by the keys of this value. The guard of released
    /// keys then replaces the guard of the conversion, table by table, in one transaction each.
    pub(crate) async fn replace(
        &self,
        client: &Connected,
        version: MapVersion,
    ) -> Result<(), StepError> {
        self.lock_guard(client).await?;
        self.write_released(client, self.keys, version).await?;
        self.forget_earlier_owners(client, version).await?;
        self.create_guard(client, self.keys, true).await?;
        self.drop_from_tables_outside(client).await?;
        self.drop_if_empty(client, self.keys).await?;
        self.unlock_guard(client).await
    }

    /// Deletes the records of earlier moves: their keys have a form that the map has no longer.
    async fn forget_earlier_owners(
        &self,
        client: &Connected,
        version: MapVersion,
    ) -> Result<(), StepError> {
        let sql = format!(
            "delete from {SCHEMA}.given where map = {} and version < {version}",
            quote_literal(self.map.as_str())
        );
        epoch::execute(client, self.token, &sql)
            .await
            .at(self.what("deleting the records of earlier moves"))
    }

    /// Drops the triggers on tables that the map no longer lists.
    async fn drop_from_tables_outside(&self, client: &Connected) -> Result<(), StepError> {
        let what = self.what("reading guards of released keys");
        let names =
            ["insert", "update", "delete"].map(|event| released_keys_trigger(self.map, event));
        for (table, trigger) in self.guarded_tables(client, &names).await? {
            if !self.tables.iter().any(|listed| listed.top() == &table) {
                let sql = drop_trigger_sql(&table, &trigger);
                guard::execute_with_short_locks(client, self.token, &sql, &what).await?;
            }
        }
        Ok(())
    }

    /// Returns the tables that have triggers with these names, each with the name of the trigger.
    pub(super) async fn guarded_tables(
        &self,
        client: &Connected,
        names: &[String],
    ) -> Result<Vec<(TableName, String)>, StepError> {
        let rows = client
            .query(
                "select n.nspname::text, c.relname::text, t.tgname::text
                 from pg_catalog.pg_trigger t
                 join pg_catalog.pg_class c on c.oid = t.tgrelid
                 join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                 where t.tgparentid = 0 and t.tgname = any ($1::pg_catalog.text[])",
                &[&names],
            )
            .await
            .at(self.what("reading guards of released keys"))?;
        let found = rows.iter().map(|row| {
            let table = TableName {
                schema: row.get(0),
                name: row.get(1),
            };
            (table, row.get(2))
        });
        Ok(found.collect())
    }
}

/// Returns the statement that drops a trigger of the guard of released keys.
pub(super) fn drop_trigger_sql(table: &TableName, trigger: &str) -> String {
    format!(
        "drop trigger if exists {} on {}",
        quote_ident(trigger),
        table.sql()
    )
}
