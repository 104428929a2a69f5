//! Columns whose values mean something on their own server only: refused, or worth knowing.

use plans::sql::quote_ident;

use super::table::TableCheck;
use crate::inspect::findings::Findings;
use crate::postgres::definitions::FoundColumn;
use crate::postgres::types::TypePart;

/// Types of `pg_catalog` that take no input.
const INTERNAL: [&str; 7] = [
    "pg_node_tree",
    "pg_ndistinct",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "gtsvector",
];
/// Names of transactions and places.
const TRANSACTION: [&str; 3] = ["xid", "cid", "tid"];
/// Positions in the log, and the count of transactions.
const POSITION: [&str; 4] = ["pg_lsn", "xid8", "pg_snapshot", "txid_snapshot"];

impl TableCheck<'_> {
    /// The types of its columns, and what they are made of.
    pub(super) fn types(&self, findings: &mut Findings) {
        for column in self.columns {
            let Some(code) = code_of(&column.parts) else {
                continue;
            };
            findings.add(
                code,
                format!("{}, column {}", self.object, column.column.name),
                format!("it is {}", described(column)),
                self.for_type(code, column),
            );
        }
    }

    /// What mends it.
    fn for_type(&self, code: &str, column: &FoundColumn) -> String {
        let alter = format!(
            "alter table {} alter column {}",
            self.facts.table.sql(),
            quote_ident(&column.column.name)
        );
        match code {
            "type.reg" | "type.internal" => format!("{alter} type text"),
            "type.transaction" => format!("{alter} type text, or bigint with a `using`"),
            "type.large_object" => "keep the bytes in a column of type bytea".to_owned(),
            "type.oid" => {
                "nothing, unless it names a large object or something in the catalog".to_owned()
            }
            _ => "nothing, unless the application compares it with the server's own".to_owned(),
        }
    }
}

/// The gravest that a type, or something that it is made of, gives cause for.
fn code_of(parts: &[TypePart]) -> Option<&'static str> {
    let any = |of: &dyn Fn(&TypePart) -> bool| parts.iter().any(of);
    let listed = |list: &[&str]| any(&|part| list.iter().any(|name| part.is(name)));
    let is_reg = |part: &TypePart| part.built_in().is_some_and(|name| name.starts_with("reg"));
    if any(&is_reg) {
        Some("type.reg")
    } else if listed(&TRANSACTION) {
        Some("type.transaction")
    } else if listed(&INTERNAL) {
        Some("type.internal")
    } else if any(&|part| part.extension.as_deref() == Some("lo")) {
        Some("type.large_object")
    } else if listed(&["oid", "oidvector"]) {
        Some("type.oid")
    } else if listed(&POSITION) {
        Some("type.position")
    } else {
        None
    }
}

/// The type as the table has it, and the cause where that is a part of it.
fn described(column: &FoundColumn) -> String {
    let data_type = &column.column.data_type;
    let cause = column
        .parts
        .iter()
        .find(|part| code_of(std::slice::from_ref(part)).is_some());
    match cause.and_then(TypePart::built_in) {
        Some(cause) if cause != data_type => format!("{data_type}, which is made of {cause}"),
        _ => data_type.clone(),
    }
}
