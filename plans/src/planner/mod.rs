//! The planner: from a request, a map, the fleet, loads and surveys to a plan. It is deterministic, and reports all
//! refusals at once.
//!
//! [`needs`] returns what must be measured. [`outline`] determines which keys move where. Then each move is surveyed,
//! and [`plan`] makes the plan.

mod balance;
mod balance_input;
mod check;
mod draft;
mod even;
mod explicit;
mod figures;
mod items;
mod outline;
mod propose;
mod revert;
mod seed;
mod whole_tables;

pub use propose::{HotKey, hot_keys};
pub use revert::{RevertError, revert};

use crate::doctor::Finding;
use crate::failure::Severity;
use crate::fleet::ShardInfo;
use crate::graph::{StepGraph, StepNode};
use crate::id::{MapName, ShardName, StepId};
use crate::inspection::Load;
use crate::key_set::KeySet;
use crate::plan::{
    API_VERSION, After, Estimate, Move, MoveTrial, MovingRowsEstimate, Plan, PlannedMove,
    TargetState,
};
use crate::request::{Ddl, Measure, Mode, Options, Request, Schema, Seed};
use crate::shard_map::{MapSettings, ShardMap};
use crate::step::{FORWARD, OFFLINE, SEEDED, StepKind};
use crate::survey::Survey;
use crate::table::{CopyBy, Format, MovingTable, copy_by, copy_format};
use draft::PlannerInput;

/// The loads that must be measured before an outline can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadNeeds {
    /// The shards on which they are measured.
    pub shards: Vec<ShardName>,
    /// The measure.
    pub by: Measure,
    /// How long the log is observed, in seconds; 0: not at all.
    pub watch_seconds: u32,
}

/// Which keys move where. It must be surveyed before a plan can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The moves in their order.
    pub moves: Vec<MoveOutline>,
    /// Notes for people.
    pub notes: Vec<String>,
}

/// One move of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveOutline {
    /// The id of the move in the plan.
    pub id: String,
    /// The source of the move.
    pub source: ShardName,
    /// The target of the move.
    pub target: ShardName,
    /// The moving keys.
    pub keys: KeySet,
    /// Whether the application continues to write to the moving keys.
    pub mode: Mode,
    /// The moves for which this one waits.
    pub after: Vec<After>,
    /// The reason for the move.
    pub why: String,
    /// True to drop the tables on the source once they have no rows.
    pub drop_tables: bool,
}

/// Why no plan was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The request is for another map.
    #[error("the request is about map {request}, not {map}")]
    OtherMap {
        /// The map of the request.
        request: MapName,
        /// The existing map.
        map: MapName,
    },
    /// The request does not fit the map. The error has all reasons.
    #[error("the request does not fit the shard map: {}", problems.join("; "))]
    Unfit {
        /// The reasons.
        problems: Vec<String>,
    },
    /// The survey found problems that must be fixed first.
    #[error("{} must be fixed first", things_text(findings))]
    Refused {
        /// Each finding that refuses the plan.
        findings: Vec<Finding>,
    },
    /// The planner has made an invalid graph, which is a bug.
    #[error(transparent)]
    Graph(#[from] crate::graph::GraphError),
}

/// Returns what must be measured before [`outline`]; `None`: nothing.
#[must_use]
pub fn needs(request: &Request, map: &ShardMap) -> Option<LoadNeeds> {
    let (shards, by, watch_seconds) = match request {
        Request::Split(split) => (vec![split.source.clone()], split.even.clone()?, 10),
        Request::Drain(drain) => {
            let targets = balance::targets(drain, map);
            if targets.len() < 2 {
                // There is only one target, so no loads need to be compared.
                return None;
            }
            let involved = |shard: &ShardName| shard == &drain.source || targets.contains(shard);
            let shards = map.shards().into_iter().filter(involved).collect();
            (shards, drain.by.clone(), 10)
        }
        Request::Rebalance(rebalance) => {
            (map.shards(), rebalance.by.clone(), rebalance.watch_seconds)
        }
        Request::Merge(_) | Request::Move(_) | Request::Isolate(_) => return None,
    };
    let watch_seconds = if by == Measure::Writes {
        watch_seconds
    } else {
        0
    };
    Some(LoadNeeds {
        shards,
        by,
        watch_seconds,
    })
}

