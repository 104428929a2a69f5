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

/// Steps and their dependencies. Every value of this type has passed the checks of [`StepGraph::new`], also if it was
/// deserialized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "UncheckedStepGraph")]
pub struct StepGraph {
    /// The nodes. Each node comes after those on which it depends.
    nodes: Vec<StepNode>,
}

/// The serialized form of a [`StepGraph`], before it is checked.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "StepGraph")]
struct UncheckedStepGraph {
    nodes: Vec<StepNode>,
}

/// Why a list of steps is not a valid step graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two steps have the same name.
    #[error("two steps have the name {step}")]
    DuplicateStep {
        /// The name.
        step: StepId,
    },
    /// A step depends on a step that is not in the list.
    #[error("step {step} depends on step {dependency}, which does not exist")]
    UnknownDependency {
        /// The step.
        step: StepId,
        /// The name that no step has.
        dependency: StepId,
    },
    /// A step depends on itself or on a later step.
    #[error(
        "step {step} depends on step {dependency}, which does not come before it: the steps form a cycle, or their order is wrong"
    )]
    Cycle {
        /// The step.
        step: StepId,
        /// The dependency.
        dependency: StepId,
    },
}

impl StepGraph {
    /// Checks that no two steps have the same name, and that each step comes after those on which it depends. Such a
    /// list has no cycle.
    ///
    /// # Errors
    /// [`GraphError`] names the step.
    pub fn new(nodes: Vec<StepNode>) -> Result<Self, GraphError> {
        let mut all_ids = BTreeSet::new();
        for node in &nodes {
            if !all_ids.insert(&node.id) {
                return Err(GraphError::DuplicateStep {
                    step: node.id.clone(),
                });
            }
        }
        let mut earlier_ids = BTreeSet::new();
        for node in &nodes {
            for dependency in &node.after {
                let (step, dependency) = (node.id.clone(), dependency.clone());
                if !all_ids.contains(&dependency) {
                    return Err(GraphError::UnknownDependency { step, dependency });
                }
                if !earlier_ids.contains(&dependency) {
                    return Err(GraphError::Cycle { step, dependency });
                }
            }
            earlier_ids.insert(&node.id);
        }
        Ok(Self { nodes })
    }

    /// Returns all nodes, each after those on which it depends.
    #[must_use]
    pub fn nodes(&self) -> &[StepNode] {
        &self.nodes
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

impl TryFrom<UncheckedStepGraph> for StepGraph {
    type Error = GraphError;

    fn try_from(unchecked: UncheckedStepGraph) -> Result<Self, GraphError> {
        Self::new(unchecked.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::{StepGraph, StepNode};
    use crate::id::StepId;
    use crate::step::StepKind;
    use serde_json::json;

    fn node(id: &str, after: &[&str]) -> StepNode {
        StepNode {
            id: StepId::from(id),
            kind: StepKind::Copy,
            after: after.iter().copied().map(StepId::from).collect(),
        }
    }

    /// Deserializes a graph of these nodes and returns the error.
    fn error_of(nodes: &[StepNode]) -> String {
        let graph = serde_json::from_value::<StepGraph>(json!({ "nodes": nodes }));
        graph.unwrap_err().to_string()
    }

    #[test]
    fn a_valid_graph_is_deserialized_as_it_was_serialized() {
        let nodes = vec![node("a", &[]), node("b", &["a"]), node("c", &["a", "b"])];
        let graph = StepGraph::new(nodes.clone()).unwrap();
        let value = serde_json::to_value(&graph).unwrap();
        assert_eq!(value, json!({ "nodes": nodes }));
        assert_eq!(serde_json::from_value::<StepGraph>(value).unwrap(), graph);
    }

    #[test]
    fn a_graph_with_an_unknown_dependency_is_not_deserialized() {
        assert_eq!(
            error_of(&[node("a", &[]), node("b", &["c"])]),
            "step b depends on step c, which does not exist"
        );
    }

    #[test]
    fn a_graph_with_two_steps_of_one_name_is_not_deserialized() {
        assert_eq!(
            error_of(&[node("a", &[]), node("a", &["a"])]),
            "two steps have the name a"
        );
    }

    #[test]
    fn a_graph_with_a_cycle_is_not_deserialized() {
        let message =
            "which does not come before it: the steps form a cycle, or their order is wrong";
        assert_eq!(
            error_of(&[node("a", &["b"]), node("b", &["a"])]),
            format!("step a depends on step b, {message}")
        );
        assert_eq!(
            error_of(&[node("a", &["a"])]),
            format!("step a depends on step a, {message}")
        );
    }
}
