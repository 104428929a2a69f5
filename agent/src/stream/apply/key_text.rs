//! Converts keys that arrived in binary format to text, because copy units and dirty keys use the text.
//!
//! The converted types are those that `plans::table::stream_format` permits as keys in a binary stream.

use bytes::Bytes;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::target::ApplyTarget;
use crate::postgres::pgoutput::{Change, OldRow, Tuple, TupleValue};

/// Returns the change with its key values as text; a value that cannot be converted stays as it is.
pub(super) fn with_key_text(target: &ApplyTarget, change: Change) -> Change {
    match change {
        Change::Insert { relation, new } => Change::Insert {
            relation,
            new: row_with_key_text(target, new),
        },
        Change::Update { relation, old, new } => Change::Update {
            relation,
            old: old_row_with_key_text(target, old),
            new: row_with_key_text(target, new),
        },
        Change::Delete { relation, old } => Change::Delete {
            relation,
            old: old_row_with_key_text(target, old),
        },
        other @ (Change::Begin(_)
        | Change::Commit(_)
        | Change::Origin { .. }
        | Change::Relation(_)
        | Change::Type(_)
        | Change::Truncate { .. }
        | Change::Message(_)) => other,
    }
}

fn old_row_with_key_text(target: &ApplyTarget, old: OldRow) -> OldRow {
    match old {
        OldRow::Absent => OldRow::Absent,
        OldRow::Key(tuple) => OldRow::Key(row_with_key_text(target, tuple)),
        OldRow::Full(tuple) => OldRow::Full(row_with_key_text(target, tuple)),
    }
}

fn row_with_key_text(target: &ApplyTarget, mut tuple: Tuple) -> Tuple {
    for index in &target.key {
        let column = target.relation.columns.get(*index);
        if let (Some(column), Some(value)) = (column, tuple.0.get_mut(*index))
            && let TupleValue::Binary(bytes) = value
            && let Some(text) = value_text(column.type_oid, bytes)
        {
            *value = TupleValue::Text(Bytes::from(text));
        }
    }
    tuple
}

/// Returns the text that the output function of the type prints.
fn value_text(type_oid: u32, bytes: &[u8]) -> Option<String> {
    let is_one_of = |types: &[Type]| types.iter().any(|data_type| data_type.oid() == type_oid);
    if is_one_of(&[Type::INT8]) {
        Some(i64::from_be_bytes(bytes.try_into().ok()?).to_string())
    } else if is_one_of(&[Type::INT4]) {
        Some(i32::from_be_bytes(bytes.try_into().ok()?).to_string())
    } else if is_one_of(&[Type::INT2]) {
        Some(i16::from_be_bytes(bytes.try_into().ok()?).to_string())
    } else if is_one_of(&[Type::UUID]) {
        Some(Uuid::from_slice(bytes).ok()?.hyphenated().to_string())
    } else if is_one_of(&[Type::TEXT, Type::VARCHAR, Type::NAME]) {
        String::from_utf8(bytes.to_vec()).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_binary_has_the_text_that_the_server_prints() {
        for (data_type, bytes, expected) in [
            (Type::INT2, &[0x80, 0][..], Some("-32768")),
            (Type::INT4, &[0, 0, 0, 7], Some("7")),
            (Type::INT8, &[0xff; 8], Some("-1")),
            (Type::TEXT, "é".as_bytes(), Some("é")),
            (
                Type::UUID,
                &[0xab; 16],
                Some("abababab-abab-abab-abab-abababababab"),
            ),
            (Type::INT8, &[0; 4], None),
            (Type::NUMERIC, &[0; 8], None),
        ] {
            assert_eq!(
                value_text(data_type.oid(), bytes).as_deref(),
                expected,
                "{data_type}"
            );
        }
    }
}
