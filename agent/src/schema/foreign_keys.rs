//! Adds foreign keys as NOT VALID and validates them afterwards. A validation blocks neither the apply stream nor
//! another validation, so all validations run concurrently. PostgreSQL cannot add the foreign key of a partitioned
//! table as NOT VALID, so the agent adds it in one step.

use connect::Connected;

use crate::error::{StepError, WithIntent};
use crate::postgres::archive::ObjectId;
use crate::postgres::pg_dump::{RestoreSection, SchemaEntry};

/// The prefix of the labels of foreign keys, as pg_dump names them.
pub(crate) const KEY_LABEL: &str = "FK CONSTRAINT ";
/// The prefix of the labels of their validations.
pub(crate) const VALIDATION_LABEL: &str = "FK VALIDATION ";

/// The statements that add and validate a foreign key.
pub(super) struct ForeignKeyStatements {
    object: ObjectId,
    /// Adds the foreign key as NOT VALID.
    add: String,
    validate: String,
}

/// Reads the validated foreign keys of the database, first those of the largest table.
///
/// # Errors
/// Fails if the catalog cannot be read.
pub(super) async fn read_validated(
    client: &Connected,
) -> Result<Vec<ForeignKeyStatements>, StepError> {
    let shard = client.name();
    let rows = client
        .query(include_str!("sql/validated_keys.sql"), &[])
        .await
        .at(format_args!("shard {shard}: reading foreign keys"))?;
    let keys = rows.iter().map(|row| ForeignKeyStatements {
        object: ObjectId {
            class: row.get(0),
            oid: row.get(1),
        },
        add: row.get(2),
        validate: row.get(3),
    });
    Ok(keys.collect())
}

/// Replaces the statement of each of these foreign keys by one with NOT VALID. Inserts the validations after the last
/// foreign key, in the order of `keys`.
pub(super) fn validate_later(entries: &mut Vec<SchemaEntry>, keys: Vec<ForeignKeyStatements>) {
    let mut validations = Vec::new();
    for key in keys {
        let mut entry = entries.iter_mut();
        let entry = entry.find(|entry| entry.object == Some(key.object));
        let Some((label, create)) = entry.and_then(|entry| {
            let label = entry.label.replacen(KEY_LABEL, VALIDATION_LABEL, 1);
            Some((label, entry.statements.first_mut()?))
        }) else {
            continue;
        };
        *create = key.add;
        validations.push(SchemaEntry {
            section: RestoreSection::Post,
            parallel: false,
            label,
            object: None,
            part_of: Some(key.object),
            statements: vec![key.validate],
        });
    }
    let last = entries
        .iter()
        .rposition(|entry| entry.label.starts_with(KEY_LABEL));
    let index = last.map_or(entries.len(), |last| last + 1);
    entries.splice(index..index, validations);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, oid: u32, statements: &[&str]) -> SchemaEntry {
        SchemaEntry {
            section: RestoreSection::Post,
            parallel: false,
            label: label.to_owned(),
            object: Some(ObjectId { class: 2606, oid }),
            part_of: None,
            statements: statements.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    fn key(oid: u32) -> ForeignKeyStatements {
        ForeignKeyStatements {
            object: ObjectId { class: 2606, oid },
            add: format!("add {oid} not valid;"),
            validate: format!("validate {oid};"),
        }
    }

    #[test]
    fn validations_are_inserted_after_the_last_foreign_key() {
        let mut entries = vec![
            entry("TRIGGER public a t", 1, &["create trigger;"]),
            entry("FK CONSTRAINT public a k", 2, &["add 2;", "comment;"]),
            entry("FK CONSTRAINT public part k", 3, &["add 3;"]),
            entry("FK CONSTRAINT public c k", 4, &["add 4;"]),
            entry("EVENT TRIGGER - e", 5, &["create event trigger;"]),
        ];
        validate_later(&mut entries, Vec::from([4, 2, 9].map(key)));
        let statements: Vec<String> = entries.iter().map(SchemaEntry::sql).collect();
        assert_eq!(
            statements,
            [
                "create trigger;",
                "add 2 not valid;\ncomment;",
                "add 3;",
                "add 4 not valid;",
                "validate 4;",
                "validate 2;",
                "create event trigger;",
            ]
        );
        assert_eq!(entries[4].label, "FK VALIDATION public c k");
    }
}
