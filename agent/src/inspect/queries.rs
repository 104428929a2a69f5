//! Checks of a shard as SQL queries about all tables at once: each row of an answer is a finding.
//!
//! A doctor and a survey run them.
//! Absent: queries that read the user's rows, other than those which rows without a parent need.

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

use connect::Connected;
use plans::fix::{FixStage, FixStatement};
use plans::request::Mode;
use plans::shard_map::Sequences;
use plans::table::{MovingTable, TableName};

use super::findings::Findings;
use crate::error::{StepError, WithIntent};

/// A question: each row of the answer is a finding's object, problem and remedy.
#[derive(Debug, Clone, Copy)]
struct DoctorQuery {
    /// The name of its row in `plans::doctor`.
    code: &'static str,
    /// When the remedy runs in a script; none where it is no statement, or not right for every application.
    fix: Option<FixStage>,
    sql: &'static str,
}

/// The tables `$1` (schemas) and `$2` (names) as `t`: every column of `pg_class`, `label` for people, `sql` quoted.
const TABLES: &str = "
    with t as (select c.*, n.nspname, pg_catalog.format('%s.%s', n.nspname, c.relname) as label,
                      pg_catalog.format('%I.%I', n.nspname, c.relname) as sql
               from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) given (schema, name)
               join pg_catalog.pg_namespace n on n.nspname = given.schema
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = given.name)";

/// Queries what concerns all databases of the server.
pub(super) async fn check_beyond(
    client: &Connected,
    findings: &mut Findings,
) -> Result<(), StepError> {
    ask_all(client, role::BEYOND, findings).await
}

/// Asks what concerns the server and the role, whatever the tables.
pub(super) async fn check_server(
    client: &Connected,
    mode: Mode,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let capture: &[DoctorQuery] = match mode {
        Mode::Online => server::CAPTURE,
        Mode::Offline => &[],
    };
    let questions = [server::ALWAYS, capture, role::ALWAYS, triggers::ALWAYS].concat();
    ask_all(client, &questions, findings).await
}

/// Asks questions that are of no table.
async fn ask_all(
    client: &Connected,
    questions: &[DoctorQuery],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for question in questions {
        let rows = client.query(question.sql, &[]).await;
        let rows = rows.at(format_args!("shard {shard}: asking for {}", question.code))?;
        add(question, &rows, shard, findings);
    }
    Ok(())
}

/// Asks what concerns a shard's tables wherever rows leave or arrive: rights, and who else writes and reads them.
pub(super) async fn check_place<'a>(
    client: &Connected,
    tables: impl Iterator<Item = &'a TableName>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let questions = [role::TABLES, publications::TABLES].concat();
    ask(client, &questions, tables, findings).await
}

/// Asks what concerns the definitions of the tables that move.
pub(super) async fn check_tables(
    client: &Connected,
    moving: &[MovingTable],
    shared_out: Sequences,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let stride: &[DoctorQuery] = match shared_out {
        Sequences::Stride => sequences::STRIDE,
        Sequences::Block | Sequences::Keep => &[],
    };
    let questions = [tables::TABLES, triggers::TABLES, sequences::TABLES, stride].concat();
    let names = moving.iter().map(|table| &table.table);
    ask(client, &questions, names, findings).await?;
    tables::check_keys(client, moving, findings).await
}

async fn ask<'a>(
    client: &Connected,
    questions: &[DoctorQuery],
    tables: impl Iterator<Item = &'a TableName>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
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

fn add(question: &DoctorQuery, rows: &[tokio_postgres::Row], shard: &str, findings: &mut Findings) {
    for row in rows {
        let (object, problem, remedy): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let object = format!("shard {shard}, {object}");
        let statement = question.fix.map(|stage| FixStatement::new(stage, &remedy));
        let finding = findings.add(question.code, object, problem, remedy);
        if let Some(statement) = statement {
            finding.fixed_by(shard, vec![statement]);
        }
    }
}
