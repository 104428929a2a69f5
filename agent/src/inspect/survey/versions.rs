//! What depends on the servers' versions: minor releases to avoid, and what the target's version does not know of the
//! source's tables.

use connect::Connected;
use plans::plan::TargetState;
use plans::request::Mode;
use plans::survey::SurveyTask;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;

/// The first minor releases that neither lose changes after a publication was altered nor fail to follow that, as
/// `server_version_num` has them.
const MENDED: [i32; 3] = [150_014, 160_010, 170_006];
/// The first major version with virtual generated columns, keys over periods and constraints that are not enforced.
const LATEST: i32 = 18;

/// Checks one server by itself, and says its major version; an offline move reads no log.
pub(super) async fn check(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<i32, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select pg_catalog.current_setting('server_version_num')::int,
                    pg_catalog.current_setting('server_version')",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the version"))?;
    let number: i32 = row.get(0);
    if mode == Mode::Online {
        check_minor(number, row.get(1), shard, findings);
    }
    Ok(number / 10_000)
}

/// Warns of a minor release whose decoding has known defects.
fn check_minor(number: i32, name: &str, shard: &str, findings: &mut Findings) {
    let of_its_major = |mended: &&i32| **mended / 10_000 == number / 10_000;
    let Some(mended) = MENDED.iter().find(of_its_major).filter(|it| number < **it) else {
        return;
    };
    let (major, minor) = (mended / 10_000, mended % 10_000);
    findings.add(
        "server.minor",
        format!("shard {shard}, server"),
        format!(
            "it is PostgreSQL {name}; before {major}.{minor} changes are lost when somebody alters a publication while \
             rows are written"
        ),
        format!("upgrade the server to PostgreSQL {major}.{minor} or newer; until then alter no publication"),
    );
}

/// Refuses what the two versions, source and target, cannot do with the source's tables.
pub(super) async fn check_pair(
    client: &Connected,
    tables: &[MovingTable],
    state: TargetState,
    majors: [i32; 2],
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let all = state == TargetState::New;
    check_known(client, tables, all, majors, findings).await?;
    if task.mode == Mode::Online {
        check_identities(client, tables, majors, findings).await?;
    }
    Ok(())
}

/// Refuses what the target's version cannot have of the source's tables: of the moving ones, or of all of them, which
/// the copy of a schema takes.
async fn check_known(
    client: &Connected,
    moving: &[MovingTable],
    all: bool,
    majors: [i32; 2],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let [source, target] = majors;
    if source < LATEST || target >= LATEST {
        return Ok(());
    }
    let names: Vec<String> = moving.iter().map(|table| table.table.sql()).collect();
    let rows = client
        .query(
            "with t as (
               select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name
               union
               select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
               where $2 and c.relkind in ('r', 'p', 'f') and c.relpersistence <> 't'
                 and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'shardwright')
                 and not exists (select from pg_catalog.pg_depend d
                                 where d.classid = c.tableoid and d.objid = c.oid and d.deptype = 'e'))
             select t.oid::pg_catalog.regclass::text, 'column ' || a.attname::text, 'it is a virtual generated column'
             from t join pg_catalog.pg_attribute a on a.attrelid = t.oid
             where a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v'
             union all
             select t.oid::pg_catalog.regclass::text, 'constraint ' || k.conname::text,
                    case when k.conperiod then 'it is over a period' when not k.conenforced then 'it is not enforced'
                         else 'it allows the nulls that were there before it' end
             from t join pg_catalog.pg_constraint k on k.conrelid = t.oid
             where k.conperiod or not k.conenforced or k.contype = 'n' and not k.convalidated
             order by 1, 2",
            &[&names, &all],
        )
        .await
        .at(format_args!(
            "shard {shard}: looking for what PostgreSQL {target} does not know"
        ))?;
    for row in rows {
        let (table, part, problem): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        findings.refuse(
            "pair.version",
            format!("shard {shard}, table {table}, {part}"),
            format!("{problem}, which PostgreSQL {target} does not know"),
            format!("change it, or move to PostgreSQL {source}"),
        );
    }
    Ok(())
}

/// Refuses a table whose rows are identified by a generated column where one of the servers is 18 or newer: these
/// refuse updates and deletes of it once it is published, whoever makes them.
async fn check_identities(
    client: &Connected,
    tables: &[MovingTable],
    majors: [i32; 2],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    if majors.iter().all(|major| *major < LATEST) {
        return Ok(());
    }
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client
        .query(
            "with i as (
               select x.indrelid, x.indisprimary and x.indimmediate as primary, x.indisreplident as chosen,
                      array(select k.attnum from pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
                            where k.place <= x.indnkeyatts) as columns
               from pg_catalog.pg_index x)
             select c.oid::pg_catalog.regclass::text, a.attname::text,
                    c.relreplident <> 'd' and exists (
                      select from i where i.indrelid = c.oid and i.primary and a.attnum <> all (i.columns))
             from pg_catalog.unnest($1::text[]) name
             join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(name)
             join pg_catalog.pg_attribute a on a.attrelid = c.oid
             where a.attnum > 0 and not a.attisdropped and a.attgenerated <> ''
               and (c.relreplident = 'f' or exists (
                 select from i where i.indrelid = c.oid and a.attnum = any (i.columns)
                   and case c.relreplident when 'd' then i.primary else i.chosen end))
             order by 1, 2",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: looking for generated columns"))?;
    for row in rows {
        let (table, column, has_other): (String, String, bool) =
            (row.get(0), row.get(1), row.get(2));
        findings.refuse(
            "table.identity",
            format!("shard {shard}, table {table}, column {column}"),
            "it is generated and part of the replica identity; once published, updates and deletes fail on PostgreSQL 18 and newer",
            if has_other {
                format!("alter table {table} replica identity default")
            } else {
                format!("make a primary key of {table} without generated columns its replica identity")
            },
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Findings, check_minor};

    #[test]
    fn a_minor_release_that_loses_changes_is_told_with_the_one_that_mends_it() {
        for (number, name, mended) in [
            (150_013, "15.13", "15.14"),
            (160_009, "16.9", "16.10"),
            (170_005, "17.5", "17.6"),
        ] {
            let mut findings = Findings::default();
            check_minor(number, name, "s", &mut findings);
            let [found] = findings.as_slice() else {
                panic!("{name}: {findings:?}");
            };
            assert_eq!(found.code, "server.minor");
            assert!(found.problem.contains(mended) && found.remedy.contains(mended));
        }
        for (number, name) in [(150_014, "15.14"), (170_006, "17.6"), (180_000, "18.0")] {
            let mut findings = Findings::default();
            check_minor(number, name, "s", &mut findings);
            assert!(findings.as_slice().is_empty(), "{name}");
        }
    }
}
