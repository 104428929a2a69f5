//! Our objects by name and form, and those that only have a name like ours.

use connect::Connected;
use plans::names::DDL_PREFIX;

use crate::shard::{dual_write, identity};

use super::{
    LOAD_PREFIX, MigrationId, Object, ObjectKind, REPLICATION_PREFIX, SCHEMA, Similar,
    TRIGGER_PREFIX, Whose, is_ours,
};

/// What was found: ours, and what only looks so.
type FoundObjects = (Vec<Object>, Vec<Similar>);

pub(super) async fn find(client: &Connected) -> Result<FoundObjects, tokio_postgres::Error> {
    let mut found = (Vec::new(), Vec::new());
    slots(client, &mut found).await?;
    publications(client, &mut found).await?;
    triggers(client, &mut found).await?;
    event_triggers(client, &mut found).await?;
    schema(client, &mut found).await?;
    standby_names(client, &mut found).await?;
    sessions(client, &mut found).await?;
    Ok(found)
}

fn add(found: &mut FoundObjects, kind: ObjectKind, name: String, on: Option<String>, whose: Whose) {
    found.0.push(Object {
        kind,
        name,
        on,
        whose,
    });
}

fn similar(found: &mut FoundObjects, object: String, why: &str) {
    found.1.push(Similar {
        object,
        why: why.to_owned(),
    });
}

/// The migration in `<prefix><migration>_<rest>`, where `rest` is what we append.
fn migration_in(name: &str, prefix: &str, rest: impl Fn(&str) -> bool) -> Option<MigrationId> {
    let (id, end) = name.strip_prefix(prefix)?.split_once('_')?;
    MigrationId::parse(id).ok().filter(|_| rest(end))
}

fn is_stream(end: &str) -> bool {
    matches!(end, "fwd" | "rev")
}

async fn slots(client: &Connected, found: &mut FoundObjects) -> Result<(), tokio_postgres::Error> {
    let rows = client
        .query(
            "select slot_name::text, coalesce(plugin::text, slot_type) = 'pgoutput', temporary
             from pg_catalog.pg_replication_slots
             where pg_catalog.starts_with(slot_name::text, $1)
               and coalesce(database = pg_catalog.current_database(), true) order by 1",
            &[&REPLICATION_PREFIX],
        )
        .await?;
    for row in rows {
        let (name, ours, temporary): (String, bool, bool) = (row.get(0), row.get(1), row.get(2));
        let compares = |end: &str| temporary && end.starts_with("cmp_");
        let id = migration_in(&name, REPLICATION_PREFIX, |end| {
            is_stream(end) || compares(end)
        });
        match id.filter(|_| ours) {
            Some(id) => add(found, ObjectKind::Slot, name, None, Whose::Migration(id)),
            // A temporary slot goes with its session.
            None if temporary => add(found, ObjectKind::Slot, name, None, Whose::LiveProbe),
            None => similar(
                found,
                format!("slot {name}"),
                "no logical slot of pgoutput with the name of a migration",
            ),
        }
    }
    Ok(())
}

async fn publications(
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
        let (name, ours, free): (String, bool, bool) = (row.get(0), row.get(1), row.get(2));
        let kind = ObjectKind::Publication;
        let id = migration_in(&name, REPLICATION_PREFIX, is_stream);
        let look = name.strip_prefix(LOAD_PREFIX);
        let look = look.filter(|id| id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit()));
        match (id, look) {
            (Some(id), _) if ours => add(found, kind, name, None, Whose::Migration(id)),
            // Who watches the log holds a lock of this name.
            (None, Some(_)) if ours && free => add(found, kind, name, None, Whose::Probe),
            (None, Some(_)) if ours => add(found, kind, name, None, Whose::LiveProbe),
            (_, _) => similar(
                found,
                format!("publication {name}"),
                "not the name of a migration, or not a publication of some tables that the agent's role owns",
            ),
        }
    }
    Ok(())
}

