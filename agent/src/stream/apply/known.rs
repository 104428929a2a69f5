//! What the destination's catalog says about the columns of a moving table.

use connect::Connected;
use plans::table::{Format, MovingTable};
use tokio_postgres::types::{Kind, Type};

use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::RelationColumn;

/// Types from here on are the user's: their numbers differ from server to server.
const FIRST_USER_OID: u32 = 16_384;

/// A table of the destination.
#[derive(Debug)]
pub(super) struct KnownTable {
    pub(super) columns: Vec<KnownColumn>,
    /// Rows may be in each other's way although they are found by different keys: there is another unique index than of
    /// those, or a constraint that excludes.
    pub(super) rivals: bool,
}

impl KnownTable {
    /// Reads `table` as it is on the destination; it has no columns where it does not exist.
    pub(super) async fn read(client: &Connected, table: &MovingTable) -> Result<Self, StepError> {
        Ok(Self {
            columns: columns(client, table).await?,
            rivals: has_rivals(client, table).await?,
        })
    }
}

/// A column of the destination.
#[derive(Debug, Clone)]
pub(super) struct KnownColumn {
    pub(super) name: String,
    /// An identity column GENERATED ALWAYS, which no UPDATE may set.
    pub(super) always: bool,
    type_oid: u32,
    typmod: i32,
    /// The type's name in SQL, without a modifier: what is assigned takes the column's own.
    pub(super) type_name: String,
    /// The type of arrays of it; there is none of arrays.
    pub(super) array: Option<Type>,
    /// Somebody has said how text becomes a value of the type; a cast is then not what the type reads.
    is_cast_otherwise: bool,
}

impl KnownColumn {
    /// Whether many values in this form can be one parameter.
    pub(super) fn fits(&self, format: Format) -> bool {
        match format {
            Format::Text => !self.is_cast_otherwise,
            Format::Binary => !self.is_cast_otherwise && self.array.is_some(),
        }
    }

    /// Whether no number of values in this form is ever one parameter, whatever somebody has said of its type.
    pub(super) fn never_fits(&self, format: Format) -> bool {
        format == Format::Binary && self.array.is_none()
    }

    /// Whether values of the column are values of the other one; the user's own types are known by their names only.
    pub(super) fn is_of_type(&self, found: &RelationColumn) -> bool {
        let users = self.type_oid >= FIRST_USER_OID && found.type_oid >= FIRST_USER_OID;
        users || (self.type_oid, self.typmod) == (found.type_oid, found.typmod)
    }
}

/// Their numbers are all that matters of the types.
fn array_of(member: u32, array: u32) -> Option<Type> {
    let kind = |oid, kind| Type::new(String::new(), oid, kind, String::new());
    (array != 0).then(|| kind(array, Kind::Array(kind(member, Kind::Simple))))
}

#[cfg(test)]
impl KnownColumn {
    pub(super) fn text(name: &str, always: bool) -> Self {
        Self {
            name: name.to_owned(),
            always,
            type_oid: Type::TEXT.oid(),
            typmod: -1,
            type_name: "text".to_owned(),
            array: Some(Type::TEXT_ARRAY),
            is_cast_otherwise: false,
        }
    }
}

async fn columns(client: &Connected, table: &MovingTable) -> Result<Vec<KnownColumn>, StepError> {
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
    let known = rows.iter().map(|row| KnownColumn {
        name: row.get(0),
        always: row.get(1),
        type_oid: row.get(2),
        typmod: row.get(3),
        type_name: row.get(4),
        array: array_of(row.get(2), row.get(5)),
        is_cast_otherwise: row.get(6),
    });
    Ok(known.collect())
}

/// [`KnownTable::rivals`] of `table` on any shard; not so where it does not exist.
pub(super) async fn has_rivals(client: &Connected, table: &MovingTable) -> Result<bool, StepError> {
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