/// Determines which keys move, from the request, the map, the fleet and the measured loads.
///
/// # Errors
/// [`PlanError::OtherMap`], or [`PlanError::Unfit`] with every reason.
pub fn outline(
    request: &Request,
    map: &ShardMap,
    fleet: &[ShardInfo],
    loads: &[Load],
) -> Result<Outline, PlanError> {
    if request.map() != &map.name {
        return Err(PlanError::OtherMap {
            request: request.map().clone(),
            map: map.name.clone(),
        });
    }
    let input = PlannerInput {
        map,
        fleet,
        loads,
        options: request.options(),
    };
    outline::outline(request, input)
}

/// Returns the map's settings. If the request lists tables, they replace those of the map.
#[must_use]
pub fn settings(request: &Request, map: &ShardMap) -> MapSettings {
    let mut settings = map.settings.clone();
    let (tables, ignore) = request.tables();
    if !tables.is_empty() {
        settings.tables = tables.clone();
    }
    settings.ignore.extend(ignore.iter().cloned());
    settings
}

/// Makes the plan. `surveys` has one survey for each move of the outline, in the same order.
///
/// # Errors
/// [`PlanError::Refused`] with every finding that refuses, [`PlanError::Unfit`] if a survey is missing.
pub fn plan(
    request: &Request,
    map: &ShardMap,
    outline: Outline,
    surveys: &[Survey],
) -> Result<Plan, PlanError> {
    if surveys.len() != outline.moves.len() {
        let (surveys, moves) = (surveys.len(), outline.moves.len());
        return Err(PlanError::Unfit {
            problems: vec![format!(
                "the outline has {moves} move(s), but there are {surveys} survey(s)"
            )],
        });
    }
    let mut findings: Vec<Finding> = Vec::new();
    for finding in surveys.iter().flat_map(|survey| &survey.findings) {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    findings.extend(missing_tables(request, &outline, surveys));
    seed::offer_standbys(request, &outline, &mut findings);
    let refused: Vec<Finding> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Refused)
        .cloned()
        .collect();
    if !refused.is_empty() {
        return Err(PlanError::Refused { findings: refused });
    }
    let options = request.options().clone();
    let surveyed = outline.moves.iter().zip(surveys);
    let trials = surveyed.filter_map(|(outlined, survey)| {
        let id = outlined.id.clone();
        survey.trial.map(|figures| MoveTrial { id, figures })
    });
    let trials = trials.collect();
    let moves: Vec<PlannedMove> = outline
        .moves
        .into_iter()
        .zip(surveys)
        .map(|(outlined, survey)| planned_move(outlined, survey, &options))
        .collect::<Result<_, _>>()?;
    let proposals = seed::proposals(&moves, surveys, &options);
    let sum = |figure: fn(&Estimate) -> i64| moves.iter().map(|m| figure(&m.estimate)).sum();
    let plan = Plan {
        api_version: API_VERSION.to_owned(),
        operation: request.operation().to_owned(),
        map: map.name.clone(),
        map_version: map.version,
        incarnation: map.incarnation.clone(),
        strategy: map.strategy,
        key: map.key.clone(),
        sequences: map.settings.sequences,
        ignore: settings(request, map).ignore,
        estimate: Estimate {
            rows: sum(|e| e.rows),
            bytes: sum(|e| e.bytes),
            write_stop_budget_ms: options.write_stop_budget_ms,
            duration: None,
            tables: Vec::new(),
        },
        options,
        moves,
        notes: [outline.notes, proposals].concat(),
        findings,
        trials,
        hash: String::new(),
    };
    Ok(plan.with_hash())
}

/// Returns findings for targets that lack the tables, if the request states that they exist.
fn missing_tables(request: &Request, outline: &Outline, surveys: &[Survey]) -> Vec<Finding> {
    if request.options().schema == Schema::Copy {
        return Vec::new();
    }
    let moves = outline.moves.iter().zip(surveys);
    let new = moves.filter(|(_, survey)| survey.target == TargetState::New);
    let finding = |(outlined, _): (&MoveOutline, &Survey)| {
        Finding::new(
            "target.absent",
            format!("shard {}", outlined.target),
            "the shard has none of the moving tables, and with `schema: existing` the agent creates no table",
            "run your schema migrations on the shard; or set `schema: copy`, so that the agent creates the tables",
        )
    };
    new.map(finding).collect()
}

