//! What a new fleet lacks before its first migration, in order, each with its command.

use super::super::agents::START_COMMAND;
use crate::store::ShardRecord;
use askama::Template;

/// What is missing before the first migration, in order.
#[derive(Template)]
#[template(path = "overview/steps.html")]
pub(super) struct FirstSteps {
    steps: Vec<FirstStep>,
    may_plan: bool,
    /// True if the first migration exists.
    is_hidden: bool,
}

struct FirstStep {
    title: &'static str,
    text: &'static str,
    command: String,
    is_done: bool,
    /// True for the first step that is not done.
    is_next: bool,
    /// True if the step also has a page.
    has_form: bool,
}

impl FirstSteps {
    /// Returns the steps. `has_agent`, `shards` and `has_map` say what exists.
    pub(super) fn new(
        has_agent: bool,
        shards: &[ShardRecord],
        has_map: bool,
        may_plan: bool,
    ) -> Self {
        let first = shards.first().map(|shard| shard.name.to_string());
        let shard = first.unwrap_or_else(|| "shard-a".to_owned());
        let step = |title, text, command: &str, is_done| FirstStep {
            title,
            text,
            command: command.to_owned(),
            is_done,
            is_next: false,
            has_form: false,
        };
        let mut steps = vec![
            step(
                "Start an agent",
                "Agents do the work on the shards. Start one on a host that reaches them.",
                START_COMMAND,
                has_agent,
            ),
            step(
                "Register the shards",
                "A shard is one database. Its password is a reference that only agents resolve.",
                "shardwright shard add shard-a --dsn 'host=db1 dbname=app user=shardwright password=${env:SHARD_PASSWORD}'",
                !shards.is_empty(),
            ),
            step(
                "Create a map",
                "A map records which shard owns which keys. Import it from a table of the application, or write it.",
                &format!("shardwright map create tenants --range ..={shard}"),
                has_map,
            ),
            FirstStep {
                has_form: true,
                ..step(
                    "Plan a migration",
                    "Planning changes nothing. You see the moves, their sizes and everything that stands in the way.",
                    "shardwright plan request.yaml -o plan.json\nshardwright apply plan.json",
                    false,
                )
            },
        ];
        if let Some(next) = steps.iter_mut().find(|step| !step.is_done) {
            next.is_next = true;
        }
        Self {
            steps,
            may_plan,
            is_hidden: false,
        }
    }

    /// Returns the same steps, hidden if `is_hidden`.
    pub(super) fn hidden_if(self, is_hidden: bool) -> Self {
        Self { is_hidden, ..self }
    }
}
