//! Compares the definitions of all objects of the source's schema with those of the target's, as both catalogs describe
//! them.
//!
//! The comparison does not use the output of pg_dump or the statements that created the target's schema, so that it
//! does not repeat their errors. Each server deparses its expressions with an empty search path. An object that only
//! the target has counts as a difference only if it belongs to an object that the source has too, for example an
//! additional index of a table.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::step::build_indexes::SchemaCompared;
use tokio_postgres::types::ToSql;

use super::read_major_version;
use super::scope::CreatedNames;
use crate::error::{StepError, WithIntent};
use crate::shard::sequences::STRIDE;

const DEFINITIONS: &str = include_str!("sql/definitions.sql");
const OMITTED_OBJECTS: &str = include_str!("sql/left_out.sql");

/// The first major version that has the privilege MAINTAIN.
const FIRST_WITH_MAINTAIN: u32 = 17;

/// Maximum number of differences in one failure message.
const MAX_NAMED: usize = 20;

/// Kind and name of an object.
type ObjectName = (String, String);

/// The definition of an object, and the object that it belongs to.
struct ObjectDefinition {
    /// The name of the object that this one belongs to, such as the table of an index.
    parent: Option<String>,
    text: String,
}

/// Compares every object of the source's schema with the target's; with `created` only objects of these names, and what
/// belongs to them.
///
/// # Errors
/// Returns `schema.different`, with the objects and both definitions.
pub(crate) async fn compare(
    source: &Connected,
    target: &Connected,
    created: Option<&CreatedNames>,
) -> Result<SchemaCompared, StepError> {
    let source_version = read_major_version(source).await?;
    let target_version = read_major_version(target).await?;
    // Different versions print the same view, rule or SQL body differently.
    let compares_bodies = source_version == target_version;
    let compares_maintain = source_version.min(target_version) >= FIRST_WITH_MAINTAIN;
    let (mut source_objects, mut target_objects) = tokio::try_join!(
        read_definitions(source, compares_bodies, compares_maintain),
        read_definitions(target, compares_bodies, compares_maintain),
    )?;
    if let Some(created) = created {
        retain_created(&mut source_objects, created);
        retain_created(&mut target_objects, created);
    }
    let differences = describe_differences(&source_objects, &target_objects);
    if !differences.is_empty() {
        return Err(difference_error(target.name(), &differences));
    }
    let mut left_out = list_omitted_objects(source).await?;
    if !compares_bodies {
        left_out.push(format!(
            "the texts of views, rules and SQL bodies: PostgreSQL {source_version} and {target_version} print them differently"
        ));
    }
    Ok(SchemaCompared {
        objects: i64::try_from(source_objects.len()).unwrap_or(i64::MAX),
        left_out,
    })
}

/// Reads the definitions of all objects. They include the texts of views, rules and SQL bodies if `with_bodies` is
/// true, and the privilege MAINTAIN if `with_maintain` is true.
async fn read_definitions(
    client: &Connected,
    with_bodies: bool,
    with_maintain: bool,
) -> Result<BTreeMap<ObjectName, ObjectDefinition>, StepError> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&with_bodies, &with_maintain, &STRIDE];
    let rows = client.query(DEFINITIONS, &parameters).await;
    let rows = rows.at(format_args!(
        "shard {}: reading the whole schema",
        client.name()
    ))?;
    let definitions = rows.iter().filter_map(|row| {
        let definition = ObjectDefinition {
            parent: row.get(2),
            text: row.get::<_, Option<String>>(3).unwrap_or_default(),
        };
        // Another session has dropped an object without a name since the snapshot of the query.
        let name: Option<ObjectName> = Option::zip(row.get(0), row.get(1));
        Some((name?, definition))
    });
    Ok(definitions.collect())
}

/// Retains the objects with these names, their parts, and privileges, comments and labels of both.
fn retain_created(objects: &mut BTreeMap<ObjectName, ObjectDefinition>, created: &CreatedNames) {
    let is_of_created = |name: &str, definition: &ObjectDefinition| {
        created.contains(name)
            || definition
                .parent
                .as_ref()
                .is_some_and(|parent| created.contains(parent))
    };
    let parts = objects
        .iter()
        .filter(|((_, name), definition)| is_of_created(name, definition));
    let names: BTreeSet<String> = parts.map(|((_, name), _)| name.clone()).collect();
    objects.retain(|(kind, name), definition| {
        if !["privileges", "comment", "security label"].contains(&kind.as_str()) {
            return is_of_created(name, definition);
        }
        // The name begins with the kind of the object, in one or more words.
        let mut ends = name.match_indices(' ').map(|(index, _)| &name[index + 1..]);
        ends.any(|end| names.contains(end))
    });
}

/// Describes the objects of the source that are not created on a target.
async fn list_omitted_objects(client: &Connected) -> Result<Vec<String>, StepError> {
    let rows = client.query(OMITTED_OBJECTS, &[]).await;
    let rows = rows.at(format_args!(
        "shard {}: reading which objects are not copied",
        client.name()
    ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn describe_differences(
    source_objects: &BTreeMap<ObjectName, ObjectDefinition>,
    target_objects: &BTreeMap<ObjectName, ObjectDefinition>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for ((kind, name), on_source) in source_objects {
        match target_objects.get(&(kind.clone(), name.clone())) {
            None => differences.push(format!(
                "{kind} {name} is missing; on the source it is `{}`",
                on_source.text
            )),
            Some(on_target) if on_target.text != on_source.text => differences.push(format!(
                "{kind} {name} is `{}` on the source and `{}` on the target",
                on_source.text, on_target.text
            )),
            Some(_) => {}
        }
    }
    let source_names: BTreeSet<&String> = source_objects.keys().map(|(_, name)| name).collect();
    for ((kind, name), on_target) in target_objects {
        let mut parent = on_target.parent.iter();
        let has_parent_on_source = parent.any(|parent| source_names.contains(parent));
        if has_parent_on_source && !source_objects.contains_key(&(kind.clone(), name.clone())) {
            differences.push(format!(
                "{kind} {name} is not on the source; on the target it is `{}`",
                on_target.text
            ));
        }
    }
    differences
}

fn difference_error(shard: &str, differences: &[String]) -> StepError {
    let shown = differences.iter().take(MAX_NAMED).cloned();
    let shown: Vec<String> = shown.collect();
    let rest = match differences.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    StepError::refused(
        StepCode::SchemaDifferent,
        format!(
            "shard {shard}: {} object(s) of the schema differ from those of the source: {}{rest}",
            differences.len(),
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
        let object = |(kind, name, parent, text): &(&str, &str, Option<&str>, &str)| {
            let definition = ObjectDefinition {
                parent: parent.map(str::to_owned),
                text: (*text).to_owned(),
            };
            (((*kind).to_owned(), (*name).to_owned()), definition)
        };
        objects.iter().map(object).collect()
    }

    #[test]
    fn an_additional_index_of_a_table_of_the_source_is_a_difference() {
        let source = schema(&[("table", "t", None, "r"), ("view", "v", None, "as")]);
        let target = schema(&[
            ("table", "t", None, "u"),
            ("index", "i", Some("t"), "create index"),
            ("table", "only_on_target", None, "r"),
            ("index", "other", Some("only_on_target"), "create index"),
        ]);
        assert_eq!(
            describe_differences(&source, &target),
            [
                "table t is `r` on the source and `u` on the target",
                "view v is missing; on the source it is `as`",
                "index i is not on the source; on the target it is `create index`",
            ]
        );
    }
}
