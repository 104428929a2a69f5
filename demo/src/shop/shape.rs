//! The key columns of a tenant in the shop's tables: a number, a region and a number, or an hour. Or each tenant has its
//! own tables in a schema, whose name is the key.
//!
//! Tenants are numbered from 1, regardless of their keys. SQL texts have placeholders that a shape replaces.

use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use serde::{Deserialize, Serialize};

/// The regions of the tenants' composite keys.
const REGIONS: [&str; 4] = ["ap", "eu", "sa", "us"];
const FIRST_HOUR: &str = "2024-01-01 00:00:00+00";
/// 2024-01-01 in PostgreSQL's microseconds.
const FIRST_HOUR_MICROS: i64 = 757_382_400_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// The maximum number of tenants with a schema.
const MAX_SCHEMAS: i64 = 200;

/// The schemas of the groups of tables, by the number of their tenant.
const GROUPS: [&str; 4] = ["billing", "sales", "stock", "support"];

/// The columns of the shard key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum KeyShape {
    /// `tenant_id bigint`.
    #[default]
    #[serde(rename = "number")]
    BigInt,
    /// `(region text, tenant_id bigint)`.
    #[serde(rename = "region")]
    TextBigInt,
    /// `hour timestamptz`: each tenant is one hour of a log.
    #[serde(rename = "hour")]
    Timestamp,
    /// Each tenant has a schema with its own tables. The checker reads the key in the column `tenant`.
    #[serde(rename = "schema")]
    Schema,
    /// The same with a few groups of tables.
    #[serde(rename = "group")]
    Group,
    /// `tenant_id bigint`, and the items of orders have no such column: they belong to the tenants of their orders.
    #[serde(rename = "dependents")]
    Dependents,
}

impl KeyShape {
    /// Returns the types of the key's columns.
    #[must_use]
    pub fn types(self) -> Vec<KeyType> {
        self.columns().iter().map(|(_, kind)| *kind).collect()
    }

    /// Returns the key's columns in a table, with their types.
    #[must_use]
    pub fn columns_of(self, table: &str) -> Vec<(&'static str, KeyType)> {
        let renamed = |(name, kind): &(&'static str, KeyType)| match (table, *name) {
            ("tenants", "tenant_id") => ("id", *kind),
            (_, name) => (name, *kind),
        };
        self.columns().iter().map(renamed).collect()
    }

