//! What source and target must have in common: versions, extensions, types, tablespaces, clocks.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::plan::TargetState;
use plans::sql::{quote_ident, quote_literal};
use plans::survey::SurveyTask;
use plans::table::MovingTable;
use tokio_postgres::Row;

use super::Findings;
use crate::error::{StepError, WithIntent};

/// Seconds by which the clocks of two servers may differ.
const APART: f64 = 1.0;

/// Checks the two servers against each other, beyond encoding and roles.
pub(in crate::inspect) async fn check(
    here: &Connected,
    there: &Connected,
    moving: &[MovingTable],
    state: TargetState,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let pair = ShardPair { here, there, task };
    pair.clocks(findings).await?;
    pair.extensions(state, findings).await?;
    pair.types(moving, findings).await?;
    if state == TargetState::New {
        pair.tablespaces(findings).await?;
    }
    Ok(())
}

struct ShardPair<'a> {
    here: &'a Connected,
    there: &'a Connected,
    task: &'a SurveyTask,
}

impl ShardPair<'_> {
    fn object(&self, what: &str) -> String {
        let (source, target) = (&self.task.source.name, &self.task.target.name);
        format!("shards {source} and {target}, {what}")
    }

    fn on_target(&self, what: &str) -> String {
        format!("shard {}, {what}", self.task.target.name)
    }

    /// The same question to both.
    async fn both(&self, sql: &str, what: &str) -> Result<(Vec<Row>, Vec<Row>), StepError> {
        let at = |shard: &dyn std::fmt::Display| format!("shard {shard}: reading its {what}");
        let here = self.here.query(sql, &[]).await;
        let there = self.there.query(sql, &[]).await;
        Ok((
            here.at(at(&self.task.source.name))?,
            there.at(at(&self.task.target.name))?,
        ))
    }

    /// The target is asked between two questions to the source, so the way takes no part in the difference.
    async fn clocks(&self, findings: &mut Findings) -> Result<(), StepError> {
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
        let before = read(self.here, source).await?;
        let other = read(self.there, target).await?;
        let after = read(self.here, source).await?;
        if let Some(apart) = apart(before, other, after) {
            findings.add(
                "pair.clock",
                self.object("clocks"),
                format!("they are {apart:.1} s apart; what a move says of times cannot be compared, and times that the application stores seem to go back"),
                "let both servers follow the same time servers (chrony, ntpd)",
            );
        }
        Ok(())
    }

    /// Every extension of the source: a new target makes it from its own files.
    async fn extensions(
        &self,
        state: TargetState,
        findings: &mut Findings,
    ) -> Result<(), StepError> {
        let (here, there) = self.both(EXTENSIONS, "extensions").await?;
        let there: BTreeMap<String, &Row> = there.iter().map(|row| (row.get(0), row)).collect();
        for row in &here {
            let name: String = row.get(0);
            let Some(version) = row.get::<_, Option<String>>(1) else {
                continue;
            };
            let other = there.get(&name);
            let installed: Option<String> = other.and_then(|row| row.get(1));
            let offered: Option<String> = other.and_then(|row| row.get(2));
            let object = self.on_target(&format!("extension {name}"));
            match installed.or(offered) {
                // What tables of a live target need is there: they are equal to the source's.
                None if state == TargetState::Live => {}
                None => {
                    findings.add(
                        "pair.extension",
                        object,
                        format!("the source has it in version {version}, and here it is missing"),
                        format!(
                            "install its files on the target's machine, then: create extension {} version {}",
                            quote_ident(&name),
                            quote_literal(&version)
                        ),
                    );
                }
                Some(other) if other != version => {
                    findings.add(
                        "pair.extension_version",
                        object,
                        format!("it is version {version} on the source and {other} here"),
                        format!(
                            "alter extension {} update, on the older side",
                            quote_ident(&name)
                        ),
                    );
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Enums, domains and composites that columns of the moving tables are made of, where the target has them too.
    async fn types(
        &self,
        moving: &[MovingTable],
        findings: &mut Findings,
    ) -> Result<(), StepError> {
        let tables: Vec<String> = moving.iter().map(|table| table.table.sql()).collect();
        let rows = self.here.query(USED_TYPES, &[&tables]).await;
        let shard = &self.task.source.name;
        let rows = rows.at(format_args!(
            "shard {shard}: reading the types of the tables"
        ))?;
        let used: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
        if used.is_empty() {
            return Ok(());
        }
        let (here, there) = self.both(TYPES, "types").await?;
        let there: BTreeMap<String, &Row> = there.iter().map(|row| (row.get(0), row)).collect();
        for row in here
            .iter()
            .filter(|row| used.contains(row.get::<_, &str>(0)))
        {
            let (name, kind, ours): (String, String, String) = (row.get(0), row.get(1), row.get(2));
            let Some(theirs) = there.get(&name).map(|row| row.get::<_, String>(2)) else {
                continue;
            };
            if ours == theirs {
                continue;
            }
            let (code, what) = match kind.as_str() {
                "e" => ("pair.enum", "enum"),
                "d" => ("pair.domain", "domain"),
                _ => ("pair.composite", "composite type"),
            };
            findings.add(
                code,
                self.on_target(&format!("{what} {name}")),
                format!("it is ({theirs}) here and ({ours}) on the source"),
                match code {
                    "pair.enum" => format!("alter type {name} add value ..., or rename value, until both lists are the same in the same order"),
                    "pair.domain" => format!("alter domain {name} ..., until both are the same"),
                    _ => format!("alter type {name} add attribute ..., until both are the same"),
                },
            );
        }
        Ok(())
    }

    /// A new target gets tables and indexes in the tablespaces that they have on the source.
    async fn tablespaces(&self, findings: &mut Findings) -> Result<(), StepError> {
        let (here, there) = self.both(TABLESPACES, "tablespaces").await?;
        let there: BTreeSet<String> = there.iter().map(|row| row.get(0)).collect();
        let used = here.iter().filter(|row| row.get::<_, i64>(1) > 0);
        for name in used.map(|row| row.get::<_, String>(0)) {
            if !there.contains(&name) {
                findings.add(
                    "pair.tablespace",
                    self.on_target(&format!("tablespace {name}")),
                    "tables or indexes of the source are in it, and here it is missing",
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

/// Extensions by name: installed version, version that `create extension` would take.
const EXTENSIONS: &str = "
    select coalesce(e.extname::text, a.name::text), e.extversion, a.default_version
    from pg_catalog.pg_extension e
    full join pg_catalog.pg_available_extensions a on a.name = e.extname
    where coalesce(e.extname, a.name) <> 'plpgsql'
    order by 1";

/// Names of the user's types that columns of the tables `$1` are made of.
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

/// Enums, domains and composites: name, kind, definition.
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

/// Tablespaces, and how many relations of this database are in each.
const TABLESPACES: &str = "
    select s.spcname::text, (select count(*) from pg_catalog.pg_class c where c.reltablespace = s.oid and not c.relisshared)
    from pg_catalog.pg_tablespace s";

/// Seconds between two clocks of which one was read between two readings of the other, if they are too many.
pub(super) fn apart(before: f64, other: f64, after: f64) -> Option<f64> {
    let apart = (before - other).max(other - after);
    (apart > APART).then_some(apart)
}
