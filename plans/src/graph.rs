//! The step graph: its nodes and edges, and which steps are ready.

use crate::id::StepId;
use crate::step::StepKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One step of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepNode {
    /// The name of the step in this graph.
    pub id: StepId,
    /// The kind of work.
    pub kind: StepKind,
    /// The steps that must be done before this one.
    pub after: Vec<StepId>,
}

/// Steps and their dependencies. [`StepGraph::new`] refuses a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepGraph {
    /// The nodes. Each node comes after those on which it depends.
    pub nodes: Vec<StepNode>,
}

/// Why a list of steps is not a valid step graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A step depends on itself, on a later step, or on a step that does not exist.
    #[error("step {step} depends on {missing}, which does not come before it")]
    Order {
        /// The step.
        step: StepId,
        /// The dependency.
        missing: StepId,
    },
    /// Two steps have the same name.
    #[error("two steps are called {step}")]
    Duplicate {
        /// The name.
        step: StepId,
    },
}

impl StepGraph {
    /// Checks that each step comes after those on which it depends, so that there is no cycle.
    ///
    /// # Errors
    /// [`GraphError`] names the step.
    pub fn new(nodes: Vec<StepNode>) -> Result<Self, GraphError> {
        let mut visited = BTreeSet::new();
        for node in &nodes {
            if let Some(missing) = node.after.iter().find(|id| !visited.contains(*id)) {
                return Err(GraphError::Order {
                    step: node.id.clone(),
                    missing: missing.clone(),
                });
            }
            if !visited.insert(&node.id) {
                return Err(GraphError::Duplicate {
                    step: node.id.clone(),
                });
            }
        }
        Ok(Self { nodes })
    }

    /// Returns the steps that are not done and whose dependencies are all done, in the order of the graph.
    pub fn ready<'a>(&'a self, done: &'a BTreeSet<StepId>) -> impl Iterator<Item = &'a StepNode> {
        self.nodes.iter().filter(|node| {
            !done.contains(&node.id) && node.after.iter().all(|id| done.contains(id))
        })
    }

    /// Returns the node with this id.
    #[must_use]
    pub fn node(&self, id: &StepId) -> Option<&StepNode> {
        self.nodes.iter().find(|node| &node.id == id)
    }
}
