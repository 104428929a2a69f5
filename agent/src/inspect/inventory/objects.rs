//! Finds the objects that belong to Shardwright by name and form, and those that only have a similar name.

use connect::Connected;
use plans::names::{DDL_PREFIX, GUARD_FUNCTIONS, STANDBY_SLOT_PREFIX};

use crate::shard::{dual_write, identity};

use super::{
    LOAD_PREFIX, MigrationId, Object, ObjectKind, ObjectOwner, REPLICATION_PREFIX, SCHEMA, Similar,
    TRIGGER_PREFIX, has_sidecar_tables,
};

/// The objects of Shardwright, and the objects that only have a similar name.
type FoundObjects = (Vec<Object>, Vec<Similar>);

pub(super) async fn find_objects(
    client: &Connected,
) -> Result<FoundObjects, tokio_postgres::Error> {
    let mut found = (Vec::new(), Vec::new());
    find_slots(client, &mut found).await?;
    find_publications(client, &mut found).await?;
    find_triggers(client, &mut found).await?;
    find_event_triggers(client, &mut found).await?;
    find_schema_objects(client, &mut found).await?;
    find_standby_names(client, &mut found).await?;
    find_sessions(client, &mut found).await?;
    Ok(found)
}

fn add_object(
    found: &mut FoundObjects,
    kind: ObjectKind,
    name: String,
    on: Option<String>,
    whose: ObjectOwner,
) {
    found.0.push(Object {
        kind,
        name,
        on,
        whose,
    });
}

fn add_similar(found: &mut FoundObjects, object: String, why: &str) {
    found.1.push(Similar {
        object,
        why: why.to_owned(),
    });
}

/// Returns the migration in a name of the form `<prefix><migration>_<rest>`, if `is_suffix` accepts the last part.
fn migration_in(name: &str, prefix: &str, is_suffix: impl Fn(&str) -> bool) -> Option<MigrationId> {
    let (id, end) = name.strip_prefix(prefix)?.split_once('_')?;
    MigrationId::parse(id).ok().filter(|_| is_suffix(end))
}

fn is_stream_suffix(end: &str) -> bool {
    matches!(end, "fwd" | "rev")
}

async fn find_slots(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select slot_name::text, coalesce(plugin::text, slot_type) = 'pgoutput', temporary,
                    slot_type = 'physical' and pg_catalog.starts_with(slot_name::text, $2),
                    active or exists (select from pg_catalog.pg_stat_activity where application_name = slot_name)
             from pg_catalog.pg_replication_slots
             where pg_catalog.starts_with(slot_name::text, $1)
               and coalesce(database = pg_catalog.current_database(), true) order by 1",
            &[&REPLICATION_PREFIX, &STANDBY_SLOT_PREFIX],
        )
        .await?;
    for row in rows {
        let (name, has_our_form, temporary): (String, bool, bool) =
            (row.get(0), row.get(1), row.get(2));
        let (is_standbys, in_use) = (row.get(3), row.get(4));
        let is_comparison_suffix = |end: &str| temporary && end.starts_with("cmp_");
        let id = migration_in(&name, REPLICATION_PREFIX, |end| {
            is_stream_suffix(end) || is_comparison_suffix(end)
        });
        match id.filter(|_| has_our_form) {
            Some(id) => add_object(
                found,
                ObjectKind::Slot,
                name,
                None,
                ObjectOwner::Migration(id),
            ),
            None if is_standbys => {
                let whose = ObjectOwner::Standby { in_use };
                add_object(found, ObjectKind::Slot, name, None, whose);
            }
            // The server drops a temporary slot when its session ends.
            None if temporary => {
                add_object(found, ObjectKind::Slot, name, None, ObjectOwner::LiveProbe)
            }
            None => add_similar(
                found,
                format!("slot {name}"),
                "no logical slot of pgoutput with the name of a migration, and no physical slot of a standby",
            ),
        }
    }
    Ok(())
}

