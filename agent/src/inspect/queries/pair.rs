//! Compares source and target: extensions, types, tablespaces, clocks.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::plan::TargetState;
use plans::sql::{quote_ident, quote_literal};
use plans::survey::SurveyTask;
use plans::table::MovingTable;
use tokio_postgres::Row;

use super::Findings;
use crate::error::{StepError, WithIntent};

/// The largest allowed difference between the clocks of two servers, in seconds.
const MAX_CLOCK_DIFFERENCE_S: f64 = 1.0;

/// Compares the two servers. `survey::server` compares encoding, collation and roles.
pub(in crate::inspect) async fn check(
    source: &Connected,
    target: &Connected,
    moving: &[MovingTable],
    state: TargetState,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let pair = ShardPair {
        source,
        target,
        task,
    };
    pair.check_clocks(findings).await?;
    pair.check_extensions(state, findings).await?;
    pair.check_types(moving, findings).await?;
    if state == TargetState::New {
        pair.check_tablespaces(findings).await?;
    }
    Ok(())
}

struct ShardPair<'a> {
    source: &'a Connected,
    target: &'a Connected,
    task: &'a SurveyTask,
}

impl ShardPair<'_> {
    fn pair_object(&self, subject: &str) -> String {
        let (source, target) = (&self.task.source.name, &self.task.target.name);
        format!("shards {source} and {target}, {subject}")
    }

    fn target_object(&self, subject: &str) -> String {
        format!("shard {}, {subject}", self.task.target.name)
    }

    /// Runs the same query on both shards.
    async fn query_both(
        &self,
        sql: &str,
        subject: &str,
    ) -> Result<(Vec<Row>, Vec<Row>), StepError> {
        let action =
            |shard: &dyn std::fmt::Display| format!("shard {shard}: reading its {subject}");
        let source_rows = self.source.query(sql, &[]).await;
        let target_rows = self.target.query(sql, &[]).await;
        Ok((
            source_rows.at(action(&self.task.source.name))?,
            target_rows.at(action(&self.task.target.name))?,
        ))
    }

    /// Compares the clocks. The agent reads the clock of the target between two readings of the source's clock, so that
    /// the network delay does not count as a difference.
    async fn check_clocks(&self, findings: &mut Findings) -> Result<(), StepError> {
        let sql = "select extract(epoch from pg_catalog.clock_timestamp())::float8";
        let read = async |client: &Connected, shard: &str| -> Result<f64, StepError> {
            let row = client.query_one(sql, &[]).await;
            Ok(row
                .at(format_args!("shard {shard}: reading its clock"))?
                .get(0))
        };
        let (source, target) = (
            self.task.source.name.as_str(),
            self.task.target.name.as_str(),
        );
        let before = read(self.source, source).await?;
        let target_time = read(self.target, target).await?;
        let after = read(self.source, source).await?;
        if let Some(clock_difference) = clock_difference(before, target_time, after) {
            findings.add(
                "pair.clock",
                self.pair_object("clocks"),
                format!("they differ by {clock_difference:.1} s; times in the reports of a move cannot be compared, and times that the application stores can go back when its keys move"),
                "let both servers follow the same time servers (chrony, ntpd)",
            );
        }
        Ok(())
    }

    /// Compares every extension of the source. A new target creates extensions from its own files.
    async fn check_extensions(
        &self,
        state: TargetState,
        findings: &mut Findings,
    ) -> Result<(), StepError> {
        let (source_rows, target_rows) = self.query_both(EXTENSIONS, "extensions").await?;
        let target_rows: BTreeMap<String, &Row> =
            target_rows.iter().map(|row| (row.get(0), row)).collect();
        for row in &source_rows {
            let name: String = row.get(0);
            let Some(version) = row.get::<_, Option<String>>(1) else {
                continue;
            };
            let target_row = target_rows.get(&name);
            let installed: Option<String> = target_row.and_then(|row| row.get(1));
            let offered: Option<String> = target_row.and_then(|row| row.get(2));
            let object = self.target_object(&format!("extension {name}"));
            match installed.or(offered) {
                // A live target has all tables, and they equal those of the source. It therefore has every extension
                // that they need.
                None if state == TargetState::Live => {}
                None => {
                    findings.add(
                        "pair.extension",
                        object,
                        format!("the source has it in version {version}, the target does not have it"),
                        format!(
                            "install its files on the target's machine, then: create extension {} version {}",
                            quote_ident(&name),
                            quote_literal(&version)
                        ),
                    );
                }
                Some(target_version) if target_version != version => {
                    findings.add(
                        "pair.extension_version",
                        object,
                        format!("it is version {version} on the source and {target_version} on the target"),
                        format!(
                            "alter extension {} update, on the shard with the older version",
                            quote_ident(&name)
                        ),
                    );
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Compares the enums, domains and composite types in columns of the moving tables, if they also exist on the
    /// target.
    async fn check_types(
        &self,
        moving: &[MovingTable],
        findings: &mut Findings,
    ) -> Result<(), StepError> {
        let tables: Vec<String> = moving.iter().map(|table| table.table.sql()).collect();
        let rows = self.source.query(USED_TYPES, &[&tables]).await;
        let shard = &self.task.source.name;
        let rows = rows.at(format_args!(
            "shard {shard}: reading the types of the tables"
        ))?;
        let used: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        if used.is_empty() {
            return Ok(());
        }
        let (source_rows, target_rows) = self.query_both(TYPES, "types").await?;
        let target_rows: BTreeMap<String, &Row> =
            target_rows.iter().map(|row| (row.get(0), row)).collect();
        for row in source_rows
            .iter()
            .filter(|row| used.contains(row.get::<_, &str>(0)))
        {
            let (name, kind, source_definition): (String, String, String) =
                (row.get(0), row.get(1), row.get(2));
            let Some(target_definition) = target_rows.get(&name).map(|row| row.get::<_, String>(2))
            else {
                continue;
            };
            if source_definition == target_definition {
                continue;
            }
            let (code, kind_name) = match kind.as_str() {
                "e" => ("pair.enum", "enum"),
                "d" => ("pair.domain", "domain"),
                _ => ("pair.composite", "composite type"),
            };
            findings.add(
                code,
                self.target_object(&format!("{kind_name} {name}")),
                format!("it is ({target_definition}) on the target and ({source_definition}) on the source"),
                match code {
                    "pair.enum" => format!("alter type {name} add value ..., or rename value, until both lists are the same in the same order"),
                    "pair.domain" => format!("alter domain {name} ..., until both are the same"),
                    _ => format!("alter type {name} add attribute ..., until both are the same"),
                },
            );
        }
        Ok(())
    }

    /// Checks that a new target has the tablespaces of the source's tables and indexes.
    async fn check_tablespaces(&self, findings: &mut Findings) -> Result<(), StepError> {
        let (source_rows, target_rows) = self.query_both(TABLESPACES, "tablespaces").await?;
        let target_rows: BTreeSet<String> = target_rows.iter().map(|row| row.get(0)).collect();
        let used = source_rows.iter().filter(|row| row.get::<_, i64>(1) > 0);
        for name in used.map(|row| row.get::<_, String>(0)) {
            if !target_rows.contains(&name) {
                findings.add(
                    "pair.tablespace",
                    self.target_object(&format!("tablespace {name}")),
                    "tables or indexes of the source are in it, and the target does not have it",
                    format!(
                        "create tablespace {} location '...', on the target",
                        quote_ident(&name)
                    ),
                );
            }
        }
        Ok(())
    }
}

/// Extensions: name, installed version, and the version that `create extension` would install.
const EXTENSIONS: &str = "
    select coalesce(e.extname::text, a.name::text), e.extversion, a.default_version
    from pg_catalog.pg_extension e
    full join pg_catalog.pg_available_extensions a on a.name = e.extname
    where coalesce(e.extname, a.name) <> 'plpgsql'
    order by 1";

/// Names of the user-defined types that occur in columns of the tables `$1`.
const USED_TYPES: &str = "
    with recursive used (oid) as (
        select a.atttypid
        from pg_catalog.unnest($1::text[]) name
        join pg_catalog.pg_attribute a on a.attrelid = pg_catalog.to_regclass(name) and a.attnum > 0 and not a.attisdropped
        union
        select part.oid
        from used
        join pg_catalog.pg_type y on y.oid = used.oid
        cross join lateral (
            select y.typelem where y.typelem <> 0 and y.typlen = -1
            union all select y.typbasetype where y.typbasetype <> 0
            union all select r.rngsubtype from pg_catalog.pg_range r where y.oid in (r.rngtypid, r.rngmultitypid)
            union all select a.atttypid from pg_catalog.pg_attribute a
                      where y.typtype = 'c' and a.attrelid = y.typrelid and a.attnum > 0 and not a.attisdropped) part (oid))
    select pg_catalog.format('%I.%I', n.nspname, y.typname)
    from used
    join pg_catalog.pg_type y on y.oid = used.oid and y.typtype in ('e', 'd', 'c')
    join pg_catalog.pg_namespace n on n.oid = y.typnamespace";

/// Enums, domains and composite types: name, kind, definition.
const TYPES: &str = "
    select pg_catalog.format('%I.%I', n.nspname, y.typname), y.typtype::text,
           coalesce(case y.typtype
             when 'e' then (select pg_catalog.string_agg(pg_catalog.quote_literal(l.enumlabel), ', ' order by l.enumsortorder)
                            from pg_catalog.pg_enum l where l.enumtypid = y.oid)
             when 'd' then pg_catalog.concat_ws(' ', pg_catalog.format_type(y.typbasetype, y.typtypmod),
                                                case when y.typnotnull then 'not null' end, 'default ' || y.typdefault,
                                                (select pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(k.oid), ' ' order by pg_catalog.pg_get_constraintdef(k.oid))
                                                 from pg_catalog.pg_constraint k where k.contypid = y.oid and k.contype = 'c'))
             else (select pg_catalog.string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
                   from pg_catalog.pg_attribute a where a.attrelid = y.typrelid and a.attnum > 0 and not a.attisdropped) end, '')
    from pg_catalog.pg_type y
    join pg_catalog.pg_namespace n on n.oid = y.typnamespace
    where (y.typtype in ('e', 'd') or y.typtype = 'c' and exists (select from pg_catalog.pg_class c where c.oid = y.typrelid and c.relkind = 'c'))
      and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
      and n.nspname !~ '^pg_(toast|temp)'";

/// Tablespaces, and the number of relations of this database in each.
const TABLESPACES: &str = "
    select s.spcname::text, (select count(*) from pg_catalog.pg_class c where c.reltablespace = s.oid and not c.relisshared)
    from pg_catalog.pg_tablespace s";

/// Returns the smallest possible difference between two clocks, in seconds, if it is too large. `target_time` was read
/// between the readings `before` and `after` of the source's clock.
pub(super) fn clock_difference(before: f64, target_time: f64, after: f64) -> Option<f64> {
    let difference = (before - target_time).max(target_time - after);
    (difference > MAX_CLOCK_DIFFERENCE_S).then_some(difference)
}
