//! The name of a table in maps, requests and messages.

use crate::sql::quote_ident;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A table, by schema and name.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct TableName {
    /// The schema.
    pub schema: String,
    /// The name within the schema.
    pub name: String,
}

impl TableName {
    /// Parses `schema.name`, or a name without a schema for a table in `public`. A schema whose name contains a dot is
    /// in quotes: `"my.schema".name`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let quoted = text.strip_prefix('"').and_then(split_quoted);
        let plain = || {
            let parts = text.split_once('.');
            parts.map(|(schema, name)| (schema.to_owned(), name))
        };
        let (schema, name) = quoted
            .or_else(plain)
            .unwrap_or_else(|| ("public".to_owned(), text));
        Self {
            schema,
            name: name.to_owned(),
        }
    }

    /// Returns the quoted name for SQL, with its schema.
    #[must_use]
    pub fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }
}

impl fmt::Display for TableName {
    /// Prints the name so that [`TableName::parse`] can read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.schema.contains('.') || self.schema.starts_with('"') {
            write!(f, "{}.{}", quote_ident(&self.schema), self.name)
        } else {
            write!(f, "{}.{}", self.schema, self.name)
        }
    }
}

/// Splits a quoted schema (without its opening quote) from the name.
fn split_quoted(text: &str) -> Option<(String, &str)> {
    let mut schema = String::new();
    let mut rest = text;
    loop {
        let (part, rest_of_name) = rest.split_once('"')?;
        schema.push_str(part);
        let Some(more) = rest_of_name.strip_prefix('"') else {
            return Some((schema, rest_of_name.strip_prefix('.')?));
        };
        schema.push('"');
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_schema_with_a_dot_is_listed_in_quotes() {
        let table = |text: &str| {
            let TableName { schema, name } = TableName::parse(text);
            (schema, name)
        };
        let pair = |schema: &str, name: &str| (schema.to_owned(), name.to_owned());
        assert_eq!(table("t"), pair("public", "t"));
        assert_eq!(table("a.b.c"), pair("a", "b.c"));
        assert_eq!(table("\"a.b\".c"), pair("a.b", "c"));
        assert_eq!(table("\"a\"\"b.\".\"c"), pair("a\"b.", "\"c"));
        assert_eq!(table("\"a"), pair("public", "\"a"));
    }

    proptest! {
        #[test]
        fn a_printed_name_is_parsed_to_the_same_table(schema in "[a\". ]{1,6}", name in "[a\". ]{1,6}") {
            let table = TableName { schema, name };
            prop_assert_eq!(TableName::parse(&table.to_string()), table);
        }
    }
}
