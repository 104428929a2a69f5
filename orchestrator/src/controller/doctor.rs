//! The doctor: finds what would prevent a move. It examines the whole fleet, a shard, a map, or the shards and moves of
//! a request.
//!
//! Agents first examine each shard alone, several shards concurrently. For a request they also survey each of its
//! moves, as for a plan. Shards that could not be inspected are listed together with the findings of the others. The
//! rows of `plans::doctor` define the severity of each finding.

use super::dispatch::shard_ref;
use super::planning::{AT_ONCE, survey_scopes};
use super::{ControlError, Controller};
use crate::store::ShardRecord;
use futures::stream::StreamExt;
use plans::doctor::Finding;
use plans::doctor::{DoctorTask, Examined, MapTables, count, sort};
use plans::failure::{Failure, RetryClass, Severity, StepCode};
use plans::id::{MapName, ShardName};
use plans::inspection::{Inspected, Inspection};
use plans::planner::MoveOutline;
use plans::request::{Mode, Request, Seed};
use plans::shard_map::{MapSettings, ShardMap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What to examine. Without any field: every shard with every map.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorRequest {
    /// Examine this shard only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardName>,
    /// Examine the shards of this map, with the tables of this map only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapName>,
    /// Examine the shards and the moves of this request, in YAML or JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The number of findings for which a move is refused.
    pub refused: usize,
    /// The number of warnings: findings that may cause problems.
    pub warnings: usize,
    /// The number of notes: findings that need no action.
    pub notes: usize,
    /// The examined shards, ordered by name.
    pub shards: Vec<Examined>,
    /// The moves of the request, with the findings that concern both shards of a move together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<MoveExamined>,
    /// The shards that could not be inspected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<UnexaminedShard>,
    /// Shards that were not examined, because they are standbys that own no keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standbys: Vec<ShardName>,
}

/// The findings that concern both shards of a move together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveExamined {
    /// The shard that owns the keys now.
    pub source: ShardName,
    /// The shard that receives the keys.
    pub target: ShardName,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
}

/// Shards that could not be inspected, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnexaminedShard {
    /// One shard, or the source and the target of a move.
    pub shards: Vec<ShardName>,
    /// The message of the agent.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnosis {
    fn new(shards: Vec<Examined>, moves: Vec<MoveExamined>, failed: Vec<UnexaminedShard>) -> Self {
        let all = |severity| {
            let shards: usize = shards.iter().map(|s| count(&s.findings, severity)).sum();
            let moves: usize = moves.iter().map(|m| count(&m.findings, severity)).sum();
            shards + moves
        };
        Self {
            refused: all(Severity::Refused),
            warnings: all(Severity::Warning),
            notes: all(Severity::Note),
            shards,
            moves,
            failed,
            standbys: Vec::new(),
        }
    }

    /// Returns all findings: those of the shards, then those of the moves.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_shards = self.shards.iter().flat_map(|shard| &shard.findings);
        of_shards.chain(self.moves.iter().flat_map(|m| &m.findings))
    }
}

