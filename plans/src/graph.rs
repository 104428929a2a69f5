//! The step graph: nodes, edges, what is ready.

use crate::id::StepId;
use crate::step::StepKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One step of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepNode {
    /// Its name in this graph.
    pub id: StepId,
    /// What it does.
    pub kind: StepKind,
    /// Steps that must be done before.
    pub after: Vec<StepId>,
}

/// Steps and the order between them; [`StepGraph::new`] refuses a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepGraph {
    /// Nodes, each after the ones it depends on.
    pub nodes: Vec<StepNode>,
}

/// Why nodes do not make a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A step depends on itself, on a later one, or on one that is not there.
    #[error("step {step} depends on {missing}, which does not come before it")]
    Order {
        /// The step.
        step: StepId,
        /// What it names.
        missing: StepId,
    },
    /// Two steps share a name.
    #[error("two steps are called {step}")]
    Duplicate {
        /// The name.
        step: StepId,
    },
}

impl StepGraph {
    /// Checks that every dependency comes earlier, which rules out cycles.
    ///
    /// # Errors
    /// [`GraphError`], naming the step.
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

    /// Steps that are not done and whose dependencies all are, in graph order.
    pub fn ready<'a>(&'a self, done: &'a BTreeSet<StepId>) -> impl Iterator<Item = &'a StepNode> {
        self.nodes.iter().filter(|node| {
            !done.contains(&node.id) && node.after.iter().all(|id| done.contains(id))
        })
    }

    /// The node called `id`.
    #[must_use]
    pub fn node(&self, id: &StepId) -> Option<&StepNode> {
        self.nodes.iter().find(|node| &node.id == id)
    }
}
