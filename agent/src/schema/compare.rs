//! Compares the definitions of all objects of the source's schema with those of the target's, as both catalogs describe
//! them.
//!
//! The comparison does not use the output of pg_dump or the stored statements, so that it does not repeat their errors.
//! Each server deparses its expressions with an empty search path. An object that only the target has counts as a
//! difference only if it belongs to an object that the source has too, for example an additional index of a table.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::step::build_indexes::SchemaCompared;
use tokio_postgres::types::ToSql;

use super::major;
use crate::error::{StepError, WithIntent};
use crate::shard::sequences::STRIDE;

const DEFINITIONS: &str = include_str!("sql/definitions.sql");
const LEFT_OUT: &str = include_str!("sql/left_out.sql");

/// The first major version that has the privilege MAINTAIN.
const MAINTAINS: u32 = 17;

/// Maximum number of differences in one failure message.
const NAMED: usize = 20;

/// Kind and name of an object.
type ObjectName = (String, String);

/// The object that an object belongs to, such as the table of an index, and the definition.
struct ObjectDefinition {
    of: Option<String>,
    text: String,
}

/// Compares every object of the source's schema with the target's.
///
/// # Errors
/// Returns `schema.different`, with the objects and both definitions.
pub(crate) async fn compare(
    source: &Connected,
    target: &Connected,
) -> Result<SchemaCompared, StepError> {
    let (here, there) = (major(source).await?, major(target).await?);
    let (same_words, maintain) = (here == there, here.min(there) >= MAINTAINS);
    let (wanted, found) = tokio::try_join!(
        definitions(source, same_words, maintain),
        definitions(target, same_words, maintain),
    )?;
    let different = differences(&wanted, &found);
    if !different.is_empty() {
        return Err(refused(target.name(), &different));
    }
    let mut left_out = left_out(source).await?;
    if !same_words {
        left_out.push(format!(
            "the words of views, rules and SQL bodies: PostgreSQL {here} and {there} print them differently"
        ));
    }
    Ok(SchemaCompared {
        objects: i64::try_from(wanted.len()).unwrap_or(i64::MAX),
        left_out,
    })
}

async fn definitions(
    client: &Connected,
    same_words: bool,
    maintain: bool,
) -> Result<BTreeMap<ObjectName, ObjectDefinition>, StepError> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&same_words, &maintain, &STRIDE];
    let rows = client.query(DEFINITIONS, &parameters).await;
    let rows = rows.at(format_args!(
        "shard {}: reading the whole schema",
        client.name()
    ))?;
    let definitions = rows.iter().map(|row| {
        let definition = ObjectDefinition {
            of: row.get(2),
            text: row.get::<_, Option<String>>(3).unwrap_or_default(),
        };
        ((row.get(0), row.get(1)), definition)
    });
    Ok(definitions.collect())
}

async fn left_out(client: &Connected) -> Result<Vec<String>, StepError> {
    let rows = client.query(LEFT_OUT, &[]).await;
    let rows = rows.at(format_args!(
        "shard {}: reading what is not carried over",
        client.name()
    ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Describes each difference.
fn differences(
    wanted: &BTreeMap<ObjectName, ObjectDefinition>,
    found: &BTreeMap<ObjectName, ObjectDefinition>,
) -> Vec<String> {
    let mut different = Vec::new();
    for ((kind, name), wanted) in wanted {
        match found.get(&(kind.clone(), name.clone())) {
            None => different.push(format!(
                "{kind} {name} is missing; on the source it is `{}`",
                wanted.text
            )),
            Some(found) if found.text != wanted.text => different.push(format!(
                "{kind} {name} is `{}` on the source and `{}` on the target",
                wanted.text, found.text
            )),
            Some(_) => {}
        }
    }
    let objects: BTreeSet<&String> = wanted.keys().map(|(_, name)| name).collect();
    for ((kind, name), found) in found {
        let on_the_sources = found.of.as_ref().is_some_and(|of| objects.contains(of));
        if on_the_sources && !wanted.contains_key(&(kind.clone(), name.clone())) {
            different.push(format!(
                "{kind} {name} is not on the source; on the target it is `{}`",
                found.text
            ));
        }
    }
    different
}

fn refused(shard: &str, different: &[String]) -> StepError {
    let shown = different.iter().take(NAMED).cloned();
    let shown: Vec<String> = shown.collect();
    let rest = match different.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    StepError::refused(
        StepCode::SchemaDifferent,
        format!(
            "shard {shard}: {} object(s) of its schema are not as on the source: {}{rest}",
            different.len(),
            shown.join("; ")
        ),
        "make each of them equal on both shards, then `resume`; the copy is kept",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(
        objects: &[(&str, &str, Option<&str>, &str)],
    ) -> BTreeMap<ObjectName, ObjectDefinition> {
        let object = |(kind, name, of, text): &(&str, &str, Option<&str>, &str)| {
            let definition = ObjectDefinition {
                of: of.map(str::to_owned),
                text: (*text).to_owned(),
            };
            (((*kind).to_owned(), (*name).to_owned()), definition)
        };
        objects.iter().map(object).collect()
    }

    #[test]
    fn what_lies_on_an_object_of_the_source_counts_on_the_target() {
        let source = schema(&[("table", "t", None, "r"), ("view", "v", None, "as")]);
        let target = schema(&[
            ("table", "t", None, "u"),
            ("index", "i", Some("t"), "create index"),
            ("table", "theirs", None, "r"),
            ("index", "other", Some("theirs"), "create index"),
        ]);
        assert_eq!(
            differences(&source, &target),
            [
                "table t is `r` on the source and `u` on the target",
                "view v is missing; on the source it is `as`",
                "index i is not on the source; on the target it is `create index`",
            ]
        );
    }
}
