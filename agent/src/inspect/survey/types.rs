//! Finds columns whose values have a meaning only on their own server.

use plans::sql::quote_ident;

use super::table::TableCheck;
use crate::inspect::findings::Findings;
use crate::postgres::definitions::FoundColumn;
use crate::postgres::types::TypePart;

/// Types of `pg_catalog` that accept no input.
const INTERNAL: [&str; 7] = [
    "pg_node_tree",
    "pg_ndistinct",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "gtsvector",
];
/// Types for ids of transactions and commands, and for row ids.
const TRANSACTION: [&str; 3] = ["xid", "cid", "tid"];
/// Types for positions in the log, and for 64-bit transaction ids and snapshots.
const POSITION: [&str; 4] = ["pg_lsn", "xid8", "pg_snapshot", "txid_snapshot"];

impl TableCheck<'_> {
    /// Checks the types of the columns, and the types from which these are composed.
    pub(super) fn check_types(&self, findings: &mut Findings) {
        for column in self.columns {
            let Some(code) = worst_finding_code(&column.parts) else {
                continue;
            };
            findings.add(
                code,
                format!("{}, column {}", self.object, column.column.name),
                format!("it is {}", describe_type(column)),
                self.type_remedy(code, column),
            );
        }
    }

    /// Returns the remedy for a column of such a type.
    fn type_remedy(&self, code: &str, column: &FoundColumn) -> String {
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

/// Returns the most severe finding code for a type or its parts.
fn worst_finding_code(parts: &[TypePart]) -> Option<&'static str> {
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

/// Describes the type of the column, and the part of it that causes the finding.
fn describe_type(column: &FoundColumn) -> String {
    let data_type = &column.column.data_type;
    let cause = column
        .parts
        .iter()
        .find(|part| worst_finding_code(std::slice::from_ref(part)).is_some());
    match cause.and_then(TypePart::built_in) {
        Some(cause) if cause != data_type => format!("{data_type}, which is made of {cause}"),
        _ => data_type.clone(),
    }
}
