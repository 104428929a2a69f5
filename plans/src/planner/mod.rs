//! Request × shard map × survey → plan; deterministic, and all refusals at once.

mod split;

use crate::failure::{Finding, Severity};
use crate::id::MapName;
use crate::id::ShardName;
use crate::key_set::KeySet;
use crate::plan::Plan;
use crate::request::Request;
use crate::shard_map::ShardMap;
use crate::survey::Survey;

/// Which keys go where: what a survey must look at before a plan can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Where the keys are.
    pub source: ShardName,
    /// Where they go.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
}

/// Why no plan is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The request is about another map.
    #[error("the request is about map {request}, not {map}")]
    OtherMap {
        /// Named in the request.
        request: MapName,
        /// At hand.
        map: MapName,
    },
    /// The request does not fit the map; all reasons at once.
    #[error("the request does not fit the shard map: {}", problems.join("; "))]
    Unfit {
        /// Each reason.
        problems: Vec<String>,
    },
    /// The survey found what must be mended first.
    #[error("{} thing(s) must be mended first: {}", findings.len(), first_lines(findings))]
    Refused {
        /// Each finding that refuses.
        findings: Vec<Finding>,
    },
    /// The planner itself made an impossible graph.
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
}

/// Works out which keys move, from the request and the map alone.
///
/// # Errors
/// [`PlanError::OtherMap`] or [`PlanError::Unfit`] with every reason.
pub fn outline(request: &Request, map: &ShardMap) -> Result<Outline, PlanError> {
    if request.map() != &map.name {
        return Err(PlanError::OtherMap {
            request: request.map().clone(),
            map: map.name.clone(),
        });
    }
    let Request::Split(split) = request;
    split::outline(split, map)
}

/// Makes the plan.
///
/// # Errors
/// As [`outline`], and [`PlanError::Refused`] with every finding that refuses.
pub fn plan(request: &Request, map: &ShardMap, survey: &Survey) -> Result<Plan, PlanError> {
    let outline = outline(request, map)?;
    let refused: Vec<Finding> = survey
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Refused)
        .cloned()
        .collect();
    if !refused.is_empty() {
        return Err(PlanError::Refused { findings: refused });
    }
    let Request::Split(split) = request;
    split::plan(split, map, outline, survey)
}

fn first_lines(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings
        .iter()
        .map(|f| format!("{}: {} ({})", f.object, f.problem, f.remedy))
        .collect();
    lines.join("; ")
}
