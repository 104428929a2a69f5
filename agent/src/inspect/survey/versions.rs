//! Checks the versions of the servers: minor releases with known defects, and properties of the source's tables that
//! the target's version does not support.

use connect::Connected;
use plans::plan::TargetState;
use plans::request::Mode;
use plans::survey::SurveyTask;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;

/// The first minor releases, as `server_version_num`, whose logical decoding neither loses changes nor fails after a
/// publication was altered.
const FIXED_RELEASES: [i32; 3] = [150_014, 160_010, 170_006];
/// PostgreSQL 18: the first major version with virtual generated columns, keys over periods and constraints that are
/// not enforced.
const VERSION_18: i32 = 18;

/// Checks one server, and returns its major version. An offline move reads no log, so it needs no check of the minor
/// release.
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
        check_minor_release(number, row.get(1), shard, findings);
    }
    Ok(number / 10_000)
}

/// Warns of a minor release whose logical decoding has known defects.
fn check_minor_release(number: i32, name: &str, shard: &str, findings: &mut Findings) {
    let same_major = |fixed: &&i32| **fixed / 10_000 == number / 10_000;
    let Some(fixed) = FIXED_RELEASES
        .iter()
        .find(same_major)
        .filter(|it| number < **it)
    else {
        return;
    };
    let (major, minor) = (fixed / 10_000, fixed % 10_000);
    findings.add(
        "server.minor",
        format!("shard {shard}, server"),
        format!(
            "it is PostgreSQL {name}; before {major}.{minor} changes are lost if a publication is altered while rows are \
             written"
        ),
        format!("upgrade the server to PostgreSQL {major}.{minor} or newer; until then alter no publication"),
    );
}

/// Refuses what the versions of source and target do not support in the source's tables.
pub(super) async fn check_pair(
    client: &Connected,
    tables: &[MovingTable],
    state: TargetState,
    majors: [i32; 2],
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let whole_schema = state == TargetState::New;
    check_target_supports(client, tables, whole_schema, majors, findings).await?;
    if task.mode == Mode::Online {
        check_identities(client, tables, majors, findings).await?;
    }
    Ok(())
}

/// Refuses what the target's version does not support: in the moving tables, or, if the schema is copied
/// (`whole_schema`), in all tables.
async fn check_target_supports(
    client: &Connected,
    moving: &[MovingTable],
    whole_schema: bool,
    majors: [i32; 2],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let [source, target] = majors;
    if source < VERSION_18 || target >= VERSION_18 {
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
            &[&names, &whole_schema],
        )
        .await
        .at(format_args!(
            "shard {shard}: looking for properties that PostgreSQL {target} does not support"
        ))?;
    for row in rows {
        let (table, part, problem): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        findings.add_refusal(
            "pair.version",
            format!("shard {shard}, table {table}, {part}"),
            format!("{problem}, which PostgreSQL {target} does not support"),
            format!("change it, or move to PostgreSQL {source}"),
        );
    }
    Ok(())
}

/// Refuses a table whose rows are identified by a generated column, if one of the servers is 18 or newer. Such a server
/// refuses all updates and deletes of the table once it is published.
async fn check_identities(
    client: &Connected,
    tables: &[MovingTable],
    majors: [i32; 2],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    if majors.iter().all(|major| *major < VERSION_18) {
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
        findings.add_refusal(
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
    use super::{Findings, check_minor_release};

    #[test]
    fn a_minor_release_that_loses_changes_is_reported_with_the_fixed_one() {
        for (number, name, fixed) in [
            (150_013, "15.13", "15.14"),
            (160_009, "16.9", "16.10"),
            (170_005, "17.5", "17.6"),
        ] {
            let mut findings = Findings::default();
            check_minor_release(number, name, "s", &mut findings);
            let [found] = findings.as_slice() else {
                panic!("{name}: {findings:?}");
            };
            assert_eq!(found.code, "server.minor");
            assert!(found.problem.contains(fixed) && found.remedy.contains(fixed));
        }
        for (number, name) in [(150_014, "15.14"), (170_006, "17.6"), (180_000, "18.0")] {
            let mut findings = Findings::default();
            check_minor_release(number, name, "s", &mut findings);
            assert!(findings.as_slice().is_empty(), "{name}");
        }
    }
}