async fn find_publications(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select p.pubname::text,
                    not p.puballtables and pg_catalog.pg_get_userbyid(p.pubowner) = session_user,
                    pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(p.pubname::text, 0))
             from pg_catalog.pg_publication p where pg_catalog.starts_with(p.pubname::text, $1) order by 1",
            &[&REPLICATION_PREFIX],
        )
        .await?;
    for row in rows {
        let (name, has_our_form, is_unlocked): (String, bool, bool) =
            (row.get(0), row.get(1), row.get(2));
        let kind = ObjectKind::Publication;
        let id = migration_in(&name, REPLICATION_PREFIX, is_stream_suffix);
        let load_inspection = name.strip_prefix(LOAD_PREFIX);
        let load_inspection = load_inspection
            .filter(|id| id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit()));
        match (id, load_inspection) {
            (Some(id), _) if has_our_form => {
                add_object(found, kind, name, None, ObjectOwner::Migration(id))
            }
            // An inspection that reads the log holds an advisory lock with this name.
            (None, Some(_)) if has_our_form && is_unlocked => {
                add_object(found, kind, name, None, ObjectOwner::Probe)
            }
            (None, Some(_)) if has_our_form => {
                add_object(found, kind, name, None, ObjectOwner::LiveProbe)
            }
            (_, _) => add_similar(
                found,
                format!("publication {name}"),
                "not the name of a migration, or not a publication of some tables that the agent's role owns",
            ),
        }
    }
    Ok(())
}

async fn find_triggers(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select t.tgname::text, pg_catalog.format('%s.%s', n.nspname, c.relname), fn.nspname = $2
             from pg_catalog.pg_trigger t
             join pg_catalog.pg_class c on c.oid = t.tgrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             join pg_catalog.pg_proc f on f.oid = t.tgfoid
             join pg_catalog.pg_namespace fn on fn.oid = f.pronamespace
             where not t.tgisinternal and t.tgparentid = 0 and pg_catalog.starts_with(t.tgname::text, $1) order by 2, 1",
            &[&TRIGGER_PREFIX, &SCHEMA],
        )
        .await?;
    for row in rows {
        let (name, on, has_our_form): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
        let events = ["insert", "update", "delete", "truncate", "cascade"];
        let is_event = |end: &str| events.contains(&end);
        let id = migration_in(&name, TRIGGER_PREFIX, is_event);
        let released = name
            .strip_prefix(TRIGGER_PREFIX)
            .and_then(|rest| rest.strip_prefix("away_"));
        let whose = match (id, released) {
            (Some(id), _) => Some(ObjectOwner::Migration(id)),
            (None, Some(_)) => Some(ObjectOwner::ReleasedKeys),
            (None, None) => None,
        };
        match whose.filter(|_| has_our_form) {
            Some(whose) => add_object(found, ObjectKind::Trigger, name, Some(on), whose),
            None => add_similar(
                found,
                format!("trigger {name} on {on}"),
                "not the name of a guard, or it does not call a function of schema shardwright",
            ),
        }
    }
    Ok(())
}

async fn find_event_triggers(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select e.evtname::text, n.nspname = $2
             from pg_catalog.pg_event_trigger e join pg_catalog.pg_proc f on f.oid = e.evtfoid
             join pg_catalog.pg_namespace n on n.oid = f.pronamespace
             where pg_catalog.starts_with(e.evtname::text, $1) order by 1",
            &[&REPLICATION_PREFIX, &SCHEMA],
        )
        .await?;
    for row in rows {
        let (name, has_our_form): (String, bool) = (row.get(0), row.get(1));
        let kind = ObjectKind::EventTrigger;
        let id = migration_in(&name, DDL_PREFIX, |end| matches!(end, "end" | "drop"));
        match id {
            Some(id) if has_our_form => {
                add_object(found, kind, name, None, ObjectOwner::Migration(id))
            }
            _ => add_similar(
                found,
                format!("event trigger {name}"),
                "not the name of a guard, or it does not call a function of schema shardwright",
            ),
        }
    }
    Ok(())
}

