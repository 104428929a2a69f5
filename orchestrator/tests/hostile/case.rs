//! A case: a schema, how an operator would shard it, and what comes of it.

use plans::table::TableName;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// A file of `cases/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What is hostile about it.
    pub(crate) hostile: String,
    /// `online` or `offline`.
    pub(crate) mode: String,
    /// The types of the key's columns.
    pub(crate) key: Vec<String>,
    /// Keys from here on move.
    pub(crate) at: Value,
    /// On a live target: keys from here on are the target's before the move.
    #[serde(default)]
    pub(crate) owned: Option<Value>,
    /// The settings of the map.
    pub(crate) settings: Value,
    /// `init` proposes what the settings are after all remedies.
    #[serde(default)]
    pub(crate) proposed: bool,
    /// Options of the request beside the mode.
    #[serde(default)]
    pub(crate) options: Value,
    /// What the databases are created with.
    #[serde(default)]
    pub(crate) database: String,
    /// The role of the agents; it has a password of the tests' own.
    #[serde(default)]
    pub(crate) role: Option<String>,
    /// Statements that are run on the server before the schema is made, by a superuser.
    #[serde(default)]
    pub(crate) server: String,
    /// The schema with its rows.
    pub(crate) schema: String,
    /// Statements on the target before the move.
    #[serde(default)]
    pub(crate) target: String,
    /// Writes on the source while its changes are captured.
    #[serde(default)]
    pub(crate) writes: String,
    /// Writes on the target behind the flip, which the source gets back.
    #[serde(default)]
    pub(crate) back: String,
    /// What the plan refuses; nothing: it is completed.
    #[serde(default)]
    pub(crate) refused: Vec<Refused>,
    /// A question to the target in the end, which a boolean answers.
    #[serde(default)]
    pub(crate) proof: Option<String>,
}

/// One finding that refuses, and what is done about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    pub(crate) code: String,
    /// Without the shard.
    pub(crate) object: String,
    /// It is found once what stands before it is repaired.
    #[serde(default)]
    pub(crate) later: bool,
    /// Words of the problem.
    #[serde(default)]
    pub(crate) problem: String,
    /// Words of the remedy; none: it is the statement that is run.
    #[serde(default)]
    pub(crate) says: Option<String>,
    /// Words that the remedy must not contain: they would not remove the finding.
    #[serde(default)]
    pub(crate) never: Option<String>,
    /// Statements that carry out the remedy on the source.
    #[serde(default)]
    pub(crate) run: String,
    /// Statements that carry it out on the target.
    #[serde(default)]
    pub(crate) run_on_target: String,
    /// Settings of the map that carry it out, in the place of those before.
    #[serde(default)]
    pub(crate) settings: Option<Value>,
}

impl Refused {
    /// What the remedy must contain.
    pub(crate) fn words(&self) -> &str {
        let run = [&self.run, &self.run_on_target];
        let run = run.into_iter().find(|text| !text.is_empty());
        let run = run.map_or("", |text| text.trim());
        self.says.as_deref().unwrap_or(run)
    }
}

impl Case {
    /// What comes of it, in words, where it is moved to the end and where it is planned alone.
    pub(crate) fn outcome(&self, moves: bool) -> &'static str {
        match (self.refused.is_empty(), moves) {
            (true, true) => "completed",
            (true, false) => "planned",
            (false, true) => "refused, and completed after its remedy",
            (false, false) => "refused, and planned after its remedy",
        }
    }

    /// The map's settings after all remedies.
    pub(crate) fn last_settings(&self) -> &Value {
        let mut refused = self.refused.iter().rev();
        let changed = refused.find_map(|refused| refused.settings.as_ref());
        changed.unwrap_or(&self.settings)
    }

    /// Tables that hold the key, with its columns.
    pub(crate) fn keyed(&self) -> Vec<(TableName, Vec<String>)> {
        let tables = self.last_settings()["tables"].as_object();
        let keyed = tables.into_iter().flatten().map(|(name, columns)| {
            let one = columns.as_str().map(|column| vec![column.to_owned()]);
            let columns = one.unwrap_or_else(|| serde_json::from_value(columns.clone()).unwrap());
            (TableName::parse(name), columns)
        });
        keyed.collect()
    }

    pub(crate) fn through(&self) -> Vec<TableName> {
        let tables = self.last_settings()["through"].as_object();
        let names = tables.into_iter().flatten();
        names.map(|(name, _)| TableName::parse(name)).collect()
    }

    pub(crate) fn reference(&self) -> Vec<TableName> {
        let tables = self.last_settings()["reference"].as_array();
        let names = tables.into_iter().flatten();
        names
            .map(|name| TableName::parse(name.as_str().unwrap()))
            .collect()
    }
}

/// All cases by name.
pub(crate) fn all() -> Vec<(String, Case)> {
    crate::cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/cases"))
}
