//! What a column's type is made of: its domains, elements and attributes, down to the types that hold values.
//!
//! Two things follow from that: whether the binary form is the same on another server, and which types cannot
//! be carried there at all. Absent: how values look; they pass through as they are.

use std::collections::{BTreeMap, HashMap};

use connect::Connected;
use plans::table::{BinaryForm, TableName};
use tokio_postgres::Row;

use super::definitions;
use crate::error::{StepError, WithIntent};

/// Types of `pg_catalog` whose send and receive functions have had one form since PostgreSQL 14, that name
/// nothing on their server; domains over them, and arrays of them, are sent in the same form.
/// Not among them: tsquery, whose empty value is sent in binary and then refused, and xml, which is parsed again.
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

/// Types whose binary form means another value in another major version: the largest interval is infinity from 17 on.
const SAME_MAJOR: [&str; 1] = ["interval"];

/// One type that a column's type is, or is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypePart {
    /// From the column down: `d` to a domain's base, `a` to an array's element, `r` to a range's bound, `c` to an
    /// attribute of a composite. Empty: the column's own type.
    path: String,
    /// Its name, if it is one of `pg_catalog`.
    built_in: Option<String>,
    /// `format_type` of it.
    name: String,
    /// `pg_type.typtype`.
    kind: char,
    /// The extension that it belongs to.
    pub(crate) extension: Option<String>,
}

impl TypePart {
    /// A type of `pg_catalog` that is made of nothing else.
    pub(crate) fn simple(name: &str) -> Self {
        Self {
            path: String::new(),
            built_in: Some(name.to_owned()),
            name: name.to_owned(),
            kind: 'b',
            extension: None,
        }
    }

    /// Whether it is the type of `pg_catalog` that has this name there.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.built_in.as_deref() == Some(name)
    }

    /// Its name in `pg_catalog`.
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
            BinaryForm::Unfit(self.what())
        }
    }

    /// What it is, where its binary form is not known to be the same everywhere.
    fn what(&self) -> String {
        match (&self.extension, self.kind) {
            (Some(extension), _) => format!("a type of extension {extension}"),
            (None, 'c') => "a composite type, whose binary form holds numbers of types".to_owned(),
            (None, 'd') => "a domain".to_owned(),
            (None, 'e') => "an enum".to_owned(),
            (None, 'r' | 'm') => "a range type of the user's".to_owned(),
            (None, _) => "a type whose binary form nobody vouches for".to_owned(),
        }
    }
}

/// What is known of the binary form of a column whose type is made of `parts`.
pub(crate) fn binary_form(parts: &[TypePart]) -> BinaryForm {
    let domains = parts
        .iter()
        .filter(|part| part.path.bytes().all(|step| step == b'd'));
    let Some(base) = domains.max_by_key(|part| part.path.len()) else {
        return BinaryForm::Unfit("a type that nothing is known of".to_owned());
    };
    let element = format!("{}a", base.path);
    match parts.iter().find(|part| part.path == element) {
        None => base.form(),
        // An array names the type of its elements by number, and only built-in types have the same everywhere.
        Some(element) if element.built_in.is_some() => match element.form() {
            BinaryForm::Unfit(why) => {
                BinaryForm::Unfit(format!("an array of {}: {why}", element.name))
            }
            form @ (BinaryForm::Stable | BinaryForm::SameMajor) => form,
        },
        Some(element) => {
            BinaryForm::Unfit(format!("an array of {}, {}", element.name, element.what()))
        }
    }
}

/// The parts of the type of each column of tables, by table and the column's name.
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
