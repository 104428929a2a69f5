//! The types that a column's type is composed of: domains, elements and attributes, down to the base types.
//!
//! They determine whether the binary format is the same on another server, and which types cannot be moved. This module
//! does not interpret values.

use std::collections::{BTreeMap, HashMap};

use connect::Connected;
use plans::table::{BinaryForm, TableName};
use tokio_postgres::Row;

use super::definitions;
use crate::error::{StepError, WithIntent};

/// Types of `pg_catalog` whose send and receive functions have used the same format since PostgreSQL 14, and whose
/// format contains nothing specific to one server (such as an OID). Domains over these types, and arrays of them, use
/// the same format.
///
/// The list excludes tsquery, because its receive function refuses an empty value that the send function wrote, and
/// xml, which the server parses again.
const STABLE: [&str; 55] = [
    "bool",
    "bytea",
    "char",
    "name",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "money",
    "text",
    "varchar",
    "bpchar",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "uuid",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "bit",
    "varbit",
    "json",
    "jsonb",
    "jsonpath",
    "point",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "oid",
    "xid8",
    "pg_lsn",
    "pg_snapshot",
    "txid_snapshot",
    "tsvector",
    "int4range",
    "int8range",
    "numrange",
    "daterange",
    "tsrange",
    "tstzrange",
    "int4multirange",
    "int8multirange",
    "nummultirange",
    "datemultirange",
    "tsmultirange",
    "tstzmultirange",
    "refcursor",
];

/// Types whose binary format has another meaning in another major version: since PostgreSQL 17 the largest interval is
/// infinity.
const SAME_MAJOR: [&str; 1] = ["interval"];

/// A column's type, or one type that it is composed of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypePart {
    /// The path from the column's type to this type: `d` to a domain's base type, `a` to an array's element, `r` to a
    /// range's subtype, `c` to an attribute of a composite type. Empty for the column's own type.
    path: String,
    /// The name of the type, if it is in `pg_catalog`.
    built_in: Option<String>,
    /// The result of `format_type` for the type.
    name: String,
    /// `pg_type.typtype`.
    kind: char,
    /// The extension that the type belongs to.
    pub(crate) extension: Option<String>,
}

impl TypePart {
    /// Returns a type of `pg_catalog` that is composed of no other type.
    pub(crate) fn simple(name: &str) -> Self {
        Self {
            path: String::new(),
            built_in: Some(name.to_owned()),
            name: name.to_owned(),
            kind: 'b',
            extension: None,
        }
    }

    /// Returns whether this is the type of `pg_catalog` with this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.built_in.as_deref() == Some(name)
    }

    /// Returns the name of the type, if it is in `pg_catalog`.
    pub(crate) fn built_in(&self) -> Option<&str> {
        self.built_in.as_deref()
    }

    fn form(&self) -> BinaryForm {
        let listed = |list: &[&str]| list.iter().any(|name| self.is(name));
        if listed(&STABLE) || self.kind == 'e' {
            BinaryForm::Stable
        } else if listed(&SAME_MAJOR) {
            BinaryForm::SameMajor
        } else {
            BinaryForm::Unfit(self.description())
        }
    }

    /// Describes a type whose binary format is not known to be the same on every server.
    fn description(&self) -> String {
        match (&self.extension, self.kind) {
            (Some(extension), _) => format!("a type of extension {extension}"),
            (None, 'c') => "a composite type, whose binary form contains OIDs of types".to_owned(),
            (None, 'd') => "a domain".to_owned(),
            (None, 'e') => "an enum".to_owned(),
            (None, 'r' | 'm') => "a user-defined range type".to_owned(),
            (None, _) => {
                "a type whose binary form is not known to be the same on every server".to_owned()
            }
        }
    }
}

/// Returns what is known about the binary format of a column whose type is composed of `parts`.
pub(crate) fn binary_form(parts: &[TypePart]) -> BinaryForm {
    let domains = parts
        .iter()
        .filter(|part| part.path.bytes().all(|step| step == b'd'));
    let Some(base) = domains.max_by_key(|part| part.path.len()) else {
        return BinaryForm::Unfit("a type of which nothing is known".to_owned());
    };
    let element = format!("{}a", base.path);
    match parts.iter().find(|part| part.path == element) {
        None => base.form(),
        // The format of an array contains the OID of its element type. Only built-in types have the same OID on every
        // server.
        Some(element) if element.built_in.is_some() => match element.form() {
            BinaryForm::Unfit(why) => {
                BinaryForm::Unfit(format!("an array of {}: {why}", element.name))
            }
            form @ (BinaryForm::Stable | BinaryForm::SameMajor) => form,
        },
        Some(element) => BinaryForm::Unfit(format!(
            "an array of {}, {}",
            element.name,
            element.description()
        )),
    }
}