async fn triggers(
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
        let (name, on, ours): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
        let events = ["insert", "update", "delete", "truncate", "cascade"];
        let event = |end: &str| events.contains(&end);
        let id = migration_in(&name, TRIGGER_PREFIX, event);
        let away = name
            .strip_prefix(TRIGGER_PREFIX)
            .and_then(|rest| rest.strip_prefix("away_"));
        let whose = match (id, away) {
            (Some(id), _) => Some(Whose::Migration(id)),
            (None, Some(_)) => Some(Whose::ReleasedKeys),
            (None, None) => None,
        };
        match whose.filter(|_| ours) {
            Some(whose) => add(found, ObjectKind::Trigger, name, Some(on), whose),
            None => similar(
                found,
                format!("trigger {name} on {on}"),
                "not the name of a guard, or it does not call a function of schema shardwright",
            ),
        }
    }
    Ok(())
}

async fn event_triggers(
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
        let (name, ours): (String, bool) = (row.get(0), row.get(1));
        let kind = ObjectKind::EventTrigger;
        let id = migration_in(&name, DDL_PREFIX, |end| matches!(end, "end" | "drop"));
        match id {
            Some(id) if ours => add(found, kind, name, None, Whose::Migration(id)),
            _ => similar(
                found,
                format!("event trigger {name}"),
                "not the name of a guard, or it does not call a function of schema shardwright",
            ),
        }
    }
    Ok(())
}

/// What is in our schema, and the migrations that have rows there.
const IN_SCHEMA: &str = "select 'sequence', c.relname::text from pg_catalog.pg_class c
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

/// Registers, functions and rows in our schema, or that the schema is somebody else's.
async fn schema(client: &Connected, found: &mut FoundObjects) -> Result<(), tokio_postgres::Error> {
    let there = client
        .query_one(
            "select pg_catalog.to_regnamespace($1) is not null",
            &[&SCHEMA],
        )
        .await?;
    if !there.get::<_, bool>(0) {
        return Ok(());
    }
    if !is_ours(client).await? {
        // It holds the id of the database, and nothing else: no migration has left anything.
        if identity::is_registered(client).await? {
            return Ok(());
        }
        similar(
            found,
            format!("schema {SCHEMA}"),
            "it lacks the tables that Shardwright makes on a shard",
        );
        return Ok(());
    }
    add(
        found,
        ObjectKind::Schema,
        SCHEMA.to_owned(),
        None,
        Whose::Shared,
    );
    let rows = client.query(IN_SCHEMA, &[&SCHEMA]).await?;
    for row in rows {
        let (what, name): (String, String) = (row.get(0), row.get(1));
        let id = |text: &str| MigrationId::parse(text).ok().map(Whose::Migration);
        let guard = [
            "guard_truncate_",
            "guard_foreign_",
            "guard_cascade_",
            "guard_",
            DDL_PREFIX,
        ];
        let beside = ["refused_", "skipped_", "skips_"];
        let beside = beside.iter().find_map(|prefix| name.strip_prefix(prefix));
        let guard = guard.iter().find_map(|prefix| name.strip_prefix(prefix));
        let (kind, whose) = match what.as_str() {
            "sequence" => match beside {
                Some(rest) => (ObjectKind::Refusals, id(rest)),
                None => (ObjectKind::Register, name.strip_prefix("own_").and_then(id)),
            },
            "rows" => (ObjectKind::Rows, id(&name)),
            _ if name.starts_with("guard_away_") => {
                (ObjectKind::Function, Some(Whose::ReleasedKeys))
            }
            _ => (
                ObjectKind::Function,
                guard.and_then(|rest| id(rest.split('_').next().unwrap_or(rest))),
            ),
        };
        match whose {
            Some(whose) => add(found, kind, name, None, whose),
            None => similar(
                found,
                format!("{what} {SCHEMA}.{name}"),
                "not the name of anything that Shardwright makes there; the schema stays while it is in it",
            ),
        }
    }
    Ok(())
}

/// Names of ours for which every commit on the server waits.
async fn standby_names(
    client: &Connected,
    found: &mut FoundObjects,
) -> Result<(), tokio_postgres::Error> {
    for name in dual_write::our_names(client).await? {
        let id = name.split('/').nth(1).unwrap_or("");
        if let Ok(id) = MigrationId::parse(id) {
            let whose = Whose::Migration(id);
            add(found, ObjectKind::StandbyName, name, None, whose);
        }
    }
    Ok(())
}

async fn sessions(
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
        if id == super::super::INSPECT {
            continue;
        }
        if let Ok(id) = MigrationId::parse(id) {
            add(found, ObjectKind::Session, name, None, Whose::Migration(id));
        }
    }
    Ok(())
}
