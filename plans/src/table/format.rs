//! The format in which a table's rows are transferred, and why: binary if both servers are known to read it in the same
//! way, otherwise text.
//!
//! Text is exact for every type with the settings of Shardwright's sessions. Binary is faster. But the binary format of
//! composite types and of arrays of user-defined types contains OIDs, which differ between databases. The format of an
//! extension's type is unknown, and some formats differ between major versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MovingTable;

/// The format of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The text of the type's output function.
    #[default]
    Text,
    /// The result of the type's send function.
    Binary,
}

impl Format {
    /// Returns the name in COPY and in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }
}

/// Whether the binary format of a column's type is portable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BinaryForm {
    /// It is the same in every version from 15 on.
    Stable,
    /// It is the same on all servers of one major version.
    SameMajor,
    /// It is not known to be the same on two servers, for this reason.
    Unfit(String),
}

/// The format that a request specifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyFormat {
    /// Binary for tables for which it is safe, text for others.
    #[default]
    Auto,
    /// Text for all tables.
    Text,
}

/// The major versions of the two servers of a move; 0: unknown.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct MajorVersions {
    /// The major version of the source.
    pub source: i32,
    /// The major version of the target.
    pub target: i32,
}

/// Decides in which format the rows of `table` are copied, and returns the reason.
#[must_use]
pub fn copy_format(
    table: &MovingTable,
    majors: MajorVersions,
    requested: CopyFormat,
) -> (Format, String) {
    if requested == CopyFormat::Text {
        return (Format::Text, "`copy_format: text`".to_owned());
    }
    let reason = table
        .written_columns()
        .find_map(|column| match &column.binary {
            BinaryForm::Stable => None,
            BinaryForm::SameMajor if majors.source == majors.target => None,
            BinaryForm::SameMajor => Some(format!(
                "column {} is {}, whose binary format differs between PostgreSQL {} and {}",
                column.name, column.data_type, majors.source, majors.target
            )),
            BinaryForm::Unfit(why) => Some(format!(
                "column {} is {}, {why}",
                column.name, column.data_type
            )),
        });
    match reason {
        Some(why) => (Format::Text, why),
        None => (
            Format::Binary,
            "both servers have the same binary format for its columns".to_owned(),
        ),
    }
}

/// The types of identity columns whose binary format the apply can read.
const READABLE_KEY_TYPES: [&str; 6] = ["smallint", "integer", "bigint", "uuid", "text", "name"];

/// Decides in which format one stream transfers the captured changes of `tables`, and returns the reason.
///
/// The format is binary only if every table is copied in binary, and if the apply can read the identity columns,
/// because it must compare rows.
#[must_use]
pub fn stream_format(tables: &[MovingTable]) -> (Format, String) {
    let reason_for_text = tables.iter().find_map(|table| {
        if table.format == Format::Text {
            return Some(format!("table {} is copied in text", table.table));
        }
        if table.through().is_some() {
            return Some(format!(
                "rows of table {} are assigned to keys by their values in text",
                table.table
            ));
        }
        if table.identity.is_empty() {
            return Some(format!(
                "only the whole row identifies a row of table {}",
                table.table
            ));
        }
        let identity_column =
            |name: &String| table.columns.iter().find(|column| &column.name == name);
        let mut identity = table.identity.iter().filter_map(identity_column);
        identity
            .find(|column| !is_readable_key_type(&column.data_type))
            .map(|key| {
                format!(
                    "a column of type {1} identifies rows of table {0}",
                    table.table, key.data_type
                )
            })
    });
    match reason_for_text {
        Some(why) => (Format::Text, why),
        None => (Format::Binary, "every table is copied in binary".to_owned()),
    }
}

/// Returns whether the apply can read keys of this type, as `format_type` prints it.
fn is_readable_key_type(data_type: &str) -> bool {
    READABLE_KEY_TYPES.contains(&data_type) || data_type.starts_with("character varying")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::table::{Column, CopyBy, TableKey, TableName};

    fn table(columns: &[(&str, BinaryForm)]) -> MovingTable {
        let column = |(index, (data_type, binary)): (usize, &(&str, BinaryForm))| Column {
            name: format!("c{index}"),
            data_type: (*data_type).to_owned(),
            generated: false,
            binary: binary.clone(),
        };
        MovingTable {
            table: TableName::parse("t"),
            partition_of: None,
            key: TableKey::Reference,
            identity: vec!["c0".to_owned()],
            lookup_columns: None,
            columns: columns.iter().enumerate().map(column).collect(),
            rows: 1,
            bytes: 1,
            row_order: None,
            copy_by: CopyBy::Blocks,
            copy_why: String::new(),
            format: Format::Binary,
            format_why: String::new(),
            renamed_columns: BTreeMap::new(),
            retired: false,
        }
    }

    const SAME_VERSION: MajorVersions = MajorVersions {
        source: 15,
        target: 15,
    };
    const DIFFERENT_VERSIONS: MajorVersions = MajorVersions {
        source: 15,
        target: 18,
    };

    #[test]
    fn a_column_without_a_portable_binary_format_makes_the_table_text() {
        let unfit = BinaryForm::Unfit("an enum".to_owned());
        let key = ("bigint", BinaryForm::Stable);
        let span = ("interval", BinaryForm::SameMajor);
        let plain = table(std::slice::from_ref(&key));
        let spans = table(&[key.clone(), span.clone()]);
        let moods = table(&[key, span, ("mood", unfit)]);
        let auto = CopyFormat::Auto;
        assert_eq!(
            copy_format(&plain, DIFFERENT_VERSIONS, auto).0,
            Format::Binary
        );
        assert_eq!(copy_format(&spans, SAME_VERSION, auto).0, Format::Binary);
        let (format, why) = copy_format(&spans, DIFFERENT_VERSIONS, auto);
        assert_eq!(format, Format::Text);
        assert!(why.contains("c1 is interval"), "{why}");
        let (format, why) = copy_format(&moods, SAME_VERSION, auto);
        assert_eq!(
            (format, why.as_str()),
            (Format::Text, "column c2 is mood, an enum")
        );
        assert_eq!(
            copy_format(&plain, SAME_VERSION, CopyFormat::Text).0,
            Format::Text
        );
    }

    #[test]
    fn a_generated_column_does_not_affect_the_format() {
        let mut mixed = table(&[
            ("bigint", BinaryForm::Stable),
            ("mood", BinaryForm::Unfit("an enum".to_owned())),
        ]);
        mixed.columns[1].generated = true;
        assert_eq!(
            copy_format(&mixed, SAME_VERSION, CopyFormat::Auto).0,
            Format::Binary
        );
    }

    #[test]
    fn a_stream_is_binary_only_if_all_tables_are_and_their_identities_can_be_read() {
        let key = |data_type| table(&[(data_type, BinaryForm::Stable)]);
        let text = MovingTable {
            format: Format::Text,
            ..key("bigint")
        };
        for (tables, format) in [
            (
                vec![key("bigint"), key("character varying(9)")],
                Format::Binary,
            ),
            (vec![key("bigint"), key("numeric(9,2)")], Format::Text),
            (vec![key("bigint"), text], Format::Text),
        ] {
            let (found, why) = stream_format(&tables);
            assert_eq!(found, format, "{why}");
        }
    }
}
