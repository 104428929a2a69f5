//! Released keys: for each map and table one guard, the guard of released keys, refuses them without a time limit
//! (R12).
//!
//! A finished move transfers its keys from its own guard to this one. If keys return, the closed guard of the new move
//! is created before they leave this one. A key therefore always has a guard, and the number of guards stays bounded.
//!
//! Order: first the row in `shardwright.away`, then the triggers, table by table. After an interruption both are
//! repeated.

mod replace;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{MapName, MapVersion};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::{
    SCHEMA, SQLSTATE_NOT_OWNER, TRIGGER_PREFIX, released_keys_function, released_keys_set_function,
    released_keys_trigger,
};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableKey};

use super::epoch::{self, EpochToken};
use super::guard;
use super::guard::large_sets;
use crate::error::{StepError, WithIntent};

/// The data of a move that the guard of released keys needs.
#[derive(Debug)]
pub(crate) struct ReleasedKeys<'a> {
    pub(crate) token: &'a EpochToken,
    pub(crate) map: &'a MapName,
    pub(crate) keys: &'a KeySet,
    pub(crate) tables: &'a [MovingTable],
    pub(crate) shard: &'a str,
}

impl ReleasedKeys<'_> {
    /// Releases the keys: they belong to another shard from map version `version` on. The guard of released keys
    /// replaces the guard of the move.
    pub(crate) async fn release(
        &self,
        client: &Connected,
        version: MapVersion,
    ) -> Result<(), StepError> {
        self.lock_guard(client).await?;
        let refused = match self.read_released(client).await? {
            Some(refused) => refused.union(self.keys),
            None => self.keys.clone(),
        };
        self.write_released(client, &refused, version).await?;
        self.record_new_owner(client, version).await?;
        self.create_guard(client, &refused, true).await?;
        self.unlock_guard(client).await
    }

    /// Adds keys to the guard of released keys that the shard has rows of and never owned: the surplus keys of a seeded
    /// target.
    pub(crate) async fn refuse(&self, client: &Connected) -> Result<(), StepError> {
        self.lock_guard(client).await?;
        let refused = match self.read_released(client).await? {
            Some(refused) => refused.union(self.keys),
            None => self.keys.clone(),
        };
        self.write_released(client, &refused, self.token.until)
            .await?;
        self.create_guard(client, &refused, false).await?;
        self.unlock_guard(client).await
    }

    /// Removes returning keys from the guard of released keys. The closed guard of the move already covers them.
    ///
    /// The row of the move records which of its keys were released here before, for [`ReleasedKeys::restore`].
    pub(crate) async fn reclaim(&self, client: &Connected) -> Result<(), StepError> {
        self.lock_guard(client).await?;
        if let Some(refused) = self.read_released(client).await? {
            let returning = refused.intersection(self.keys);
            if !returning.is_empty() {
                self.record_returning_keys(client, Some(&returning)).await?;
            }
            let rest = refused.minus(self.keys);
            self.write_released(client, &rest, MapVersion(0)).await?;
            self.create_guard(client, &rest, false).await?;
            self.drop_from_other_tables(client, &rest).await?;
            self.drop_if_empty(client, &rest).await?;
        }
        self.unlock_guard(client).await
    }

    /// Creates the guard of released keys on new tables, in the caller's transaction.
    ///
    /// A shard whose tables were dropped with the keys has lost the triggers, but still has the record of the released
    /// keys.
    pub(crate) async fn guard_new_tables(&self, client: &Connected) -> Result<(), StepError> {
        let Some(refused) = self.read_released(client).await? else {
            return Ok(());
        };
        let what = self.what("guarding released keys");
        let role = guard::session_user(client).await.at(&what)?;
        let mut sql = functions_sql(self.map, &refused, self.tables);
        for (index, table) in self.tables.iter().enumerate() {
            if table.may_have_rows_of(&refused)
                && !guard::is_covered_by_earlier_leaf(self.tables, index)
            {
                sql.push_str("; ");
                sql.push_str(&self.triggers_sql(table, &refused, &role));
            }
        }
        client.batch_execute(&sql).await.at(&what)
    }

    /// Returns the statements that create the triggers on a table.
    fn triggers_sql(&self, table: &MovingTable, refused: &KeySet, role: &str) -> String {
        guard::row_triggers(
            table,
            |event| released_keys_trigger(self.map, event),
            &released_keys_function(self.map),
            |row| set_predicate(self.map, table, refused, row),
            &guard::foreign_session_sql(role),
        )
    }

    /// Releases the keys again after a move that did not complete. The caller drops the guard of the move afterwards.
    pub(crate) async fn restore(&self, client: &Connected) -> Result<(), StepError> {
        let what = self.what("reading released keys");
        let row = client
            .query_opt(
                "select away from shardwright.move where migration = $1 and away is not null",
                &[&self.token.migration.0],
            )
            .await
            .at(&what)?;
        let Some(row) = row else { return Ok(()) };
        let returning: KeySet = parse_keys(row.get(0), &what)?;
        self.lock_guard(client).await?;
        let refused = match self.read_released(client).await? {
            Some(refused) => refused.union(&returning),
            None => returning,
        };
        self.write_released(client, &refused, MapVersion(0)).await?;
        self.create_guard(client, &refused, false).await?;
        self.record_returning_keys(client, None).await?;
        self.unlock_guard(client).await
    }

    /// Takes the lock that prevents two moves of one map from changing the same guard at once.
    async fn lock_guard(&self, client: &Connected) -> Result<(), StepError> {
        client
            .execute(
                "select pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended($1, 0))",
                &[&self.lock_name()],
            )
            .await
            .at(self.what("locking the guard of released keys"))
            .map(|_| ())
    }

    async fn unlock_guard(&self, client: &Connected) -> Result<(), StepError> {
        client
            .execute(
                "select pg_catalog.pg_advisory_unlock(pg_catalog.hashtextextended($1, 0))",
                &[&self.lock_name()],
            )
            .await
            .at(self.what("unlocking the guard of released keys"))
            .map(|_| ())
    }

    fn lock_name(&self) -> String {
        lock_name(self.map)
    }

    /// Returns the released keys of the map, or `None` if there is no record.
    async fn read_released(&self, client: &Connected) -> Result<Option<KeySet>, StepError> {
        let what = self.what("reading released keys");
        let row = client
            .query_opt(
                "select keys from shardwright.away where map = $1",
                &[&self.map.0],
            )
            .await
            .at(&what)?;
        row.map(|row| parse_keys(row.get(0), &what)).transpose()
    }

    /// Records `refused` as the released keys of the map.
    async fn write_released(
        &self,
        client: &Connected,
        refused: &KeySet,
        version: MapVersion,
    ) -> Result<(), StepError> {
        let keys = quote_literal(&serde_json::json!(refused).to_string());
        let map = quote_literal(self.map.as_str());
        let sql = format!(
            "insert into {SCHEMA}.away as a (map, keys, map_version) values ({map}, {keys}, {version}) \
             on conflict (map) do update set keys = excluded.keys, map_version = greatest(a.map_version, excluded.map_version)"
        );
        epoch::execute(client, self.token, &sql)
            .await
            .at(self.what("recording released keys"))
    }

    /// Records which shard owns the keys now, in case the control store loses the flip. Older entries keep only their
    /// other keys.
    async fn record_new_owner(
        &self,
        client: &Connected,
        version: MapVersion,
    ) -> Result<(), StepError> {
        let what = self.what("recording the new owner of the keys");
        let map = quote_literal(self.map.as_str());
        let older = client
            .query(
                "select version, keys from shardwright.given where map = $1 and version < $2",
                &[&self.map.0, &version.0],
            )
            .await
            .at(&what)?;
        let mut sql = format!(
            "insert into {SCHEMA}.given (map, version, keys, shard, migration) \
             select {map}, {version}, {keys}, about ->> 'target', migration from {SCHEMA}.move \
             where migration = {id} and role = 'source' and about is not null on conflict do nothing",
            keys = quote_literal(&serde_json::json!(self.keys).to_string()),
            id = quote_literal(self.token.migration.as_str()),
        );
        for row in older {
            let (number, keys): (i64, KeySet) = (row.get(0), parse_keys(row.get(1), &what)?);
            if !keys.overlaps(self.keys) {
                continue;
            }
            let rest = keys.minus(self.keys);
            let condition = format!("where map = {map} and version = {number}");
            sql.push_str(&if rest.is_empty() {
                format!("; delete from {SCHEMA}.given {condition}")
            } else {
                let rest = quote_literal(&serde_json::json!(rest).to_string());
                format!("; update {SCHEMA}.given set keys = {rest} {condition}")
            });
        }
        epoch::execute(client, self.token, &sql).await.at(&what)
    }

    /// Records in the row of the move which of its keys were released here before, or deletes this record.
    async fn record_returning_keys(
        &self,
        client: &Connected,
        returning: Option<&KeySet>,
    ) -> Result<(), StepError> {
        let returning = returning.map_or_else(
            || "null".to_owned(),
            |keys| quote_literal(&serde_json::json!(keys).to_string()),
        );
        let sql = format!(
            "update {SCHEMA}.move set away = {returning} where migration = {}",
            quote_literal(self.token.migration.as_str())
        );
        epoch::execute(client, self.token, &sql)
            .await
            .at(self.what("recording returning keys"))
    }

    /// Creates the triggers for `refused` on each table. With `replace_move_guard` the same transaction drops the
    /// triggers of the move's own guard.
    async fn create_guard(
        &self,
        client: &Connected,
        refused: &KeySet,
        replace_move_guard: bool,
    ) -> Result<(), StepError> {
        let what = self.what("guarding released keys");
        let functions = functions_sql(self.map, refused, self.tables);
        epoch::execute(client, self.token, &functions)
            .await
            .at(&what)?;
        let role = guard::session_user(client).await.at(&what)?;
        for (index, table) in self.tables.iter().enumerate() {
            let is_covered = guard::is_covered_by_earlier_leaf(self.tables, index);
            // A retired partition only shows which topmost table needs the guard.
            if table.retired && is_covered {
                continue;
            }
            let mut sql = if is_covered {
                String::new()
            } else if !table.may_have_rows_of(refused) {
                self.drop_sql(table)
            } else {
                self.triggers_sql(table, refused, &role)
            };
            if replace_move_guard {
                sql = self.handover_sql(index, &sql);
            }
            let what = format!("{what} of {}", table.table);
            guard::execute_with_short_locks(client, self.token, &sql, &what).await?;
        }
        Ok(())
    }

    /// Returns the statements that execute `create` and then drop the triggers of the move's own guard on one table.
    ///
    /// The lock of DROP TRIGGER comes first. With the weaker lock of CREATE TRIGGER already held, the wait for it could
    /// deadlock with a transaction that has read the table and then writes to it, and the server might cancel that
    /// transaction.
    fn handover_sql(&self, index: usize, create: &str) -> String {
        let table = &self.tables[index];
        let on = if guard::is_covered_by_earlier_leaf(self.tables, index) {
            &table.table
        } else {
            table.top()
        };
        let drops = guard::drop_triggers_sql(&self.token.migration, index, self.tables);
        let on = on.sql();
        format!("lock table {on} in access exclusive mode; {create}; {drops}")
    }

    /// Returns the statements that drop the triggers on a table.
    fn drop_sql(&self, table: &MovingTable) -> String {
        ["insert", "update", "delete"]
            .map(|event| {
                format!(
                    "drop trigger if exists {} on {}",
                    quote_ident(&released_keys_trigger(self.map, event)),
                    table.top().sql()
                )
            })
            .join("; ")
    }

    /// Drops the triggers on tables that had a returning key as a whole and do not move: the owner of the key has dropped
    /// them.
    async fn drop_from_other_tables(
        &self,
        client: &Connected,
        rest: &KeySet,
    ) -> Result<(), StepError> {
        if self.tables.iter().all(|table| table.whole_key().is_none()) {
            return Ok(());
        }
        // The name of a group says nothing about schemas.
        let by_schema = |table: &MovingTable| matches!(table.key, TableKey::Schema(_));
        let has_schemas = self.tables.iter().any(by_schema);
        let what = self.what("dropping guards of released keys");
        let names =
            ["insert", "update", "delete"].map(|event| released_keys_trigger(self.map, event));
        for (table, trigger) in self.guarded_tables(client, &names).await? {
            let returns = has_schemas && self.keys.contains(&Key::Text(table.schema.clone()));
            let moves = self.tables.iter().any(|moving| moving.top() == &table);
            if !moves && (rest.is_empty() || returns) {
                let sql = replace::drop_trigger_sql(&table, &trigger);
                guard::execute_with_short_locks(client, self.token, &sql, &what).await?;
            }
        }
        Ok(())
    }

    /// Deletes the row and the function if the map has no released keys on this shard any more.
    async fn drop_if_empty(&self, client: &Connected, refused: &KeySet) -> Result<(), StepError> {
        if !refused.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "delete from {SCHEMA}.away where map = {}; \
             drop function if exists {SCHEMA}.{}(); drop function if exists {SCHEMA}.{}",
            quote_literal(self.map.as_str()),
            released_keys_function(self.map),
            released_keys_set_function(self.map)
        );
        epoch::execute(client, self.token, &sql)
            .await
            .at(self.what("removing the guard of released keys"))
    }

    /// Returns the description of the action, for messages.
    fn what(&self, intent: &str) -> String {
        format!("shard {}: {intent}", self.shard)
    }
}

