//! Foreign keys are added without a look at the rows, and validated afterwards: that locks out neither the stream nor
//! another validation, so that all of them go on side by side. A key of a partitioned table can only be added whole.

use tokio_postgres::Client;

use crate::error::{At, StepError};
use crate::pg::schema::{Entry, Section};

/// What labels of keys begin with, in pg_dump's words.
pub(crate) const KEY: &str = "FK CONSTRAINT ";
/// What labels of their validations begin with.
pub(crate) const VALIDATION: &str = "FK VALIDATION ";

/// A foreign key as the catalog has it.
struct Key {
    label: String,
    definition: String,
    validate: String,
}

/// Takes the validation out of foreign keys, and adds it behind the last of them, the largest table first; `client` is
/// on the database that the schema is of.
pub(super) async fn validate_later(
    entries: &mut Vec<Entry>,
    client: &Client,
    shard: &str,
) -> Result<(), StepError> {
    let rows = client
        .query(include_str!("sql/validated_keys.sql"), &[])
        .await
        .at(format_args!("shard {shard}: reading foreign keys"))?;
    let keys = rows.iter().map(|row| Key {
        label: row.get(0),
        definition: row.get(1),
        validate: row.get(2),
    });
    take_out(entries, keys);
    Ok(())
}

fn take_out(entries: &mut Vec<Entry>, keys: impl Iterator<Item = Key>) {
    let mut validations = Vec::new();
    for key in keys {
        let mut added = entries.iter_mut().filter(|entry| entry.label == key.label);
        let Some(added) = added.next() else { continue };
        let Some((before, after)) = added.statement.split_once(&key.definition) else {
            // Words that are not the catalog's stay as they are.
            continue;
        };
        added.statement = format!("{before}{} NOT VALID{after}", key.definition);
        validations.push(Entry {
            section: Section::Post,
            parallel: false,
            label: key.label.replacen(KEY, VALIDATION, 1),
            statement: key.validate,
        });
    }
    let last = entries
        .iter()
        .rposition(|entry| entry.label.starts_with(KEY));
    let behind = last.map_or(entries.len(), |last| last + 1);
    entries.splice(behind..behind, validations);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, statement: &str) -> Entry {
        Entry {
            section: Section::Post,
            parallel: false,
            label: label.to_owned(),
            statement: statement.to_owned(),
        }
    }

    fn key(name: &str, definition: &str) -> Key {
        Key {
            label: format!("FK CONSTRAINT public {name}"),
            definition: definition.to_owned(),
            validate: format!("validate {name};"),
        }
    }

    #[test]
    fn keys_are_validated_behind_the_last_of_them_and_before_what_follows() {
        let a = "FOREIGN KEY (x) REFERENCES public.b(y) DEFERRABLE";
        let c = "FOREIGN KEY (z) REFERENCES public.b(y)";
        let mut entries = vec![
            entry("TRIGGER public a t", "create trigger;"),
            entry(
                "FK CONSTRAINT public a k",
                &format!("alter table a\n    add constraint k {a};\ncomment;"),
            ),
            entry(
                "FK CONSTRAINT public part k",
                "alter table part add constraint k;",
            ),
            entry(
                "FK CONSTRAINT public c k",
                &format!("alter table c add constraint k {c};"),
            ),
            entry("EVENT TRIGGER - e", "create event trigger;"),
        ];
        let keys = [
            key("c k", c),
            key("a k", a),
            key("part k", "other words"),
            key("gone k", c),
        ];
        take_out(&mut entries, keys.into_iter());
        let statements: Vec<&str> = entries.iter().map(|e| e.statement.as_str()).collect();
        assert_eq!(
            statements,
            [
                "create trigger;",
                "alter table a\n    add constraint k FOREIGN KEY (x) REFERENCES public.b(y) DEFERRABLE NOT VALID;\ncomment;",
                "alter table part add constraint k;",
                "alter table c add constraint k FOREIGN KEY (z) REFERENCES public.b(y) NOT VALID;",
                "validate c k;",
                "validate a k;",
                "create event trigger;",
            ]
        );
        assert_eq!(entries[4].label, "FK VALIDATION public c k");
    }
}