/// Returns the move with its graph, its tables and its estimated figures.
fn planned_move(
    outlined: MoveOutline,
    survey: &Survey,
    options: &Options,
) -> Result<PlannedMove, PlanError> {
    let moving_part = |amount: i64, ppm: i64| {
        let part = i128::from(amount) * i128::from(ppm) / 1_000_000;
        i64::try_from(part).unwrap_or(i64::MAX)
    };
    let tables = survey.tables.iter().zip(&survey.moving_ppm);
    let tables = tables.map(|(table, ppm)| MovingRowsEstimate {
        table: table.table.clone(),
        rows: moving_part(table.rows, *ppm),
        bytes: moving_part(table.bytes, *ppm),
    });
    let tables: Vec<MovingRowsEstimate> = tables.collect();
    Ok(PlannedMove {
        id: outlined.id,
        after: outlined.after,
        why: outlined.why,
        mode: outlined.mode,
        target: survey.target,
        drop_tables: outlined.drop_tables,
        schema_fingerprint: survey.schema_fingerprint.clone(),
        estimate: Estimate {
            rows: tables.iter().map(|table| table.rows).sum(),
            bytes: tables.iter().map(|table| table.bytes).sum(),
            write_stop_budget_ms: options.write_stop_budget_ms,
            duration: None,
            tables,
        },
        moving: Move {
            source: outlined.source,
            target: outlined.target,
            keys: outlined.keys,
            tables: tables_with_copy_options(survey, outlined.mode, options),
        },
        graph: step_graph(outlined.mode, options.seed)?,
    })
}

/// Returns the moving tables, each with the way in which the copy divides it and the format of its rows.
fn tables_with_copy_options(survey: &Survey, mode: Mode, options: &Options) -> Vec<MovingTable> {
    let tables = survey.tables.iter().zip(&survey.moving_ppm);
    tables
        .map(|(table, ppm)| {
            let (copy_by, copy_why) = match (mode, options.seed) {
                (Mode::Online, Seed::Copy) => copy_by(table, *ppm, options.snapshot_age_s),
                (Mode::Online, Seed::Standby) => (
                    CopyBy::Blocks,
                    "its rows are not copied: the standby has them".to_owned(),
                ),
                (Mode::Offline, _) => (
                    CopyBy::Blocks,
                    "its moving rows do not change meanwhile".to_owned(),
                ),
            };
            let (format, format_why) = match options.ddl {
                Ddl::Follow => (
                    Format::Text,
                    "`ddl: follow`: a captured value may be older than a change of its column's type"
                        .to_owned(),
                ),
                Ddl::Halt | Ddl::Refuse => {
                    copy_format(table, survey.majors, options.copy_format)
                }
            };
            MovingTable {
                copy_by,
                copy_why,
                format,
                format_why,
                ..table.clone()
            }
        })
        .collect()
}

/// Returns the steps of one move. Each step comes after the one before it.
fn step_graph(mode: Mode, seed: Seed) -> Result<StepGraph, PlanError> {
    let kinds: &[StepKind] = match (mode, seed) {
        (Mode::Online, Seed::Copy) => &FORWARD,
        (Mode::Online, Seed::Standby) => &SEEDED,
        (Mode::Offline, _) => &OFFLINE,
    };
    let id = |kind: &StepKind| StepId::from(kind.name());
    let nodes = kinds
        .iter()
        .enumerate()
        .map(|(index, kind)| StepNode {
            id: id(kind),
            kind: *kind,
            after: index
                .checked_sub(1)
                .map(|previous| id(&kinds[previous]))
                .into_iter()
                .collect(),
        })
        .collect();
    Ok(StepGraph::new(nodes)?)
}

fn things_text(findings: &[Finding]) -> String {
    match findings.len() {
        1 => "1 thing".to_owned(),
        number => format!("{number} things"),
    }
}
