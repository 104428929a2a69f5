//! Dispatch of work to agents: first an inspection, then steps of migrations that the agent owns or that have no live
//! owner. An agent that already performs an inspection gets a step first, because a check of a large fleet needs many
//! inspections, one after the other.
//!
//! A dispatch is committed before the answer is sent to the agent. An agent has one open claim at a time, and the claim
//! lists the work that the agent has. If the list lacks work that the controller has dispatched to the agent, the
//! answer with this work was lost, and the controller dispatches it again.

use super::binding::{is_lease_holder, shows_secret};
use super::decide::{Decision, decide, due, stream};
use super::draft::MigrationDraft;
use super::queue::drop_obstacle;
use super::{
    CallerTokenName, ControlError, Controller, ShardReach, clock, delta, fail_points, is_missing,
};
use crate::access::SecretDigest;
use crate::store::{AgentProcess, LeaseHolder, Migration, ShardRecord, Snapshot};
use plans::fleet::ShardRef;
use plans::id::{ShardName, StepId};
use plans::key_set::KeySet;
use plans::request::{Ddl, Seed};
use plans::shard_map::ShardMap;
use plans::state::cutover::Ownership;
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::step::open_capture::CaptureOpened;
use plans::wire::{
    Claim, Dispatch, FIRST_PROTOCOL_WITH_CASCADES, FIRST_PROTOCOL_WITH_DEPENDENTS,
    FIRST_PROTOCOL_WITH_EXCEPTIONS, FIRST_PROTOCOL_WITH_FOLLOWING, FIRST_PROTOCOL_WITH_SECRETS,
    FIRST_PROTOCOL_WITH_SEEDING, FIRST_PROTOCOL_WITH_WHOLE_TABLES, ProtocolRange, WireSecret, Work,
};
use serde_json::json;
use std::collections::BTreeSet;
use tokio::time::Instant;

impl Controller {
    /// Waits for work on the shards of `reach` for this agent, and returns it. Returns `None` if there is none within
    /// [`super::ControllerSettings::claim_wait`].
    ///
    /// # Errors
    /// [`ControlError::Protocol`], [`ControlError::NameInUse`], or an error of the store.
    pub(crate) async fn claim(
        &self,
        claim: &Claim,
        reach: &ShardReach,
        token: &CallerTokenName,
    ) -> Result<Option<Work>, ControlError> {
        let (theirs, ours) = (claim.protocols(), ProtocolRange::SUPPORTED);
        if ours.common(theirs).is_none() {
            return Err(ControlError::Protocol { theirs, ours });
        }
        self.register(&process_of(claim)).await?;
        self.withdraw_unreceived(claim, token).await?;
        if let Some(received) = &claim.inspecting {
            self.inner
                .inspections
                .requeue_unreceived(&claim.instance, received);
        }
        let deadline = Instant::now() + self.inner.settings.claim_wait;
        let mut changes = self.inner.changes.subscribe();
        loop {
            changes.borrow_and_update();
            if !self.has_name(&claim.agent, &claim.instance) {
                // Another process uses the name of the agent now.
                return Ok(None);
            }
            let inspection = || {
                let task = self.inner.inspections.claim(reach, token, claim);
                task.map(|task| Work::Inspect(Box::new(task)))
            };
            let inspects = claim.inspecting.as_ref().is_some_and(|ids| !ids.is_empty());
            if !inspects && let Some(work) = inspection() {
                return Ok(Some(work));
            }
            let mut wait = deadline.saturating_duration_since(Instant::now());
            let board = self.board().await?;
            let mut next = board.until();
            for snapshot in board.open_to(&claim.instance) {
                if !is_in_reach(reach, snapshot) || drop_obstacle(snapshot, board.all()).is_some() {
                    continue;
                }
                if let Some(dispatch) = self.offer(snapshot, claim, token).await? {
                    return Ok(Some(Work::Step(Box::new(dispatch))));
                }
                next = next.into_iter().chain(due(snapshot, clock())).min();
            }
            if let Some(work) = inspection() {
                return Ok(Some(work));
            }
            let until = next.and_then(|at| (at - clock()).to_std().ok());
            wait = wait.min(until.unwrap_or(wait));
            if Instant::now() >= deadline {
                return Ok(None);
            }
            // The wait ends with a change, at the next due time, or at the deadline.
            let _ = tokio::time::timeout(wait, changes.changed()).await;
        }
    }

