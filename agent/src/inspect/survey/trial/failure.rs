//! What fails in a trial, as a finding.

use plans::doctor::Finding;
use plans::fleet::ShardRef;
use plans::id::ShardName;
use plans::table::MovingTable;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::super::functions::{self, FunctionName};
use crate::error::{StepError, describe};
use crate::postgres::pg_dump::SchemaEntry;
use crate::postgres::redacted::masked;

/// A step of the move would fail.
const FAILED: &str = "trial.failed";
/// Nothing is known of the steps that were left.
const UNFINISHED: &str = "trial.unfinished";

/// A step of the move that would fail.
#[derive(Debug)]
pub(super) struct TrialFailure {
    finding: Finding,
    /// The function that needs a search path.
    unfound_in: Option<FunctionName>,
}

impl From<Finding> for TrialEnd {
    fn from(finding: Finding) -> Self {
        Self::Step(Box::new(TrialFailure {
            finding,
            unfound_in: None,
        }))
    }
}

impl TrialFailure {
    /// As a finding; where a function needs a search path, with the statement that gives it one.
    pub(super) async fn into_finding(mut self, source: &ShardRef) -> Result<Finding, StepError> {
        if let Some(function) = &self.unfound_in {
            let client = super::super::super::session(source, "survey").await?;
            let shard = source.name.as_str();
            let statements = functions::named(&client, function).await?;
            if let [statement] = statements.as_slice() {
                self.finding.remedy = format!(
                    "every session of a move has an empty search_path: {} or name what is missing with its schema",
                    statement.sql
                );
                self.finding.fixed_by(shard, statements);
            }
        }
        Ok(self.finding)
    }
}

/// What a search path would find.
const UNFOUND: [SqlState; 4] = [
    SqlState::UNDEFINED_FUNCTION,
    SqlState::UNDEFINED_OBJECT,
    SqlState::UNDEFINED_TABLE,
    SqlState::AMBIGUOUS_FUNCTION,
];

/// Why a trial ends.
pub(super) enum TrialEnd {
    /// A step of the move would fail, and what follows it could not be tried.
    Step(Box<TrialFailure>),
    /// The trial itself did.
    Trial(StepError),
}

impl From<StepError> for TrialEnd {
    fn from(error: StepError) -> Self {
        Self::Trial(error)
    }
}

/// An object of the schema that the target does not take.
pub(super) fn of_entry(shard: &str, entry: &SchemaEntry, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, {}", entry.label);
    // Its literals may be secrets: what a trigger sends with a request, options of a server.
    let statement = masked(&entry.sql());
    let problem = format!("{}; the statement is: {statement}", said(error));
    failed(object, problem, error, remedy_of_entry)
}

/// Event triggers that refuse what a move creates and drops.
pub(super) fn of_event_triggers(shard: &str, names: &str, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, event triggers {names}");
    let problem = format!("what a move creates and drops is refused: {}", said(error));
    failed(object, problem, error, |_| EVENTS)
}

/// Rows of a table that cannot be read, or that the target does not take.
pub(super) fn of_rows(shard: &str, table: &MovingTable, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, table {}", table.table);
    failed(object, format!("step copy: {}", said(error)), error, remedy)
}

fn failed(
    object: String,
    problem: String,
    error: &Error,
    remedy: impl Fn(&SqlState) -> &'static str,
) -> TrialEnd {
    let Some(state) = error.code().filter(|state| !is_of_the_server(state.code())) else {
        let message = format!("{object}: {problem}");
        return TrialEnd::Trial(StepError::passing("trial", message));
    };
    let unfound = UNFOUND
        .contains(state)
        .then(|| FunctionName::outermost(error));
    TrialEnd::Step(Box::new(TrialFailure {
        finding: Finding::new(FAILED, object, problem, remedy(state)),
        unfound_in: unfound.flatten(),
    }))
}

/// A step that reports its errors itself.
pub(super) fn of_step(shard: &str, table: &MovingTable, step: &str, error: StepError) -> TrialEnd {
    let object = format!("shard {shard}, table {}", table.table);
    let Some(failure) = error.failure() else {
        return TrialEnd::Trial(error);
    };
    let state = failure.code.strip_prefix("sql.");
    if failure.code == "connection" || state.is_some_and(is_of_the_server) {
        return TrialEnd::Trial(error);
    }
    let remedy = match state {
        Some(state) if SqlState::from_code(state) == SqlState::UNDEFINED_FUNCTION => {
            IDENTITY.to_owned()
        }
        Some(state) => remedy(&SqlState::from_code(state)).to_owned(),
        None => failure.hint.clone().unwrap_or_default(),
    };
    let problem = format!("step {step}: {}", failure.message);
    Finding::new(FAILED, object, problem, remedy).into()
}

/// Both schemas differ once all is made.
pub(super) fn of_schemas(shard: &str, error: StepError) -> TrialEnd {
    match error.failure() {
        Some(failure) if failure.code == crate::schema::compare::DIFFERENT => {
            Finding::new(
                FAILED,
                format!("shard {shard}, schema"),
                failure.message.clone(),
                "make what it names the same on both: often a default of the target's database or of a role there, or an extension of another version; \
                 where only an expression reads in another way, its IS DISTINCT FROM finds another operator without a search path: write not (a OPERATOR(schema.=) b)",
            )
            .into()
        }
        _ => TrialEnd::Trial(error),
    }
}