impl Controller {
    /// Lets agents examine what is requested, and returns all findings together.
    ///
    /// # Errors
    /// The shard or map does not exist, the request cannot be read, or no agent is connected.
    pub async fn doctor(&self, request: DoctorRequest) -> Result<Diagnosis, ControlError> {
        if let Some(text) = &request.request {
            if request.shard.is_some() || request.map.is_some() {
                let what =
                    "with a request, leave out shard and map: the request contains both".to_owned();
                return Err(ControlError::Invalid { what });
            }
            return self.doctor_request(&Request::parse(text)?).await;
        }
        let mut maps = Vec::new();
        for map in self.inner.store.maps().await? {
            if request
                .map
                .as_ref()
                .is_none_or(|wanted| wanted == &map.name)
            {
                maps.push(self.map(&map.name).await?);
            }
        }
        if let (Some(name), true) = (&request.map, maps.is_empty()) {
            return Err(ControlError::missing("map", name.as_str()));
        }
        let shards = self.inner.store.shards().await?;
        if let Some(name) = &request.shard
            && !shards.iter().any(|shard| &shard.name == name)
        {
            return Err(ControlError::missing("shard", name.as_str()));
        }
        let (mut tasks, mut standbys) = (Vec::new(), Vec::new());
        for shard in &shards {
            let named = request
                .shard
                .as_ref()
                .is_none_or(|wanted| wanted == &shard.name);
            let maps_of_shard = maps.iter().filter(|map| owns_keys(map, &shard.name));
            let tables_of_shard: Vec<MapTables> = maps_of_shard
                .map(|map| map_tables(map, &map.settings))
                .collect();
            let of_map =
                request.map.is_none() || request.shard.is_some() || !tables_of_shard.is_empty();
            if named && of_map && shard.is_standby() && tables_of_shard.is_empty() {
                standbys.push(shard.name.clone());
            } else if named && of_map {
                tasks.push(DoctorTask {
                    shard: shard_ref(&shards, &shard.name)?,
                    maps: tables_of_shard,
                    mode: Mode::Online,
                });
            }
        }
        let (examined, failed) = self.examine(tasks).await?;
        Ok(Diagnosis {
            standbys,
            ..Diagnosis::new(examined, Vec::new(), failed)
        })
    }

    /// Examines the shards of a request, with the tables that it names, and its moves.
    async fn doctor_request(&self, request: &Request) -> Result<Diagnosis, ControlError> {
        let outlined = self.outlined_moves(request).await?;
        let (map, moves) = (&outlined.map, &outlined.outline.moves);
        let seed = request.options().seed;
        // The survey of a move examines the standby that becomes its target.
        let examined_alone = moves.iter().flat_map(|m| {
            let target = (seed == Seed::Copy).then_some(&m.target);
            [Some(&m.source), target].into_iter().flatten()
        });
        let mut names: Vec<&ShardName> = examined_alone.collect();
        names.sort();
        names.dedup();
        let mut tasks = Vec::new();
        for name in names {
            let own = moves
                .iter()
                .filter(|m| &m.source == name || &m.target == name);
            let online = own.clone().any(|m| m.mode == Mode::Online);
            let maps = owns_keys(map, name).then(|| map_tables(map, &outlined.settings));
            tasks.push(DoctorTask {
                shard: shard_ref(&outlined.shards, name)?,
                maps: maps.into_iter().collect(),
                mode: if online { Mode::Online } else { Mode::Offline },
            });
        }
        let (mut examined, mut failed) = self.examine(tasks).await?;
        let reachable = moves.iter().filter(|m| {
            let has_failed = |name: &ShardName| failed.iter().any(|f| f.shards.contains(name));
            !has_failed(&m.source) && !has_failed(&m.target)
        });
        let reachable: Vec<&MoveOutline> = reachable.collect();
        let surveys = survey_scopes(reachable.iter().copied(), request.options()).into_iter();
        let surveys = surveys
            .map(|scope| self.survey(scope, outlined.settings.clone(), map, &outlined.shards));
        let surveys = futures::stream::iter(surveys.collect::<Vec<_>>());
        let surveys: Vec<_> = surveys.buffered(AT_ONCE).collect().await;
        let mut found = Vec::new();
        for (m, survey) in reachable.into_iter().zip(surveys) {
            match survey {
                Ok(survey) => found.push((m, survey.findings)),
                Err(error) => {
                    failed.push(unexamined(vec![m.source.clone(), m.target.clone()], error)?)
                }
            }
        }
        without_implied(&mut examined, &found);
        let found = found.into_iter();
        let found = found.map(|(m, findings)| joint_findings(m, findings, &examined));
        let found = found.collect();
        Ok(Diagnosis::new(examined, found, failed))
    }