    fn columns(self) -> &'static [(&'static str, KeyType)] {
        match self {
            Self::BigInt | Self::Dependents => &[("tenant_id", KeyType::Bigint)],
            Self::TextBigInt => &[("region", KeyType::Text), ("tenant_id", KeyType::Bigint)],
            Self::Timestamp => &[("hour", KeyType::Timestamptz)],
            Self::Schema | Self::Group => &[("tenant", KeyType::Text)],
        }
    }

    /// Returns whether a key is whole tables.
    #[must_use]
    pub fn has_whole_tables(self) -> bool {
        match self {
            Self::Schema | Self::Group => true,
            Self::BigInt | Self::TextBigInt | Self::Timestamp | Self::Dependents => false,
        }
    }

    /// Returns the number of tenants in a shop of about `tenants`.
    pub(super) fn tenants(self, tenants: i64) -> i64 {
        match self {
            Self::Schema => tenants.min(MAX_SCHEMAS),
            Self::Group => i64::try_from(GROUPS.len()).unwrap_or(1),
            Self::BigInt | Self::TextBigInt | Self::Timestamp | Self::Dependents => tenants,
        }
    }

    /// Returns the tenant with this group of tables.
    #[must_use]
    pub fn tenant_of_group(group: &str) -> Option<i64> {
        let index = GROUPS.iter().position(|known| *known == group)?;
        i64::try_from(index + 1).ok()
    }

    /// Returns the names of the groups of tables.
    #[must_use]
    pub fn groups() -> &'static [&'static str] {
        &GROUPS
    }

    /// Returns the key of a tenant.
    #[must_use]
    pub fn key(self, tenant: i64) -> Key {
        match self {
            Self::BigInt | Self::Dependents => Key::Int(tenant),
            Self::TextBigInt => {
                let region = usize::try_from(tenant.rem_euclid(4)).unwrap_or_default();
                Key::Row(vec![REGIONS[region].into(), Key::Int(tenant)])
            }
            Self::Timestamp => Key::Timestamp(FIRST_HOUR_MICROS + tenant * HOUR_MICROS),
            Self::Schema => Key::Text(format!("tenant_{tenant}")),
            Self::Group => {
                let index = usize::try_from(tenant - 1).unwrap_or_default();
                Key::Text(GROUPS[index % GROUPS.len()].to_owned())
            }
        }
    }

    /// Returns SQL for the values of a tenant's key columns. `tenant` is an SQL expression of type bigint.
    fn values(self, tenant: &str) -> Vec<String> {
        match self {
            Self::BigInt | Self::Dependents => vec![tenant.to_owned()],
            Self::TextBigInt => {
                let regions = REGIONS.map(|region| format!("'{region}'")).join(", ");
                let region = format!("(array[{regions}])[(1 + {tenant} % 4)::integer]");
                vec![region, tenant.to_owned()]
            }
            Self::Timestamp => vec![format!(
                "(timestamptz '{FIRST_HOUR}' + {tenant} * interval '1 hour')"
            )],
            Self::Schema => vec![format!("('tenant_' || {tenant})")],
            Self::Group => {
                let groups = GROUPS.map(|group| format!("'{group}'")).join(", ");
                vec![format!("(array[{groups}])[({tenant})::integer]")]
            }
        }
    }

    /// Returns the statement that makes the tables of tenant `$1` those of the transaction, if each tenant has its own.
    #[must_use]
    pub fn select_tables_sql(self) -> Option<String> {
        let sql = "select pg_catalog.set_config('search_path', {key_of_1}, true)";
        self.has_whole_tables().then(|| self.fill(sql))
    }

    /// Returns an SQL condition that is true for tenants in `keys`. `tenant` is an SQL expression of type bigint.
    #[must_use]
    pub fn tenant_predicate(self, keys: &KeySet, tenant: &str) -> String {
        let columns: Vec<(String, KeyType)> =
            self.values(tenant).into_iter().zip(self.types()).collect();
        keys.predicate(&columns)
    }

    /// Returns an SQL condition that is true for rows of `table` (alias `t`) in `keys`.
    #[must_use]
    pub fn predicate(self, keys: &KeySet, table: &str) -> String {
        let columns: Vec<(String, KeyType)> = self
            .columns_of(table)
            .into_iter()
            .map(|(name, kind)| (format!("t.\"{name}\""), kind))
            .collect();
        keys.predicate(&columns)
    }

    /// Returns the name of a key in the ledger: its values as PostgreSQL prints them.
    #[must_use]
    pub fn name(key: &Key) -> String {
        let values: Vec<String> = key.values().iter().map(Key::text).collect();
        values.join("/")
    }

    /// Replaces the placeholders in `text`: `{ids}` and `{keys}` are the key's columns in `tenants` and in other
    /// tables; `{id_columns}` and `{key_columns}` are their definitions; `{key_of_t}` and `{key_of_1}` are the keys of
    /// tenants `t` and `$1`; `{is_1}` is the condition for rows of tenant `$1`; `{key_name}` is the name of a row's key
    /// (alias `t`) as in [`KeyShape::name`].
    #[must_use]
    pub fn fill(self, text: &str) -> String {
        let list = |table: &str, part: &dyn Fn(&str, KeyType) -> String| {
            let columns = self.columns_of(table);
            columns
                .iter()
                .map(|(name, kind)| part(name, *kind))
                .collect::<Vec<_>>()
        };
        let define = |name: &str, kind: KeyType| format!("{name} {} not null", kind.sql_name());
        let name = |name: &str, _: KeyType| name.to_owned();
        let text_of = |name: &str, _: KeyType| format!("t.{name}::text");
        let tenant_1 = self.values("$1::bigint");
        let equal: Vec<String> = list("", &name)
            .into_iter()
            .zip(&tenant_1)
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        text.replace("{id_columns}", &list("tenants", &define).join(",\n    "))
            .replace("{key_columns}", &list("", &define).join(",\n    "))
            .replace("{ids}", &list("tenants", &name).join(", "))
            .replace("{keys}", &list("", &name).join(", "))
            .replace("{key_of_t}", &self.values("t").join(", "))
            .replace("{key_of_1}", &tenant_1.join(", "))
            .replace("{is_1}", &equal.join(" and "))
            .replace("{key_name}", &list("", &text_of).join(" || '/' || "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_values_as_postgresql_prints_them() {
        let names = [KeyShape::BigInt, KeyShape::TextBigInt, KeyShape::Timestamp]
            .map(|shape| KeyShape::name(&shape.key(5)));
        assert_eq!(names, ["5", "eu/5", "2024-01-01 05:00:00+00"]);
    }

    #[test]
    fn placeholders_are_filled_for_every_shape() {
        let text = "select {key_name} from ledger t where {is_1}";
        assert_eq!(
            KeyShape::BigInt.fill(text),
            "select t.tenant_id::text from ledger t where tenant_id = $1::bigint"
        );
        assert!(!KeyShape::TextBigInt.fill(text).contains('{'));
        assert_eq!(
            KeyShape::Schema.fill(text),
            "select t.tenant::text from ledger t where tenant = ('tenant_' || $1::bigint)"
        );
    }

    #[test]
    fn every_group_is_a_tenant() {
        for (number, group) in (1..).zip(KeyShape::groups()) {
            assert_eq!(KeyShape::Group.key(number), Key::Text((*group).to_owned()));
            assert_eq!(KeyShape::tenant_of_group(group), Some(number));
        }
        assert_eq!(KeyShape::tenant_of_group("other"), None);
    }
}
