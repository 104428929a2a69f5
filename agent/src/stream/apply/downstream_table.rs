//! The definition of a moving table in the catalog of the downstream shard.

use connect::Connected;
use plans::table::{Format, MovingTable};
use tokio_postgres::types::{Kind, Type};

use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::RelationColumn;

/// The first OID of types that users create: these OIDs differ between servers.
const FIRST_USER_OID: u32 = 16_384;

/// The definition of a table on the downstream shard.
#[derive(Debug)]
pub(super) struct DownstreamTable {
    pub(super) columns: Vec<DownstreamColumn>,
    /// Whether rows with different identities can conflict: the table has an exclusion constraint, or a unique index
    /// that does not contain all columns of the identity.
    pub(super) has_other_unique_keys: bool,
}

impl DownstreamTable {
    /// Reads the definition of `table` on the downstream shard; it has no columns if the table does not exist.
    pub(super) async fn read(client: &Connected, table: &MovingTable) -> Result<Self, StepError> {
        Ok(Self {
            columns: read_columns(client, table).await?,
            has_other_unique_keys: has_other_unique_keys(client, table).await?,
        })
    }
}

/// A column on the downstream shard.
#[derive(Debug, Clone)]
pub(super) struct DownstreamColumn {
    pub(super) name: String,
    /// The column is GENERATED ALWAYS AS IDENTITY, so no UPDATE may set it.
    pub(super) is_generated_always: bool,
    type_oid: u32,
    typmod: i32,
    /// The SQL name of the type, without a modifier: an assignment applies the column's own modifier.
    pub(super) type_name: String,
    /// The array type of the column's type. `None` if the type itself is an array.
    pub(super) array_type: Option<Type>,
    /// A user has created a cast from text to the type. It need not give the same value as the input function of the
    /// type.
    has_user_cast: bool,
}

impl DownstreamColumn {
    /// Returns whether many values in this format can be one array parameter.
    pub(super) fn fits_array(&self, format: Format) -> bool {
        match format {
            Format::Text => !self.has_user_cast,
            Format::Binary => !self.has_user_cast && self.array_type.is_some(),
        }
    }

    /// Returns whether values in this format can never be one array parameter, whatever casts exist.
    pub(super) fn is_never_array(&self, format: Format) -> bool {
        format == Format::Binary && self.array_type.is_none()
    }

    /// Returns whether the relation's column has the same type. The OIDs of types that users created differ between
    /// servers, so this function assumes that two such types are the same.
    pub(super) fn is_of_type(&self, found: &RelationColumn) -> bool {
        let are_user_types = self.type_oid >= FIRST_USER_OID && found.type_oid >= FIRST_USER_OID;
        are_user_types || (self.type_oid, self.typmod) == (found.type_oid, found.typmod)
    }
}

/// Returns an array type that has these OIDs and no names, because only the OIDs are used.
fn array_of(member: u32, array: u32) -> Option<Type> {
    let new_type = |oid, kind| Type::new(String::new(), oid, kind, String::new());
    (array != 0).then(|| new_type(array, Kind::Array(new_type(member, Kind::Simple))))
}

#[cfg(test)]
impl DownstreamColumn {
    pub(super) fn text(name: &str, is_generated_always: bool) -> Self {
        Self {
            name: name.to_owned(),
            is_generated_always,
            type_oid: Type::TEXT.oid(),
            typmod: -1,
            type_name: "text".to_owned(),
            array_type: Some(Type::TEXT_ARRAY),
            has_user_cast: false,
        }
    }
}

async fn read_columns(
    client: &Connected,
    table: &MovingTable,
) -> Result<Vec<DownstreamColumn>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select attname::text, attidentity = 'a', atttypid, atttypmod,
                    pg_catalog.format_type(atttypid, -1), t.typarray,
                    exists (select from pg_catalog.pg_cast c
                            where c.castsource = 'pg_catalog.text'::pg_catalog.regtype
                              and c.casttarget in (t.oid, t.typbasetype) and c.oid >= $2)
             from pg_catalog.pg_attribute join pg_catalog.pg_type t on t.oid = atttypid
             where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and not attisdropped",
            &[&table.table.sql(), &FIRST_USER_OID],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading columns of {}",
            table.table
        ))?;
    let columns = rows.iter().map(|row| DownstreamColumn {
        name: row.get(0),
        is_generated_always: row.get(1),
        type_oid: row.get(2),
        typmod: row.get(3),
        type_name: row.get(4),
        array_type: array_of(row.get(2), row.get(5)),
        has_user_cast: row.get(6),
    });
    Ok(columns.collect())
}

/// Reads what [`DownstreamTable::has_other_unique_keys`] is for `table` on either shard. False if the table does not
/// exist.
pub(super) async fn has_other_unique_keys(
    client: &Connected,
    table: &MovingTable,
) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select exists (
                 select from pg_catalog.pg_index x
                 where indrelid = pg_catalog.to_regclass($1) and (indisunique or indisexclusion)
                   and (indisexclusion or not array(
                       select attname::text from pg_catalog.pg_attribute
                       where attrelid = indrelid and attnum = any ((indkey::int2[])[0:indnkeyatts - 1])) @> $2::text[]))",
            &[&table.table.sql(), &table.identity],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading unique indexes of {}",
            table.table
        ))?;
    Ok(row.get(0))
}
