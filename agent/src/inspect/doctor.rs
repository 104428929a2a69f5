//! The doctor: everything of one shard that would stand in the way of a move, without a move.
//!
//! Order: the server, then the tables of each map that is there, as a survey looks at a source.
//! The checks below are questions in SQL about all tables at once; a survey asks them too.
//! Absent: questions that read the user's rows, other than those which rows without a parent need.

mod pair;
mod publications;
mod role;
mod sequences;
mod server;
mod tables;
mod triggers;

#[cfg(test)]
mod tests;

pub(super) use pair::check as check_pair;
pub(super) use role::{unreadable, usable};

use std::collections::BTreeSet;
use std::time::Instant;

use plans::doctor::{DoctorTask, Examined, MapTables, sort};
use plans::fix::{Stage, Statement};
use plans::key_set::KeySet;
use plans::request::Mode;
use plans::shard_map::Sequences;
use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableName};
use tokio_postgres::Client;

use super::survey::{self, Findings};
use crate::error::{At, StepError};

/// A question: each row of the answer is a finding's object, problem and remedy.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// The name of its row in `plans::doctor`.
    code: &'static str,
    /// When the remedy runs in a script; none where it is no statement, or not right for every application.
    fix: Option<Stage>,
    sql: &'static str,
}

/// The tables `$1` (schemas) and `$2` (names) as `t`: every column of `pg_class`, `label` for people, `sql` quoted.
const TABLES: &str = "
    with t as (select c.*, n.nspname, pg_catalog.format('%s.%s', n.nspname, c.relname) as label,
                      pg_catalog.format('%I.%I', n.nspname, c.relname) as sql
               from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) given (schema, name)
               join pg_catalog.pg_namespace n on n.nspname = given.schema
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = given.name)";

/// Examines one shard.
///
/// # Errors
/// When the shard cannot be reached or read; what stands in the way of a move is in the findings.
pub(super) async fn run(task: &DoctorTask) -> Result<Examined, StepError> {
    let began = Instant::now();
    let client = super::session(&task.shard, "doctor").await?;
    let shard = task.shard.name.as_str();
    client
        .batch_execute("set default_transaction_read_only = on; set lock_timeout = '5s'")
        .await
        .at(format_args!("shard {shard}"))?;
    let mut findings = Findings::default();
    survey::check_server(&client, shard, task.mode, &mut findings).await?;
    ask_all(&client, role::BEYOND, shard, &mut findings).await?;
    let mut tables = BTreeSet::new();
    for map in &task.maps {
        let asked = survey_of(task, map);
        let moving = survey::examine(&client, &asked, &mut findings).await?;
        tables.extend(moving.into_iter().map(|table| table.table));
    }
    let mut found = findings.into_vec();
    sort(&mut found);
    found.dedup();
    Ok(Examined {
        shard: task.shard.name.clone(),
        identity: task.shard.identity.clone(),
        tables: u64::try_from(tables.len()).unwrap_or(u64::MAX),
        findings: found,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// The survey of a move from this shard to nowhere; the other maps' tables are none of this map's.
fn survey_of(task: &DoctorTask, map: &MapTables) -> SurveyTask {
    let mut settings = map.settings.clone();
    for other in task.maps.iter().filter(|other| other.map != map.map) {
        let listed = &other.settings;
        let names = listed.tables.keys().chain(listed.through.keys());
        let names = names.chain(&listed.reference).chain(&listed.ignore);
        settings.ignore.extend(names.cloned());
    }
    SurveyTask {
        map: map.map.clone(),
        source: task.shard.clone(),
        target: task.shard.clone(),
        settings,
        keys: KeySet::range(None, None),
        key: map.key.clone(),
        mode: task.mode,
        again: false,
        trial: false,
    }
}

/// Asks what concerns the server and the role, whatever the tables.
pub(super) async fn check_server(
    client: &Client,
    shard: &str,
    mode: Mode,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let capture: &[Question] = match mode {
        Mode::Online => server::CAPTURE,
        Mode::Offline => &[],
    };
    let questions = [server::ALWAYS, capture, role::ALWAYS, triggers::ALWAYS].concat();
    ask_all(client, &questions, shard, findings).await
}

/// Asks questions that are of no table.
async fn ask_all(
    client: &Client,
    questions: &[Question],
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    for question in questions {
        let rows = client.query(question.sql, &[]).await;
        let rows = rows.at(format_args!("shard {shard}: asking for {}", question.code))?;
        add(question, &rows, shard, findings);
    }
    Ok(())
}

/// Asks what concerns a shard's tables wherever rows leave or arrive: rights, and who else writes and reads them.
pub(super) async fn check_place<'a>(
    client: &Client,
    tables: impl Iterator<Item = &'a TableName>,
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let questions = [role::TABLES, publications::TABLES].concat();
    ask(client, &questions, tables, shard, findings).await
}

/// Asks what concerns the definitions of the tables that move.
pub(super) async fn check_tables(
    client: &Client,
    moving: &[MovingTable],
    shared_out: Sequences,
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let stride: &[Question] = match shared_out {
        Sequences::Stride => sequences::STRIDE,
        Sequences::Block | Sequences::Keep => &[],
    };
    let questions = [tables::TABLES, triggers::TABLES, sequences::TABLES, stride].concat();
    let names = moving.iter().map(|table| &table.table);
    ask(client, &questions, names, shard, findings).await?;
    tables::check_keys(client, moving, shard, findings).await
}

async fn ask<'a>(
    client: &Client,
    questions: &[Question],
    tables: impl Iterator<Item = &'a TableName>,
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (schemas, names): (Vec<&str>, Vec<&str>) = tables
        .map(|table| (table.schema.as_str(), table.name.as_str()))
        .unzip();
    for question in questions {
        let sql = format!("{TABLES} {}", question.sql);
        let rows = client.query(&sql, &[&schemas, &names]).await;
        let rows = rows.at(format_args!("shard {shard}: asking for {}", question.code))?;
        add(question, &rows, shard, findings);
    }
    Ok(())
}

fn add(question: &Question, rows: &[tokio_postgres::Row], shard: &str, findings: &mut Findings) {
    for row in rows {
        let (object, problem, remedy): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let object = format!("shard {shard}, {object}");
        let statement = question.fix.map(|stage| Statement::new(stage, &remedy));
        let finding = findings.add(question.code, object, problem, remedy);
        if let Some(statement) = statement {
            finding.fixed_by(shard, vec![statement]);
        }
    }
}