/// Rows of the sample are others on the target.
pub(super) fn differs(shard: &str, table: &MovingTable) -> TrialEnd {
    Finding::new(
        FAILED,
        format!("shard {shard}, table {}", table.table),
        "step verify: rows that were copied are not found by their identity, or read in another way there",
        "give the table's identity types whose text the two servers read and print alike; or list it under `ignore`",
    )
    .into()
}

/// Columns are generated by what the target lacks while the table is copied.
pub(super) fn generates(shard: &str, table: &MovingTable) -> TrialEnd {
    Finding::new(
        FAILED,
        format!("shard {shard}, table {}", table.table),
        "step verify: the target generates other values than the source has, as long as other tables are empty there",
        "a generated column takes its value from the row alone: drop its expression (alter table ... alter column ... drop expression) and fill it by a trigger",
    )
    .into()
}

/// The trial did not come to its end.
pub(super) fn unfinished(shard: &ShardName, error: &StepError) -> Finding {
    Finding::new(
        UNFINISHED,
        format!("shard {shard}"),
        format!("the trial did not come to its end: {error}"),
        "plan again; or say `trial: skip`, and what a trial would find is found by the steps",
    )
}

/// The server or the way to it is why, not what was asked: limits, locks, the end of a session.
fn is_of_the_server(state: &str) -> bool {
    ["08", "25", "40", "53", "55", "57", "58", "XX"]
        .iter()
        .any(|class| state.starts_with(class))
}

/// What the server said, with the functions in which it came to that: no values of rows.
pub(in crate::inspect::survey) fn said(error: &Error) -> String {
    let within = error.as_db_error().and_then(|db| db.where_());
    let within = within.into_iter().flat_map(str::lines);
    let within: Vec<&str> = within
        .filter(|line| line.starts_with("PL/pgSQL function ") || line.starts_with("SQL function "))
        .collect();
    match within.is_empty() {
        true => describe(error),
        false => format!("{}, in {}", describe(error), within.join(", in ")),
    }
}

/// Something is named without its schema, which only a search path finds; our sessions have none.
pub(in crate::inspect::survey) const UNQUALIFIED: &str = "every session of a move has an empty search_path: name what is missing with its schema, or give the function that uses it a path of its own: alter function ... set search_path = ...";

/// Rows are found by types whose operators are outside of `pg_catalog`.
const IDENTITY: &str = "identify its rows by columns of built-in types: alter table ... replica identity using index ..., with the index of a unique constraint over such columns, the key's among them";
/// An object whose text, as the server prints it, lacks a schema.
const UNQUALIFIED_TEXT: &str = "every session of a move has an empty search_path, and the text of this object finds an operator or a function by one: \
     write not (a OPERATOR(schema.=) b) in the place of a IS DISTINCT FROM b, set search_path for the functions that it calls, or drop it on the source";
/// They cannot be left out: they belong to the database.
const EVENTS: &str = "alter event trigger ... disable for the time of the move, or let the agents' role pass in its function";
/// What a function in SQL reads, which is looked for as soon as an expression calls it.
const NOT_YET: &str = "every session of a move has an empty search_path: name what is missing with its schema, or give the function that uses it a path of its own: \
     alter function ... set search_path = ...; where it has its schema already, the table comes before the one that its expression reads: write the function in plpgsql, or drop the expression";
/// Objects of these names are on the target already.
const TAKEN: &str = "drop it on the target, or choose an empty database; or create all tables there yourself and say `schema: existing`";

/// A check that rows of the source fulfil only beside those of other tables.
const CHECKED: &str = "tables are copied in no order, and this check reads another one: make it NOT VALID on the source, which still checks what is written: \
     drop the constraint, and add it again as `check (...) not valid`; what is copied does not meet it then";

/// Bytes that are no UTF-8, in a database without an encoding.
const NO_TEXT: &str = "rows travel as UTF-8: make it that in every row, from LATIN1 for example by \
     update ... set c = convert_from(convert(convert_to(c, 'SQL_ASCII'), 'LATIN1', 'UTF8'), 'SQL_ASCII'); or keep such bytes in a column of type bytea";

fn remedy(state: &SqlState) -> &'static str {
    let taken = [
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_FUNCTION,
    ];
    match state {
        state if UNFOUND.contains(state) => UNQUALIFIED,
        state if taken.contains(state) => TAKEN,
        state if *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            "grant the missing privilege to the agent's role"
        }
        state if *state == SqlState::CHECK_VIOLATION => CHECKED,
        state if *state == SqlState::CHARACTER_NOT_IN_REPERTOIRE => NO_TEXT,
        _ => "make the source such that the target takes it, or make the target as the source is",
    }
}

fn remedy_of_entry(state: &SqlState) -> &'static str {
    if *state == SqlState::UNDEFINED_FUNCTION {
        return UNQUALIFIED_TEXT;
    }
    if *state == SqlState::UNDEFINED_TABLE {
        return NOT_YET;
    }
    remedy(state)
}
