//! Planning: agents measure the load if the request needs it, then they survey the shards of each move, and the planner
//! computes the plan.

use super::dispatch::shard_ref;
use super::{ControlError, Controller};
use crate::store::ShardRecord;
use futures::stream::{StreamExt, TryStreamExt};
use plans::fleet::ShardInfo;
use plans::id::{MapName, ShardName};
use plans::inspection::{Inspected, Inspection, Load, LoadTask};
use plans::key_set::KeySet;
use plans::plan::Plan;
use plans::planner::{self, MoveOutline, Outline, PlanError};
use plans::request::{Measure, Mode, Options, Request, Seed, TrialRun};
use plans::shard_map::{MapSettings, ShardMap};
use plans::survey::{Survey, SurveyTask, TRIAL_LIMIT};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The number of inspections for one request that run concurrently.
pub(super) const AT_ONCE: usize = 8;
/// The number of items into which a plan divides the keys of one shard.
const ITEMS: u32 = 1024;
/// The number of hot keys that a plan considers.
const HOTTEST: u32 = 10;

/// The scope of a survey.
#[derive(Debug, Clone, Copy)]
pub(super) struct SurveyScope<'a> {
    /// The shard that owns the keys.
    pub(super) source: &'a ShardName,
    /// The shard that receives the keys.
    pub(super) target: &'a ShardName,
    /// The keys.
    pub(super) keys: &'a KeySet,
    /// Whether the application continues to write during the move.
    pub(super) mode: Mode,
    /// How the target gets the rows that exist when the move begins.
    pub(super) seed: Seed,
    /// True if the plan exists already, and the survey checks whether it is still valid.
    pub(super) again: bool,
    /// Whether the agent also tries the move and rolls it back.
    pub(super) trial: bool,
}

/// The moves of a request, before their tables are surveyed.
#[derive(Debug)]
pub(super) struct OutlinedMoves {
    /// The current map.
    pub(super) map: Arc<ShardMap>,
    /// All registered shards.
    pub(super) shards: Vec<ShardRecord>,
    /// The settings of the map, with the additions of the request.
    pub(super) settings: MapSettings,
    /// The moves.
    pub(super) outline: Outline,
}

/// Returns the scope of a survey for each move. Of several moves between the same two shards only the first is tried,
/// because the others use the same schema.
pub(super) fn survey_scopes<'a>(
    moves: impl IntoIterator<Item = &'a MoveOutline>,
    options: &Options,
) -> Vec<SurveyScope<'a>> {
    let mut tried = BTreeSet::new();
    let moves = moves.into_iter();
    moves
        .map(|outlined| {
            let first = tried.insert((&outlined.source, &outlined.target));
            let trial = first && options.trial == TrialRun::Run && options.seed == Seed::Copy;
            SurveyScope {
                trial,
                ..SurveyScope::new(outlined, options.seed)
            }
        })
        .collect()
}

impl<'a> SurveyScope<'a> {
    fn new(outlined: &'a MoveOutline, seed: Seed) -> Self {
        Self {
            source: &outlined.source,
            target: &outlined.target,
            keys: &outlined.keys,
            mode: outlined.mode,
            seed,
            again: false,
            trial: false,
        }
    }
}

/// What to measure on a shard.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadQuery<'a> {
    /// The measure of the load.
    pub(super) by: &'a Measure,
    /// For how many seconds the log is read to count writes.
    pub(super) watch_seconds: u32,
    /// The number of items into which the keys of a range map are divided.
    pub(super) items: u32,
    /// The largest number of hot keys in the answer.
    pub(super) hottest: u32,
}

impl Controller {
    /// Makes a plan for a request. Agents inspect the shards.
    ///
    /// # Errors
    /// The request cannot be read or does not fit the map, a finding refuses the move, or no agent is connected.
    pub async fn plan(&self, text: &str) -> Result<Plan, ControlError> {
        let request = Request::parse(text)?;
        self.plan_with(&request, request.options().trial).await
    }

    pub(super) async fn plan_with(
        &self,
        request: &Request,
        trial: TrialRun,
    ) -> Result<Plan, ControlError> {
        let OutlinedMoves {
            map,
            shards,
            settings,
            outline,
        } = self.outlined_moves(request).await?;
        let options = Options {
            trial,
            ..request.options().clone()
        };
        let scopes = survey_scopes(&outline.moves, &options).into_iter();
        let surveys = scopes.map(|scope| self.survey(scope, settings.clone(), &map, &shards));
        let surveys = futures::stream::iter(surveys.collect::<Vec<_>>());
        let surveys: Vec<Survey> = surveys.buffered(AT_ONCE).try_collect().await?;
        let plan = planner::plan(request, &map, outline, &surveys)?;
        self.with_approvals(self.with_durations(plan).await?)
    }