/// Returns the name of the lock that a change of a map's guard holds.
pub(crate) fn lock_name(map: &MapName) -> String {
    format!("shardwright:away:{map}")
}

/// Returns the predicate of released keys for a row of a table in the WHEN of the guard.
pub(crate) fn set_predicate(
    map: &MapName,
    table: &MovingTable,
    keys: &KeySet,
    row: &str,
) -> String {
    large_sets::predicate(table, keys, row, &released_keys_set_function(map))
}

/// Returns the statements that create the functions of a map's guard for these keys.
pub(crate) fn functions_sql(map: &MapName, keys: &KeySet, tables: &[MovingTable]) -> String {
    format!("{}; {}", function_sql(map), key_set_sql(map, keys, tables))
}

/// Returns the statements that create the function for a large set of released keys; empty if the set is small.
pub(crate) fn key_set_sql(map: &MapName, keys: &KeySet, tables: &[MovingTable]) -> String {
    large_sets::function_sql(keys, tables, &released_keys_set_function(map))
}

/// Returns the statement that creates the function of a map's guard.
pub(crate) fn function_sql(map: &MapName) -> String {
    let name = released_keys_function(map);
    let map = quote_literal(map.as_str());
    format!(
        "create or replace function {SCHEMA}.{name}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           raise exception using
             errcode = '{SQLSTATE_NOT_OWNER}',
             message = format('this shard does not take writes for this key (map %s)', {map}),
             detail = format('map=%s version>=%s', {map}, (select map_version from {SCHEMA}.away where map = {map})),
             hint = 'read the shard map again and repeat the whole transaction';
         end $guard$"
    )
}

/// Drops the guards of released keys of all maps on a server that is no shard any more, and their records.
pub(crate) async fn drop_all(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let what = format!("shard {}: dropping guards of released keys", client.name());
    let rows = client
        .query(
            "select pg_catalog.format('drop trigger if exists %I on %I.%I', t.tgname, n.nspname, c.relname)
             from pg_catalog.pg_trigger t
             join pg_catalog.pg_class c on c.oid = t.tgrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where not t.tgisinternal and t.tgparentid = 0 and pg_catalog.starts_with(t.tgname::text, $1)",
            &[&format!("{TRIGGER_PREFIX}away_")],
        )
        .await
        .at(&what)?;
    for row in rows {
        guard::execute_with_short_locks(client, token, row.get(0), &what).await?;
    }
    let sql = format!("delete from {SCHEMA}.away; delete from {SCHEMA}.given");
    epoch::execute(client, token, &sql).await.at(what)
}

/// Parses keys from `shardwright.away` or `shardwright.given`.
pub(crate) fn parse_keys(keys: serde_json::Value, what: &str) -> Result<KeySet, StepError> {
    serde_json::from_value(keys)
        .map_err(|error| StepError::listed(StepCode::AwayUnreadable, format!("{what}: {error}")))
}