    /// Returns what prevents moves of a map with these settings and key types on its shards.
    ///
    /// # Errors
    /// A shard could not be inspected.
    pub(super) async fn obstacles(
        &self,
        map: &ShardMap,
        shards: &[ShardRecord],
    ) -> Result<Vec<Finding>, ControlError> {
        let tasks = map.shards().into_iter().map(|shard| {
            Ok(DoctorTask {
                shard: shard_ref(shards, &shard)?,
                maps: vec![map_tables(map, &map.settings)],
                mode: Mode::Online,
            })
        });
        let tasks = tasks.collect::<Result<Vec<_>, ControlError>>()?;
        let (examined, failed) = self.examine(tasks).await?;
        if let Some(failed) = failed.into_iter().next() {
            return Err(ControlError::Inspection(Failure {
                code: StepCode::InspectionInterrupted.into(),
                message: failed.message,
                hint: failed.hint,
                retry: RetryClass::Exponential,
            }));
        }
        let findings = examined.into_iter().flat_map(|shard| shard.findings);
        Ok(findings
            .filter(|finding| finding.severity == Severity::Refused)
            .collect())
    }

    /// Lets agents examine the shards of the tasks.
    async fn examine(
        &self,
        tasks: Vec<DoctorTask>,
    ) -> Result<(Vec<Examined>, Vec<UnexaminedShard>), ControlError> {
        let examinations = tasks.into_iter().map(|task| async move {
            let name = task.shard.name.clone();
            let answer = self.inspect(Inspection::Doctor(task), Duration::ZERO).await;
            let result = match answer {
                Ok(Inspected::Doctor(examined)) => Ok(examined),
                Ok(_) => Err(ControlError::OtherAnswer),
                Err(error) => Err(error),
            };
            (name, result)
        });
        let examinations = futures::stream::iter(examinations.collect::<Vec<_>>());
        let (mut examined, mut failed) = (Vec::new(), Vec::new());
        for (name, result) in examinations.buffered(AT_ONCE).collect::<Vec<_>>().await {
            match result {
                Ok(result) => examined.push(result),
                Err(error) => failed.push(unexamined(vec![name], error)?),
            }
        }
        examined.sort_by(|a, b| a.shard.cmp(&b.shard));
        Ok((examined, failed))
    }
}

/// Returns whether the shard owns keys of the map.
fn owns_keys(map: &ShardMap, shard: &ShardName) -> bool {
    !map.owned_by(shard).is_empty()
}

/// Returns the tables of a map, as the agent needs them.
fn map_tables(map: &ShardMap, settings: &MapSettings) -> MapTables {
    MapTables {
        map: map.name.clone(),
        settings: settings.clone(),
        key: map.key.clone(),
        mapped: map.mapped_schemas(),
    }
}

/// Returns the findings of the survey of a move that the examinations of its shards do not contain.
fn joint_findings(m: &MoveOutline, found: Vec<Finding>, examined: &[Examined]) -> MoveExamined {
    let known = |finding: &Finding| {
        let mut known = examined.iter().flat_map(|e| &e.findings);
        known.any(|known| (&known.code, &known.object) == (&finding.code, &finding.object))
    };
    let mut findings: Vec<Finding> = found.into_iter().filter(|f| !known(f)).collect();
    sort(&mut findings);
    MoveExamined {
        source: m.source.clone(),
        target: m.target.clone(),
        findings,
    }
}

/// Removes findings of a shard that the survey of a move reports more precisely: whether rows reference rows of other
/// keys depends on the keys that the move takes.
fn without_implied(examined: &mut [Examined], moves: &[(&MoveOutline, Vec<Finding>)]) {
    const CROSSINGS: [&str; 2] = ["foreign_key.mixed", "foreign_key.loose"];
    for shard in examined {
        if moves.iter().any(|(m, _)| m.source == shard.shard) {
            let is_crossing = |finding: &Finding| CROSSINGS.contains(&&*finding.code);
            shard.findings.retain(|finding| !is_crossing(finding));
        }
    }
}

/// Returns the failure of an agent as a part of the result. Any other error ends the whole examination.
fn unexamined(
    shards: Vec<ShardName>,
    error: ControlError,
) -> Result<UnexaminedShard, ControlError> {
    let ControlError::Inspection(failure) = error else {
        return Err(error);
    };
    Ok(UnexaminedShard {
        shards,
        message: failure.message,
        hint: failure.hint,
    })
}
