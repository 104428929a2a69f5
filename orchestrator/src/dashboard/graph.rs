//! The step graph as a row of nodes, drawn by the server.

use super::marks::{self, Mark};
use crate::view::StepView;
use askama::Template;

/// Width of a node and of the arrow behind it.
const NODE: usize = 100;
const ARROW: usize = 14;

/// The drawing.
#[derive(Template)]
#[template(path = "graph.html")]
pub(super) struct Graph {
    nodes: Vec<Node>,
    width: usize,
}

struct Node {
    x: usize,
    name: String,
    mark: Mark,
    attempts: String,
    summary: String,
    first: bool,
}

impl Graph {
    /// Draws `steps` in their order.
    pub(super) fn new(steps: &[StepView]) -> Self {
        let node = |(index, step): (usize, &StepView)| Node {
            x: index * (NODE + ARROW),
            name: step.id.to_string(),
            mark: marks::of_step(step.state),
            attempts: if step.attempt > 1 {
                format!(" ×{}", step.attempt)
            } else {
                String::new()
            },
            summary: step.summary.clone(),
            first: index == 0,
        };
        let nodes: Vec<Node> = steps.iter().enumerate().map(node).collect();
        Self {
            width: (nodes.len() * (NODE + ARROW)).saturating_sub(ARROW).max(1),
            nodes,
        }
    }
}