/// Reads the types of all columns of the tables, by table and column name.
pub(crate) async fn parts(
    client: &Connected,
    tables: &[&TableName],
) -> Result<BTreeMap<TableName, HashMap<String, Vec<TypePart>>>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    let rows = client
        .query(
            "with recursive reached (place, attname, type, path) as (
               select given.place, a.attname::text, a.atttypid, ''
               from pg_catalog.unnest($1::text[]) with ordinality given (name, place)
               join pg_catalog.pg_attribute a on a.attrelid = pg_catalog.to_regclass(given.name)
               where a.attnum > 0 and not a.attisdropped
               union all
               select r.place, r.attname, next.type, r.path || next.step from reached r
               join pg_catalog.pg_type t on t.oid = r.type
               cross join lateral (
                 select t.typbasetype as type, 'd' as step where t.typtype = 'd'
                 union all
                 select t.typelem, 'a' where t.typelem <> 0 and t.typlen = -1 and t.typtype = 'b'
                 union all
                 select g.rngsubtype, 'r' from pg_catalog.pg_range g where t.oid in (g.rngtypid, g.rngmultitypid)
                 union all
                 select c.atttypid, 'c' from pg_catalog.pg_attribute c
                 where t.typtype = 'c' and c.attrelid = t.typrelid and c.attnum > 0 and not c.attisdropped
               ) next)
             select r.place, r.attname, r.path, t.typtype::text,
                    case when n.nspname = 'pg_catalog' then t.typname::text end,
                    pg_catalog.format_type(t.oid, null), e.extname::text
             from reached r join pg_catalog.pg_type t on t.oid = r.type
             join pg_catalog.pg_namespace n on n.oid = t.typnamespace
             left join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
               and d.objid = t.oid and d.deptype = 'e'
             left join pg_catalog.pg_extension e on e.oid = d.refobjid",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading types of columns"))?;
    let mut parts: BTreeMap<TableName, HashMap<String, Vec<TypePart>>> = BTreeMap::new();
    for row in &rows {
        if let Some(table) = definitions::at(tables, row) {
            let columns = parts.entry(table.clone()).or_default();
            columns.entry(row.get(1)).or_default().push(part(row));
        }
    }
    Ok(parts)
}

fn part(row: &Row) -> TypePart {
    TypePart {
        path: row.get(2),
        kind: row.get::<_, String>(3).chars().next().unwrap_or(' '),
        built_in: row.get(4),
        name: row.get(5),
        extension: row.get(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(path: &str, name: &str, kind: char) -> TypePart {
        let built_in = !name.contains('.');
        TypePart {
            path: path.to_owned(),
            built_in: built_in.then(|| name.to_owned()),
            name: name.to_owned(),
            kind,
            extension: name.starts_with("x.").then(|| "x".to_owned()),
        }
    }

    #[test]
    fn domains_are_as_their_base_and_arrays_only_of_built_in_types() {
        let forms = [
            (vec![part("", "int8", 'b')], true),
            (vec![part("", "public.mood", 'e')], true),
            (
                vec![
                    part("", "public.d", 'd'),
                    part("d", "public.dd", 'd'),
                    part("dd", "text", 'b'),
                ],
                true,
            ),
            (vec![part("", "_text", 'b'), part("a", "text", 'b')], true),
            (
                vec![part("", "_mood", 'b'), part("a", "public.mood", 'e')],
                false,
            ),
            (
                vec![
                    part("", "_d", 'b'),
                    part("a", "public.d", 'd'),
                    part("ad", "text", 'b'),
                ],
                false,
            ),
            (
                vec![
                    part("", "public.d", 'd'),
                    part("d", "_xml", 'b'),
                    part("da", "xml", 'b'),
                ],
                false,
            ),
            (
                vec![part("", "public.pair", 'c'), part("c", "int4", 'b')],
                false,
            ),
            (vec![part("", "x.ltree", 'b')], false),
            (
                vec![part("", "public.span", 'r'), part("r", "text", 'b')],
                false,
            ),
            (vec![part("", "xml", 'b')], false),
        ];
        for (parts, stable) in forms {
            let form = binary_form(&parts);
            assert_eq!(form == BinaryForm::Stable, stable, "{parts:?}: {form:?}");
        }
        let spans = [part("", "_interval", 'b'), part("a", "interval", 'b')];
        assert_eq!(binary_form(&spans), BinaryForm::SameMajor);
    }
}