/// The query for the objects in the schema `shardwright`, and for the migrations that have rows there.
const SCHEMA_OBJECTS: &str = "select 'sequence', c.relname::text from pg_catalog.pg_class c
     where c.relnamespace = pg_catalog.to_regnamespace($1) and c.relkind = 'S'
       -- one that numbers the rows of a table goes with the table
       and not exists (select from pg_catalog.pg_depend d
                       where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid
                         and d.refclassid = d.classid and d.deptype = 'i')
     union all
     select 'function', p.proname::text from pg_catalog.pg_proc p
     where p.pronamespace = pg_catalog.to_regnamespace($1)
     union all
     select 'rows', migration from shardwright.move order by 1, 2";

/// Finds the registers, functions and rows in the schema `shardwright`, or reports that the schema is not
/// Shardwright's.
async fn find_schema_objects(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let row = client
        .query_one(
            "select pg_catalog.to_regnamespace($1) is not null",
            &[&SCHEMA],
        )
        .await?;
    if !row.get::<_, bool>(0) {
        return Ok(());
    }
    if !has_sidecar_tables(client).await? {
        // The schema contains only the random id of the database: no migration has left anything.
        if identity::is_registered(client).await? {
            return Ok(());
        }
        add_similar(
            found,
            format!("schema {SCHEMA}"),
            "it does not have the tables that Shardwright creates on a shard",
        );
        return Ok(());
    }
    add_object(
        found,
        ObjectKind::Schema,
        SCHEMA.to_owned(),
        None,
        ObjectOwner::Shared,
    );
    let rows = client.query(SCHEMA_OBJECTS, &[&SCHEMA]).await?;
    for row in rows {
        let (kind_name, name): (String, String) = (row.get(0), row.get(1));
        let (kind, whose) = classify(&kind_name, &name);
        match whose {
            Some(whose) => add_object(found, kind, name, None, whose),
            None => add_similar(
                found,
                format!("{kind_name} {SCHEMA}.{name}"),
                "Shardwright creates no object of this name there; while it exists, the schema cannot be dropped",
            ),
        }
    }
    Ok(())
}

/// Returns the kind of an object in the schema `shardwright`, and its migration; `None` if the name is not one that
/// Shardwright gives.
fn classify(kind_name: &str, name: &str) -> (ObjectKind, Option<ObjectOwner>) {
    let id = |text: &str| MigrationId::parse(text).ok().map(ObjectOwner::Migration);
    let mut guard_prefixes = GUARD_FUNCTIONS.iter().chain([&DDL_PREFIX]);
    let counter_prefixes = ["refused_", "skipped_", "skips_"];
    let counter_suffix = counter_prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    let guard_suffix = guard_prefixes.find_map(|prefix| name.strip_prefix(prefix));
    match kind_name {
        "sequence" => match counter_suffix {
            Some(rest) => (ObjectKind::Refusals, id(rest)),
            None => (ObjectKind::Register, name.strip_prefix("own_").and_then(id)),
        },
        "rows" => (ObjectKind::Rows, id(name)),
        _ if name.starts_with("guard_away_") => {
            (ObjectKind::Function, Some(ObjectOwner::ReleasedKeys))
        }
        _ => (
            ObjectKind::Function,
            guard_suffix.and_then(|rest| id(rest.split('_').next().unwrap_or(rest))),
        ),
    }
}

/// Finds the names in `synchronous_standby_names` that belong to migrations. Every commit on the server waits for them.
async fn find_standby_names(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    for name in dual_write::our_names(client).await? {
        let id = name.split('/').nth(1).unwrap_or("");
        if let Ok(id) = MigrationId::parse(id) {
            let whose = ObjectOwner::Migration(id);
            add_object(found, ObjectKind::StandbyName, name, None, whose);
        }
    }
    Ok(())
}

async fn find_sessions(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select application_name from pg_catalog.pg_stat_activity
             where datname = pg_catalog.current_database() and usename = session_user
               and pg_catalog.starts_with(application_name, 'shardwright/') order by 1",
            &[],
        )
        .await?;
    for row in rows {
        let name: String = row.get(0);
        let id = name.split('/').nth(1).unwrap_or("");
        // Sessions of inspections belong to no migration.
        if id == super::super::INSPECTION_ID {
            continue;
        }
        if let Ok(id) = MigrationId::parse(id) {
            add_object(
                found,
                ObjectKind::Session,
                name,
                None,
                ObjectOwner::Migration(id),
            );
        }
    }
    Ok(())
}
