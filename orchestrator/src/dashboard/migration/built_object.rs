//! Indexes, constraints and other objects that a step builds. The agent reports each by its label in pg_dump, as in
//! `FK VALIDATION public orders orders_tenant_fkey`, in place of a table.

use plans::wire::TableProgress;

/// The kinds of labels, each with what the agent does. Longer ones come before their beginnings.
const KINDS: [(&str, &str); 12] = [
    ("FK VALIDATION", "validates the foreign key"),
    ("FK CONSTRAINT", "adds the foreign key"),
    ("CHECK CONSTRAINT", "adds the check constraint"),
    ("CONSTRAINT", "adds the constraint"),
    ("INDEX ATTACH", "attaches the index"),
    ("INDEX", "builds the index"),
    ("TRIGGER", "creates the trigger"),
    ("RULE", "creates the rule"),
    ("POLICY", "creates the policy"),
    ("ROW SECURITY", "enables row security of"),
    ("STATISTICS", "creates the statistics"),
    ("MATERIALIZED VIEW DATA", "fills the materialized view"),
];

/// An object that is being built.
pub(super) struct BuiltObject {
    /// What the agent does with it.
    pub(super) what: &'static str,
    pub(super) name: String,
}

/// Returns the object if the entry is not a table.
pub(super) fn built_object(table: &TableProgress) -> Option<BuiltObject> {
    let (kind, what) = KINDS
        .into_iter()
        .find(|(kind, _)| table.table.starts_with(&format!("{kind} ")))?;
    let name = table.table[kind.len()..].trim_start();
    let parts: Vec<&str> = name.split(' ').collect();
    Some(BuiltObject {
        what,
        name: match parts.as_slice() {
            [schema, table, object] => format!("{object} of {schema}.{table}"),
            [schema, object] => format!("{schema}.{object}"),
            _ => name.to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(label: &str) -> Option<String> {
        let entry = TableProgress {
            table: label.to_owned(),
            ..TableProgress::default()
        };
        built_object(&entry).map(|built| format!("{} {}", built.what, built.name))
    }

    #[test]
    fn what_is_built_is_told_in_words_and_tables_are_not() {
        for (label, expected) in [
            (
                "FK VALIDATION public items items_order_fkey",
                "validates the foreign key items_order_fkey of public.items",
            ),
            (
                "INDEX public items_idx",
                "builds the index public.items_idx",
            ),
            (
                "CONSTRAINT public a \"b c\"",
                "adds the constraint public a \"b c\"",
            ),
        ] {
            assert_eq!(words(label).as_deref(), Some(expected));
        }
        assert_eq!(words("public.orders"), None);
        assert_eq!(words("INDEXES.orders"), None);
    }
}
