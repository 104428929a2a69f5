//! Tables without the key: each row belongs to its parent row.

use super::{TableKey, TableName, qualified};
use crate::id::MigrationId;
use crate::sql::quote_literal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The condition that `=` compares the columns of the foreign key `k` as the foreign key does, and equal values have one
/// text: its operators are those of pg_catalog for the types of the columns, and it has no period. `k` is a row of
/// `pg_constraint`.
pub const PLAIN_FOREIGN_KEY: &str = "
    not coalesce((pg_catalog.to_jsonb(k) ->> 'conperiod')::bool, false) and not exists (
      select from rows from (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey),
                             pg_catalog.unnest(k.conpfeqop)) c (referring, referred, equals)
      join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.referring
      join pg_catalog.pg_attribute r on r.attrelid = k.confrelid and r.attnum = c.referred
      join pg_catalog.pg_operator o on o.oid = c.equals
      where o.oprnamespace <> 'pg_catalog'::pg_catalog.regnamespace
         or not (a.atttypid = r.atttypid
                 or (o.oprleft, o.oprright) = (r.atttypid, a.atttypid)
                 or a.atttypid in ('text'::pg_catalog.regtype, 'varchar'::pg_catalog.regtype)
                    and r.atttypid in ('text'::pg_catalog.regtype, 'varchar'::pg_catalog.regtype))
         or a.atttypid in ('float4'::pg_catalog.regtype, 'float8'::pg_catalog.regtype)
         or a.atttypid = 'numeric'::pg_catalog.regtype and (a.atttypmod = -1 or a.atttypmod <> r.atttypmod))";

/// The parent table to whose rows a table's rows belong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughTable {
    /// The name of the parent table.
    pub parent: TableName,
    /// Pairs of a column of this table and the equal column of the parent.
    pub columns: Vec<(String, String)>,
    /// Whether a validated foreign key with exactly these columns proves that a row with values in all of them has its
    /// parent row when its transaction commits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub enforced: bool,
    /// How the shard key of the parent's rows is determined.
    pub key: TableKey,
}

impl ThroughTable {
    /// Returns whether foreign keys prove the parent of every row, its parent, and so on up to the row with the key.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        let above = match &self.key {
            TableKey::Through(above) => above.is_enforced(),
            TableKey::Columns(_)
            | TableKey::Schema(_)
            | TableKey::Group(_)
            | TableKey::Reference => true,
        };
        self.enforced && above
    }

    /// Returns the condition that rows of `table`, whose parents these are, have them: the foreign key is there now and
    /// validated, or the migration has created the table, and adds the foreign key after the copy.
    pub(super) fn proof(&self, table: &TableName, migration: &MigrationId) -> String {
        let oid = |table: &TableName| {
            let name = quote_literal(&table.sql());
            format!("pg_catalog.to_regclass({name})::pg_catalog.oid")
        };
        let pairs = self.columns.iter();
        let pairs = pairs
            .map(|(own, theirs)| format!("({}, {})", quote_literal(own), quote_literal(theirs)));
        format!(
            "(exists (
                select from pg_catalog.pg_constraint k
                where k.contype = 'f' and k.convalidated and k.conrelid = {child} and k.confrelid = {parent}
                  and pg_catalog.cardinality(k.conkey) = {count} and not exists (
                    select from rows from (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey)) c (referring, referred)
                    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.referring
                    join pg_catalog.pg_attribute r on r.attrelid = k.confrelid and r.attnum = c.referred
                    where (a.attname, r.attname) not in ({pairs}))
                  and {PLAIN_FOREIGN_KEY})
              or exists (
                select from shardwright.created c
                where c.migration = {migration} and c.class = 'pg_catalog.pg_class'::pg_catalog.regclass
                  and (c.oid = {child} or c.oid in (select relid from pg_catalog.pg_partition_ancestors({child})))))",
            child = oid(table),
            parent = oid(&self.parent),
            count = self.columns.len(),
            pairs = pairs.collect::<Vec<_>>().join(", "),
            migration = quote_literal(migration.as_str()),
        )
    }

    /// Returns the number of parents between a row and the row with the key, which is at least 1.
    #[must_use]
    pub fn depth(&self) -> usize {
        match &self.key {
            TableKey::Through(above) => 1 + above.depth(),
            TableKey::Columns(_)
            | TableKey::Schema(_)
            | TableKey::Group(_)
            | TableKey::Reference => 1,
        }
    }

    /// Returns the condition that `parent` is the parent of the row `row`. Both are aliases.
    #[must_use]
    pub fn joins(&self, parent: &str, row: &str) -> String {
        let pairs = self.columns.iter().map(|(own, theirs)| {
            format!("{} = {}", qualified(parent, theirs), qualified(row, own))
        });
        pairs.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the condition that the row `row` refers to a parent that does not exist, as far as the statement sees.
    #[must_use]
    pub fn lacks_parent(&self, row: &str) -> String {
        let parent = "shardwright_missing";
        let columns = self.columns.iter();
        let columns: Vec<String> = columns.map(|(own, _)| qualified(row, own)).collect();
        format!(
            "(pg_catalog.num_nulls({}) = 0 and not exists (select from {} {parent} where {}))",
            columns.join(", "),
            self.parent.sql(),
            self.joins(parent, row)
        )
    }
}

/// Returns the condition that no other migration copies rows of dependent tables to this shard: they could lack their parents
/// too.
#[must_use]
pub fn no_other_copy(migration: &MigrationId) -> String {
    format!(
        "not exists (
           select from shardwright.move o
           where o.migration <> {} and o.role = 'target' and o.flipped is null
             and o.about @? '$.tables[*].key.through')",
        quote_literal(migration.as_str())
    )
}