    /// Returns what a request would move, without an inspection by agents; `None` if this depends on a measurement of
    /// the load.
    ///
    /// # Errors
    /// The request cannot be read, or does not fit the map.
    pub async fn sketch(&self, text: &str) -> Result<Option<Outline>, ControlError> {
        let request = Request::parse(text)?;
        let map = self.bare_map(request.map()).await?;
        if planner::needs(&request, &map).is_some() {
            return Ok(None);
        }
        let shards = self.inner.store.shards().await?;
        let fleet: Vec<ShardInfo> = shards.iter().map(ShardRecord::info).collect();
        let outline = planner::outline(&request, &map, &fleet, &[])?;
        self.refuse_moving(&map.name, &outline).await?;
        self.check_seeding(&request, &outline).await?;
        Ok(Some(outline))
    }

    /// Refuses keys that a migration is already moving. Other keys of the same mapping are accepted.
    async fn refuse_moving(&self, map: &MapName, outline: &Outline) -> Result<(), ControlError> {
        let unfinished = self.inner.store.unfinished().await?;
        let problems = outline.moves.iter().filter_map(|planned| {
            let mut others = unfinished.iter().map(|snapshot| &snapshot.migration);
            let other = others.find(|m| m.can_flip() && m.moves_any_of(map, &planned.keys))?;
            Some(format!(
                "{} of the keys {} of shard {} are moved by migration {}; wait until it ends or abort it",
                other.plan.moving.keys.intersection(&planned.keys),
                planned.keys,
                planned.source,
                other.id
            ))
        });
        let problems: Vec<String> = problems.collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(PlanError::Unfit { problems }.into()),
        }
    }

    /// Refuses moves whose targets are standbys, or are being promoted, if this is not possible.
    async fn check_seeding(
        &self,
        request: &Request,
        outline: &Outline,
    ) -> Result<(), ControlError> {
        let moves = outline.moves.iter().map(|m| (&m.source, &m.target));
        let moves: Vec<_> = moves.collect();
        self.refuse_unfit_seeding(request.map(), request.options().seed, &moves)
            .await
    }

    /// Returns the moves of a request. If the request needs it, agents first measure the load.
    pub(super) async fn outlined_moves(
        &self,
        request: &Request,
    ) -> Result<OutlinedMoves, ControlError> {
        let map = self.bare_map(request.map()).await?;
        let shards = self.inner.store.shards().await?;
        let fleet: Vec<ShardInfo> = shards.iter().map(ShardRecord::info).collect();
        let settings = planner::settings(request, &map);
        let loads = match planner::needs(request, &map) {
            None => Vec::new(),
            Some(needs) => {
                let query = LoadQuery {
                    by: &needs.by,
                    watch_seconds: needs.watch_seconds,
                    items: ITEMS,
                    hottest: HOTTEST,
                };
                let owners = needs.shards.iter();
                let owners: Vec<_> = owners
                    .filter(|shard| !map.owned_by(shard).is_empty())
                    .collect();
                let measured = owners
                    .into_iter()
                    .map(|shard| self.measure(shard, &map, &settings, query));
                let measured = futures::stream::iter(measured.collect::<Vec<_>>());
                measured.buffered(AT_ONCE).try_collect().await?
            }
        };
        let outline = planner::outline(request, &map, &fleet, &loads)?;
        self.refuse_moving(&map.name, &outline).await?;
        self.check_seeding(request, &outline).await?;
        Ok(OutlinedMoves {
            map,
            shards,
            settings,
            outline,
        })
    }

    /// Lets an agent survey two shards.
    pub(super) async fn survey(
        &self,
        scope: SurveyScope<'_>,
        settings: MapSettings,
        map: &ShardMap,
        shards: &[ShardRecord],
    ) -> Result<Survey, ControlError> {
        let task = SurveyTask {
            map: map.name.clone(),
            source: shard_ref(shards, scope.source)?,
            target: shard_ref(shards, scope.target)?,
            settings,
            keys: scope.keys.clone(),
            mapped: map.mapped_schemas(),
            key: map.key.clone(),
            mode: scope.mode,
            seed: scope.seed,
            again: scope.again,
            trial: scope.trial,
        };
        let work = match task.trial {
            true => TRIAL_LIMIT,
            false => Duration::ZERO,
        };
        let inspection = Inspection::Survey(task);
        let Inspected::Survey(survey) = self.inspect(inspection, work).await? else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(survey)
    }

    /// Lets an agent measure the load of a shard.
    pub(super) async fn measure(
        &self,
        shard: &ShardName,
        map: &ShardMap,
        settings: &MapSettings,
        query: LoadQuery<'_>,
    ) -> Result<Load, ControlError> {
        if settings.tables.is_empty() && settings.keyed_by.is_column() {
            return Err(ControlError::NoTables {
                map: map.name.clone(),
            });
        }
        let shards = self.inner.store.shards().await?;
        let task = LoadTask {
            map: map.name.clone(),
            shard: shard_ref(&shards, shard)?,
            strategy: map.strategy,
            buckets: map.buckets,
            key: map.key.clone(),
            tables: settings.tables.clone(),
            whole: (!settings.keyed_by.is_column()).then(|| settings.clone()),
            owned: map.owned_by(shard),
            by: query.by.clone(),
            watch_seconds: query.watch_seconds,
            items: query.items,
            hottest: query.hottest,
        };
        let work = Duration::from_secs(query.watch_seconds.into());
        let Inspected::Load(load) = self.inspect(Inspection::Load(task), work).await? else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(load)
    }
}