    /// Withdraws work that was dispatched to this process in an answer that it never received.
    async fn withdraw_unreceived(
        &self,
        claim: &Claim,
        token: &CallerTokenName,
    ) -> Result<(), ControlError> {
        for snapshot in self.board().await?.of_owner(&claim.instance) {
            if !is_unreceived(snapshot, claim, token) {
                continue;
            }
            let why = "the answer to the agent's claim was lost";
            let edit = |draft: &mut MigrationDraft| {
                if !is_unreceived(draft.snapshot(), claim, token) {
                    return Ok(());
                }
                // The process stays the owner if possible, so that it keeps the snapshots that it holds for the copy.
                let running = draft.snapshot().running().map(|step| step.id.clone());
                if let Some(id) = running {
                    draft.apply_to_step(&id, StepEvent::Interrupted, json!({ "why": why }))?;
                } else {
                    draft.remove_owner(why)?;
                }
                Ok(())
            };
            self.change(&snapshot.migration.id, "controller", edit)
                .await?;
        }
        Ok(())
    }

    /// Dispatches the due step of the migration, or the migration without a step, to the agent, if the agent may claim
    /// it.
    async fn offer(
        &self,
        snapshot: &Snapshot,
        claim: &Claim,
        token: &CallerTokenName,
    ) -> Result<Option<Dispatch>, ControlError> {
        let is_held = || self.dispatch_obstacle(&snapshot.migration).is_some();
        if offer_for(snapshot, claim, token).is_none()
            || is_held()
            || self.is_sealed(&snapshot.migration.id)
        {
            return Ok(None);
        }
        let id = &snapshot.migration.id;
        let until = clock() + delta(self.inner.settings.lease);
        let changed = self.change(id, claim.agent.as_str(), |draft| {
            let Some(step) = offer_for(draft.snapshot(), claim, token) else {
                return Ok(None);
            };
            draft.set_token(token);
            let secret = assign(draft, claim, token, step.as_ref())?;
            draft.set_lease_end(until);
            Ok(Some((step, secret)))
        });
        let (claimed, after) = match changed.await {
            Ok(done) => done,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((step, secret)) = claimed else {
            return Ok(None);
        };
        let dispatch = self.dispatch(&after, step, secret).await?;
        self.audit_claim(claim, token, &dispatch).await;
        if let Some((_, kind)) = &dispatch.step {
            fail_point::hit(fail_points::claimed(*kind)).await?;
        }
        tracing::info!(migration = %id, step = ?dispatch.step, epoch = %dispatch.epoch, agent = %claim.agent, "dispatched");
        Ok(Some(dispatch))
    }

    /// Records the claim in the audit trail, in addition to the journal.
    async fn audit_claim(&self, claim: &Claim, token: &CallerTokenName, dispatch: &Dispatch) {
        let object = format!("migration {}", dispatch.migration);
        let step = dispatch.step.as_ref().map(|(id, _)| id);
        let data = json!({
            "agent": claim.agent,
            "host": claim.host,
            "step": step,
            "epoch": dispatch.epoch,
        });
        let audited = self.audit(token.name(), "agent.claimed", object, data);
        if let Err(error) = audited.await {
            tracing::warn!(%error, migration = %dispatch.migration, "the claim could not be recorded in the audit trail");
        }
    }

    /// Returns the message with everything that the agent needs for the step, or for the migration without a step.
    async fn dispatch(
        &self,
        snapshot: &Snapshot,
        step: Option<StepId>,
        secret: Option<WireSecret>,
    ) -> Result<Dispatch, ControlError> {
        let m = &snapshot.migration;
        let due_step = snapshot
            .steps
            .iter()
            .find(|row| Some(&row.id) == step.as_ref());
        let done = snapshot
            .steps
            .iter()
            .filter(|row| row.state == StepState::Done);
        let outputs = done.filter_map(|row| Some((row.id.clone(), row.output.clone()?)));
        let map = self.inner.store.map(&m.plan.map).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", m.plan.map.as_str()))?;
        Ok(Dispatch {
            migration: m.id.clone(),
            operation: Some(m.operation.clone()),
            epoch: m.epoch,
            secret,
            step: due_step.map(|row| (row.id.clone(), row.kind)),
            attempt: due_step.map_or(0, |row| row.attempt),
            stream: stream(snapshot),
            map: m.plan.map.clone(),
            incarnation: self.inner.store.incarnation().to_owned(),
            // After a rollback, the shards have recorded the map version of the rollback.
            map_version: match m.ownership {
                Ownership::RolledBack => m.map_version_back.unwrap_or(m.map_version_before),
                Ownership::Ready
                | Ownership::Fencing
                | Ownership::Aborted
                | Ownership::Flipped
                | Ownership::RollbackFencing
                | Ownership::Completed => m.map_version_before,
            },
            source: self.shard(&m.plan.moving.source).await?.reference(),
            target: self.target_of(snapshot).await?,
            keys: m.plan.moving.keys.clone(),
            surplus_keys: self.surplus_keys(m).await?,
            key: m.plan.key.clone(),
            tables: m.plan.moving.tables.clone(),
            schema_fingerprint: m.plan.schema_fingerprint.clone(),
            mode: m.plan.mode,
            sequences: m.plan.sequences,
            drop_tables: m.plan.drop_tables,
            source_keeps_keys: self.source_keeps_keys(m, &map).await?,
            reference_tables: map.settings.reference_tables(),
            ignored_tables: map.settings.ignored_tables(),
            options: m.plan.options.clone(),
            limits: Some(snapshot.limits()),
            outputs: outputs.collect(),
            verify: self.comparison_for(m, due_step.map(|row| row.kind)).await?,
        })
    }

    /// Returns whether the source has rows of this map that do not belong to this migration: rows of other keys that it
    /// owns, and rows of other migrations, which still move to the source or may return to it.
    async fn source_keeps_keys(
        &self,
        own: &Migration,
        map: &ShardMap,
    ) -> Result<bool, ControlError> {
        let (name, moving) = (&own.plan.map, &own.plan.moving);
        let unfinished = self.inner.store.unfinished().await?;
        let mut others = unfinished.iter().map(|other| &other.migration);
        if others.any(|other| {
            let theirs = &other.plan.moving;
            let shares_shard = theirs.source == moving.source || theirs.target == moving.source;
            other.id != own.id && &other.plan.map == name && other.holds_keys() && shares_shard
        }) {
            return Ok(true);
        }
        Ok(!map.owned_by(&moving.source).minus(&moving.keys).is_empty())
    }
}

/// Returns what an agent needs to know about a registered shard.
pub(super) fn shard_ref(
    shards: &[ShardRecord],
    name: &ShardName,
) -> Result<ShardRef, ControlError> {
    let found = shards.iter().find(|shard| &shard.name == name);
    let found = found.ok_or_else(|| ControlError::missing("shard", name.as_str()))?;
    Ok(found.reference())
}

/// Returns what this agent may claim: a step, or `Some(None)` for the migration without a step. Returns `None` if it
/// may claim nothing, for example while another process has the lease.
fn offer_for(
    snapshot: &Snapshot,
    claim: &Claim,
    token: &CallerTokenName,
) -> Option<Option<StepId>> {
    let now = clock();
    if claim.protocols().newest < needed_protocol(snapshot) {
        return None;
    }
    let owner = snapshot.live_owner(now);
    if owner.is_some_and(|owner| !is_lease_holder(owner, claim, token)) {
        return None;
    }
    decide(snapshot, None, now)
        .into_iter()
        .find_map(|decision| {
            if let Decision::Offer(step) = decision {
                Some(step)
            } else {
                None
            }
        })
}

/// Returns the protocol version that an agent needs for the migration: agents of older versions do not know what the plan
/// requests, or that the guard suppresses changes of cascades.
fn needed_protocol(snapshot: &Snapshot) -> u32 {
    let plan = &snapshot.migration.plan;
    let moving = &plan.moving;
    let has_whole_tables = moving
        .tables
        .iter()
        .any(|table| table.whole_key().is_some());
    let has_exceptions = matches!(&moving.keys, KeySet::Hash(keys) if !keys.except.is_empty());
    let needs = [
        (FIRST_PROTOCOL_WITH_CASCADES, may_skip_rows(snapshot)),
        (
            FIRST_PROTOCOL_WITH_SEEDING,
            plan.options.seed == Seed::Standby,
        ),
        (
            FIRST_PROTOCOL_WITH_FOLLOWING,
            plan.options.ddl == Ddl::Follow,
        ),
        (FIRST_PROTOCOL_WITH_EXCEPTIONS, has_exceptions),
        (FIRST_PROTOCOL_WITH_WHOLE_TABLES, has_whole_tables),
        (
            FIRST_PROTOCOL_WITH_DEPENDENTS,
            plan.mode == plans::request::Mode::Online
                && moving.tables.iter().any(|t| t.through().is_some()),
        ),
    ];
    let needed = needs.into_iter().filter(|(_, is_needed)| *is_needed);
    needed.map(|(first, _)| first).max().unwrap_or_default()
}

/// Returns whether the guard may suppress changes that cascades make to the rows of the migration.
fn may_skip_rows(snapshot: &Snapshot) -> bool {
    let output = |kind| snapshot.step_of(kind)?.output.clone();
    let created = output(StepKind::CreateTarget)
        .and_then(|output| serde_json::from_value::<TargetCreated>(output).ok());
    let opened = output(StepKind::OpenCapture)
        .and_then(|output| serde_json::from_value::<CaptureOpened>(output).ok());
    created.is_some_and(|created| created.cascades) || opened.is_some_and(|opened| opened.cascades)
}

/// Returns whether both shards of the migration are in reach.
fn is_in_reach(reach: &ShardReach, snapshot: &Snapshot) -> bool {
    let moving = &snapshot.migration.plan.moving;
    let contains = |shards: &BTreeSet<ShardName>| {
        shards.contains(&moving.source) && shards.contains(&moving.target)
    };
    reach.as_ref().is_none_or(contains)
}

/// Returns true if this process has the lease of the migration, but its claim does not list the migration, its secret
/// or the running step: the process did not receive the answer with them.
fn is_unreceived(snapshot: &Snapshot, claim: &Claim, token: &CallerTokenName) -> bool {
    let m = &snapshot.migration;
    let owner = m.owner.as_ref();
    let Some(owner) = owner.filter(|owner| is_lease_holder(owner, claim, token)) else {
        return false;
    };
    let running = snapshot.running().map(|step| &step.id);
    let knows = claim.holding.iter().any(|held| {
        held.migration == m.id
            && held.epoch == m.epoch
            && running.is_none_or(|id| held.step.as_ref() == Some(id))
    });
    !(knows && shows_secret(m, owner, claim))
}

/// Gives the lease to the agent process, under a new epoch, and dispatches `step` on the draft. If the process has the
/// lease already and no new epoch is needed, epoch and secret stay. Returns the secret that the process must send with
/// its calls; `None` if the agent does not support secrets.
fn assign(
    draft: &mut MigrationDraft,
    claim: &Claim,
    token: &CallerTokenName,
    step: Option<&StepId>,
) -> Result<Option<WireSecret>, ControlError> {
    let now = draft.now;
    let owner = draft.snapshot().live_owner(now);
    let stays = owner.is_some_and(|owner| is_lease_holder(owner, claim, token));
    let m = draft.migration();
    let stays = stays && !m.needs_new_epoch;
    if !stays {
        m.epoch = m.epoch.next();
    }
    m.needs_new_epoch = false;
    let known = m.owner.as_ref().filter(|_| stays);
    let known = known.filter(|owner| owner.secret.is_some() && shows_secret(m, owner, claim));
    let secret = match known {
        Some(_) => claim.secret_of(&m.id).cloned(),
        None => new_secret(claim),
    };
    m.owner = Some(LeaseHolder {
        agent: claim.agent.clone(),
        instance: claim.instance.clone(),
        token: token.stored_name(),
        secret: secret.as_ref().map(SecretDigest::of_wire),
    });
    let epoch = m.epoch;
    let data = json!({ "agent": claim.agent, "epoch": epoch });
    match step {
        Some(id) => {
            draft.apply_to_step(id, StepEvent::Dispatched, data)?;
            let m = draft.migration();
            if id.as_str() == StepKind::Cutover.name() && m.cancel.is_none() {
                // The cutover no longer waits for its hours.
                m.waiting_for = None;
            }
        }
        None => draft.record("owner.found", None, data),
    }
    Ok(secret)
}

/// Returns a new secret if the agent supports secrets. An agent of protocol version 3 proves its lease by its token
/// only.
fn new_secret(claim: &Claim) -> Option<WireSecret> {
    let understands = claim.protocols().newest >= FIRST_PROTOCOL_WITH_SECRETS;
    understands.then(|| WireSecret::from_bits(rand::random()))
}

fn process_of(claim: &Claim) -> AgentProcess {
    AgentProcess {
        protocol: Some(claim.protocol),
        host: claim.host.clone(),
        key: claim.key.as_ref().map(SecretDigest::of_wire),
        outlived: claim.outlived.iter().map(SecretDigest::of_wire).collect(),
        ..AgentProcess::of(&claim.agent, &claim.instance)
    }
}

/// Returns the kind of a step by its id.
pub(super) fn kind_of(snapshot: &Snapshot, id: &StepId) -> Option<StepKind> {
    let mut steps = snapshot.steps.iter();
    steps.find(|step| &step.id == id).map(|step| step.kind)
}
