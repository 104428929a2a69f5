//! The report of an operation: its plan, each command with its actor, and the evidence that no row was lost.
//!
//! The same content is available as JSON, as Markdown, and as one HTML file. It contains no values of rows and no
//! secrets.

mod course;
mod eta;
mod html;
mod markdown;
mod objects;

pub(crate) use course::charts;
pub use eta::EtaError;
pub(crate) use markdown::Markdown;
pub use objects::{ObjectEvidence, ObjectOutcome};

use crate::controller::{ControlError, Controller};
use crate::store::{AuditRecord, Event, FigureReading};
use crate::view::{MigrationView, OperationView, StepView};
use chrono::{DateTime, Utc};
use plans::id::MigrationId;
use plans::plan::Plan;
use plans::step::StepKind;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the JSON format. Later releases only add fields.
pub const API_VERSION: &str = "shardwright/v1";
/// How many entries of a journal and of the audit trail are read.
const MAX_LINES: i64 = 10_000;

/// Everything that is stored about a migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MigrationEvidence {
    /// The migration, with its steps, their results and the hash of its plan.
    pub migration: MigrationView,
    /// How far the predicted ends of steps were from the actual ends.
    #[serde(rename = "foreseen")]
    pub eta: Vec<EtaError>,
    /// The objects that the migration created on the shards, and their outcome.
    pub cleanup: Vec<ObjectEvidence>,
    /// The readings of the progress over time.
    pub course: Vec<FigureReading>,
    /// The journal.
    pub events: Vec<Event>,
}

/// The report of an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// The version of the format, `shardwright/v1`.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// The kind of the document: `Report`.
    pub kind: String,
    /// When the report was created.
    pub made_at: DateTime<Utc>,
    /// The version of the controller that created the report.
    pub made_by: String,
    /// The operation.
    pub operation: OperationView,
    /// The plan as it was submitted.
    pub plan: Plan,
    /// The moves, in the order of the plan.
    pub moves: Vec<MigrationEvidence>,
    /// The commands for the operation and its migrations, including refused ones, oldest first.
    #[serde(rename = "orders")]
    pub commands: Vec<AuditRecord>,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    /// JSON, for programs.
    #[default]
    Json,
    /// Markdown, for a wiki or a ticket.
    Md,
    /// One HTML file with charts, for a browser.
    Html,
}

impl OperationReport {
    /// Creates the report of an operation. `id` is the id of the operation or of one of its migrations.
    ///
    /// # Errors
    /// The operation does not exist, or the store failed.
    pub async fn of(controller: &Controller, id: &MigrationId) -> Result<Self, ControlError> {
        let id = match controller.load(id).await {
            Ok(snapshot) => snapshot.migration.operation,
            Err(error) if crate::controller::is_missing(&error) => id.clone(),
            Err(error) => return Err(error),
        };
        let operation = controller.operation(&id).await?;
        let mut moves = Vec::with_capacity(operation.migrations.len());
        for migration in &operation.migrations {
            moves.push(MigrationEvidence::of(controller, &migration.id).await?);
        }
        let is_about_operation = |record: &AuditRecord| {
            let mut ids = operation.migrations.iter().map(|m| &m.id).chain([&id]);
            ids.any(|id| {
                record
                    .object
                    .split(['/', ' '])
                    .any(|part| part == id.as_str())
            })
        };
        let lines = controller.store().audit(MAX_LINES, None).await?;
        let commands = lines.into_iter().rev().map(|line| line.record);
        let commands = commands.filter(is_about_operation).collect();
        Ok(Self {
            api_version: API_VERSION.to_owned(),
            kind: "Report".to_owned(),
            made_at: Utc::now(),
            made_by: format!("shardwright {}", env!("CARGO_PKG_VERSION")),
            plan: operation.plan.clone(),
            operation: OperationView::from(&operation),
            moves,
            commands,
        })
    }

    /// Returns the report as text in `format`.
    ///
    /// # Errors
    /// The report cannot be converted to text. This would be a defect of the program.
    pub fn write(&self, format: ReportFormat) -> Result<String, askama::Error> {
        match format {
            ReportFormat::Json => serde_json::to_string_pretty(self)
                .map_err(|error| askama::Error::Custom(error.into())),
            ReportFormat::Md => markdown::write(self),
            ReportFormat::Html => html::write(self),
        }
    }
}

impl ReportFormat {
    /// Returns the media type of the format.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Md => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

impl MigrationEvidence {
    /// Reads everything that is stored about a migration.
    async fn of(controller: &Controller, id: &MigrationId) -> Result<Self, ControlError> {
        let snapshot = controller.load(id).await?;
        let figures = controller.figures(id);
        let events = controller.store().events(id, 0, MAX_LINES).await?;
        let migration = MigrationView::new(&snapshot, figures.as_ref(), Utc::now());
        let migration = migration.with_journal(&events);
        let course = controller.readings(id).await?;
        let records = controller.store().cleanup(id).await?;
        let objects = records.into_iter();
        Ok(Self {
            eta: eta::eta_errors(&migration.steps, &course),
            cleanup: objects
                .map(|record| ObjectEvidence::of(record, &migration))
                .collect(),
            events,
            course,
            migration,
        })
    }

    /// Returns the output of the step of this kind, if it is done.
    fn output<T: DeserializeOwned>(&self, kind: StepKind) -> Option<T> {
        let step = self.step(kind)?;
        serde_json::from_value(step.output.clone()?).ok()
    }

    fn step(&self, kind: StepKind) -> Option<&StepView> {
        self.migration.steps.iter().find(|step| step.kind == kind)
    }
}
