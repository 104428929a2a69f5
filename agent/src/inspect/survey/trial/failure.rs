//! Converts the failures of a trial to findings.

use plans::doctor::Finding;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::id::ShardName;
use plans::table::MovingTable;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::super::functions::{self, FunctionName};
use crate::error::{StepError, describe};
use crate::postgres::pg_dump::SchemaEntry;
use crate::postgres::redacted::redact_literals;

/// The finding that a step of the move would fail.
const FAILED: &str = "trial.failed";
/// The finding that the trial did not complete, so that nothing is known about the other steps.
const UNFINISHED: &str = "trial.unfinished";

/// A step of the move that would fail.
#[derive(Debug)]
pub(super) struct TrialFailure {
    finding: Finding,
    /// The function that needs a search path.
    function_without_path: Option<FunctionName>,
}

impl From<Finding> for TrialEnd {
    fn from(finding: Finding) -> Self {
        Self::Step(Box::new(TrialFailure {
            finding,
            function_without_path: None,
        }))
    }
}

impl TrialFailure {
    /// Returns the finding. If a function needs a search path, the finding has the statement that sets it.
    pub(super) async fn into_finding(mut self, source: &ShardRef) -> Result<Finding, StepError> {
        if let Some(function) = &self.function_without_path {
            let client = super::super::super::session(source, "survey").await?;
            let shard = source.name.as_str();
            let statements = functions::path_statements_for_function(&client, function).await?;
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

/// Error codes for names that a search path could resolve.
const UNRESOLVED_NAMES: [SqlState; 4] = [
    SqlState::UNDEFINED_FUNCTION,
    SqlState::UNDEFINED_OBJECT,
    SqlState::UNDEFINED_TABLE,
    SqlState::AMBIGUOUS_FUNCTION,
];

/// The reason for which a trial ends.
pub(super) enum TrialEnd {
    /// A step of the move would fail, and the steps after it could not be tried.
    Step(Box<TrialFailure>),
    /// The trial itself failed.
    Trial(StepError),
}

impl From<StepError> for TrialEnd {
    fn from(error: StepError) -> Self {
        Self::Trial(error)
    }
}

/// Reports a schema entry that the target does not accept.
pub(super) fn entry_failure(shard: &str, entry: &SchemaEntry, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, {}", entry.label);
    // Literals may be secrets, for example in a trigger that sends a request, or in the options of a foreign server.
    let statement = redact_literals(&entry.sql());
    let problem = format!("{}; the statement is: {statement}", server_message(error));
    failure_of(object, problem, error, entry_remedy)
}

/// Reports event triggers that refuse what a move creates and drops.
pub(super) fn event_trigger_failure(shard: &str, names: &str, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, event triggers {names}");
    let problem = format!(
        "what a move creates and drops is refused: {}",
        server_message(error)
    );
    failure_of(object, problem, error, |_| EVENT_TRIGGER_REMEDY)
}

/// Reports a table whose rows cannot be read on the source, or that the target does not accept.
pub(super) fn rows_failure(shard: &str, table: &MovingTable, error: &Error) -> TrialEnd {
    let object = format!("shard {shard}, table {}", table.table);
    failure_of(
        object,
        format!("step copy: {}", server_message(error)),
        error,
        remedy,
    )
}

fn failure_of(
    object: String,
    problem: String,
    error: &Error,
    remedy: impl Fn(&SqlState) -> &'static str,
) -> TrialEnd {
    let Some(state) = error.code().filter(|state| !is_environmental(state.code())) else {
        let message = format!("{object}: {problem}");
        return TrialEnd::Trial(StepError::passing(StepCode::Trial, message));
    };
    let function_name = UNRESOLVED_NAMES
        .contains(state)
        .then(|| FunctionName::outermost(error));
    TrialEnd::Step(Box::new(TrialFailure {
        finding: Finding::new(FAILED, object, problem, remedy(state)),
        function_without_path: function_name.flatten(),
    }))
}

/// Reports a failure of a function that a step also calls.
pub(super) fn step_failure(
    shard: &str,
    table: &MovingTable,
    step: &str,
    error: StepError,
) -> TrialEnd {
    let object = format!("shard {shard}, table {}", table.table);
    let Some(failure) = error.failure() else {
        return TrialEnd::Trial(error);
    };
    let state = failure.sqlstate();
    if failure.has_code(StepCode::Connection) || state.is_some_and(is_environmental) {
        return TrialEnd::Trial(error);
    }
    let remedy = match state {
        Some(state) if SqlState::from_code(state) == SqlState::UNDEFINED_FUNCTION => {
            IDENTITY_REMEDY.to_owned()
        }
        Some(state) => remedy(&SqlState::from_code(state)).to_owned(),
        None => failure.hint.clone().unwrap_or_default(),
    };
    let problem = format!("step {step}: {}", failure.message);
    Finding::new(FAILED, object, problem, remedy).into()
}

/// Reports that the schemas differ after the target's schema was created.
pub(super) fn schema_difference(shard: &str, error: StepError) -> TrialEnd {
    match error.failure() {
        Some(failure) if failure.has_code(StepCode::SchemaDifferent) => {
            Finding::new(
                FAILED,
                format!("shard {shard}, schema"),
                failure.message.clone(),
                "make these objects the same on both shards. Frequent causes are a default of the target's database or of a role there, and an extension of another version. \
                 If only an expression differs, its IS DISTINCT FROM finds another operator without a search path: write not (a OPERATOR(schema.=) b)",
            )
            .into()
        }
        _ => TrialEnd::Trial(error),
    }
}

/// Reports that rows of the sample differ on the target.
pub(super) fn row_difference(shard: &str, table: &MovingTable) -> TrialEnd {
    Finding::new(
        FAILED,
        format!("shard {shard}, table {}", table.table),
        "step verify: the target does not find copied rows by their identity, or prints their values differently",
        "give the identity columns types whose text both servers read and print in the same way; or list the table under `ignore`",
    )
    .into()
}

/// Reports generated columns whose values depend on rows of other tables, which the target lacks during the copy.
pub(super) fn generated_value_difference(shard: &str, table: &MovingTable) -> TrialEnd {
    Finding::new(
        FAILED,
        format!("shard {shard}, table {}", table.table),
        "step verify: while other tables of the target are empty, it generates other values than the source has",
        "a generated column must depend on its own row only: drop its expression (alter table ... alter column ... drop expression) and fill it by a trigger",
    )
    .into()
}

/// Reports that the trial did not complete.
pub(super) fn unfinished_finding(shard: &ShardName, error: &StepError) -> Finding {
    Finding::new(
        UNFINISHED,
        format!("shard {shard}"),
        format!("the trial did not complete: {error}"),
        "plan again; or set `trial: skip` in the request: then a step of the migration fails if it meets a problem",
    )
}

/// Returns true if the SQLSTATE shows a problem of the server, the connection or the environment (limits, locks, ended
/// sessions), and not of the statement.
fn is_environmental(state: &str) -> bool {
    ["08", "25", "40", "53", "55", "57", "58", "XX"]
        .iter()
        .any(|class| state.starts_with(class))
}

/// Returns the message of the server and the functions in which the error occurred, without values of rows.
pub(in crate::inspect::survey) fn server_message(error: &Error) -> String {
    let contexts = error.as_db_error().and_then(|db| db.where_());
    let contexts = contexts.into_iter().flat_map(str::lines);
    let contexts: Vec<&str> = contexts
        .filter(|line| line.starts_with("PL/pgSQL function ") || line.starts_with("SQL function "))
        .collect();
    match contexts.is_empty() {
        true => describe(error),
        false => format!("{}, in {}", describe(error), contexts.join(", in ")),
    }
}

/// The remedy for a name without a schema, which only a search path resolves; the sessions of the agent have none.
pub(in crate::inspect::survey) const UNQUALIFIED_REMEDY: &str = "every session of a move has an empty search_path: name what is missing with its schema, or give the function that uses it a path of its own: alter function ... set search_path = ...";

/// The remedy for an identity of types whose operators are not in `pg_catalog`.
const IDENTITY_REMEDY: &str = "identify its rows by columns of built-in types: alter table ... replica identity using index ..., with the index of a unique constraint over such columns, the key's among them";
/// The remedy for an object whose definition, as the server prints it, lacks a schema.
const UNQUALIFIED_DEFINITION_REMEDY: &str = "every session of a move has an empty search_path, and the text of this object finds an operator or a function by one: \
     write not (a OPERATOR(schema.=) b) in the place of a IS DISTINCT FROM b, set search_path for the functions that it calls, or drop it on the source";
/// The remedy for event triggers, which apply to the whole database.
const EVENT_TRIGGER_REMEDY: &str = "alter event trigger ... disable for the time of the move, or let the agents' role pass in its function";
/// The remedy for a missing table: a function in SQL is parsed, and its tables are resolved, as soon as an expression
/// calls it.
const UNDEFINED_TABLE_REMEDY: &str = "every session of a move has an empty search_path: name what is missing with its schema, or give the function that uses it a path of its own: \
     alter function ... set search_path = ...; where it has its schema already, the table comes before the one that its expression reads: write the function in plpgsql, or drop the expression";
/// The remedy for objects whose names already exist on the target.
const DUPLICATE_REMEDY: &str = "drop it on the target, or choose an empty database; or create all tables there yourself and set `schema: existing` in the request";

/// The remedy for a CHECK constraint that a row satisfies only together with rows of other tables.
const CHECK_REMEDY: &str = "tables are copied in no order, and this check reads another one: make it NOT VALID on the source, which still checks what is written: \
     drop the constraint, and add it again as `check (...) not valid`; what is copied does not meet it then";

/// The remedy for bytes that are not UTF-8, in a database with the encoding SQL_ASCII.
const ENCODING_REMEDY: &str = "rows travel as UTF-8: make it that in every row, from LATIN1 for example by \
     update ... set c = convert_from(convert(convert_to(c, 'SQL_ASCII'), 'LATIN1', 'UTF8'), 'SQL_ASCII'); or keep such bytes in a column of type bytea";

fn remedy(state: &SqlState) -> &'static str {
    let duplicates = [
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_FUNCTION,
    ];
    match state {
        state if UNRESOLVED_NAMES.contains(state) => UNQUALIFIED_REMEDY,
        state if duplicates.contains(state) => DUPLICATE_REMEDY,
        state if *state == SqlState::INSUFFICIENT_PRIVILEGE => {
            "grant the missing privilege to the agent's role"
        }
        state if *state == SqlState::CHECK_VIOLATION => CHECK_REMEDY,
        state if *state == SqlState::CHARACTER_NOT_IN_REPERTOIRE => ENCODING_REMEDY,
        _ => "change the source so that the target accepts it, or make the target like the source",
    }
}

fn entry_remedy(state: &SqlState) -> &'static str {
    if *state == SqlState::UNDEFINED_FUNCTION {
        return UNQUALIFIED_DEFINITION_REMEDY;
    }
    if *state == SqlState::UNDEFINED_TABLE {
        return UNDEFINED_TABLE_REMEDY;
    }
    remedy(state)
}
