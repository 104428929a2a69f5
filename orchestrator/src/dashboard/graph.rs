//! Draws the steps of a migration as a row of nodes.

use super::marks::{self, StateMark};
use super::step_words::step_words;
use crate::view::StepView;
use askama::Template;
use plans::id::MigrationId;

/// The width of a node, and of the arrow between two nodes, in units of the SVG.
const NODE_WIDTH: usize = 100;
const ARROW_WIDTH: usize = 14;

/// The drawing.
#[derive(Template)]
#[template(path = "graph.html")]
pub(super) struct StepGraphView {
    migration: String,
    nodes: Vec<StepGraphNode>,
    width: usize,
}

struct StepGraphNode {
    x: usize,
    id: String,
    name: &'static str,
    mark: StateMark,
    attempts: String,
    summary: String,
    is_first: bool,
}

impl StepGraphView {
    /// Draws the steps of a migration in their order. Each node links to its step.
    pub(super) fn new(id: &MigrationId, steps: &[StepView]) -> Self {
        let node = |(index, step): (usize, &StepView)| StepGraphNode {
            x: index * (NODE_WIDTH + ARROW_WIDTH),
            id: step.id.to_string(),
            name: step_words(step.kind),
            mark: marks::of_step(step.state),
            attempts: if step.attempt > 1 {
                format!(" ×{}", step.attempt)
            } else {
                String::new()
            },
            summary: step.summary.clone(),
            is_first: index == 0,
        };
        let nodes: Vec<StepGraphNode> = steps.iter().enumerate().map(node).collect();
        Self {
            migration: id.to_string(),
            width: (nodes.len() * (NODE_WIDTH + ARROW_WIDTH))
                .saturating_sub(ARROW_WIDTH)
                .max(1),
            nodes,
        }
    }
}
