//! One migration, from the plan to its end.

use super::follow::Follower;
use super::progress::say;
use super::strike::Hand;
use super::{Run, check};
use crate::api::Migration;
use crate::error::DemoError;
use crate::fleet::{SOURCE, TARGET};
use crate::ledger::Phase;
use crate::report::{Outcome, Report};
use crate::shop::TABLES;
use crate::workload::Workload;
use plans::key_set::{Key, KeyRange};
use plans::request::{Options, Part, Request, Split};
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::cutover::CutOver;
use plans::step::verify::Verified;

impl Run<'_> {
    /// Plans, submits and follows one migration to its end; the figures go into the report.
    pub(super) async fn migrate(
        &self,
        hand: &Hand,
        workload: &Workload,
        report: &mut Report,
    ) -> Result<Outcome, DemoError> {
        let plan = self.api.plan(&self.request()).await?;
        say(&format!(
            "planned: about {} rows, {} tables, keys {} to shard {TARGET}",
            plan.estimate.rows,
            plan.moving.tables.len(),
            plan.moving.keys
        ));
        self.ledger.enter(Phase::Copy);
        let id = self.api.submit(&plan).await?;
        let mut follower = Follower::new(&self.api, &self.ledger, id);
        if let Some(ended) = self.to_the_flip(hand, &mut follower, report).await? {
            return Ok(ended);
        }
        self.after_the_flip(hand, &mut follower, workload, report)
            .await
    }

    /// `Some` if it ended before the flip.
    async fn to_the_flip(
        &self,
        hand: &Hand,
        follower: &mut Follower<'_>,
        report: &mut Report,
    ) -> Result<Option<Outcome>, DemoError> {
        let early = self.held_step().filter(|step| is_before_gate(*step));
        if early.is_some() && self.hold(hand, follower, early).await? {
            return Ok(Some(Outcome::Unwound));
        }
        let migration = follower.until("the gate", is_at_gate).await?;
        figures(&migration, report);
        if migration.state == MigrationState::Unwound {
            return Ok(Some(Outcome::Unwound));
        }
        self.ledger.enter(Phase::CatchUp);
        self.moving(Phase::CatchUp, self.goal(10)).await?;
        self.ledger.enter(Phase::Cutover);
        follower.command("approve").await?;
        let late = self.held_step().filter(|step| *step == StepKind::Cutover);
        if late.is_some() && self.hold(hand, follower, late).await? {
            return Ok(Some(Outcome::Unwound));
        }
        let migration = follower.until("the flip", is_flipped).await?;
        if migration.state == MigrationState::Unwound {
            return Ok(Some(Outcome::Unwound));
        }
        say("the map names the new owner; the application keeps writing");
        figures(&migration, report);
        Ok(None)
    }

    async fn after_the_flip(
        &self,
        hand: &Hand,
        follower: &mut Follower<'_>,
        workload: &Workload,
        report: &mut Report,
    ) -> Result<Outcome, DemoError> {
        self.ledger.enter(Phase::After);
        self.moving(Phase::After, self.goal(20)).await?;
        self.acknowledged(self.options.goal()).await?;
        check::held(self, workload).await?;
        if self.options.rollback {
            follower.command("rollback").await?;
            follower
                .until("the way back", |m| m.state == MigrationState::RolledBack)
                .await?;
            self.acknowledged(self.ledger.tally().acknowledged + self.goal(20))
                .await?;
            let migration = follower
                .until("the end", |m| m.is_done(StepKind::DropNew))
                .await?;
            figures(&migration, report);
            return Ok(Outcome::RolledBack);
        }
        let hold = self.held_step().filter(|step| *step == StepKind::Hold);
        self.hold(hand, follower, hold).await?;
        follower.command("finish").await?;
        let drop_old = self.held_step().filter(|step| *step == StepKind::DropOld);
        self.hold(hand, follower, drop_old).await?;
        let migration = follower
            .until("the end", |m| m.state == MigrationState::Completed)
            .await?;
        figures(&migration, report);
        Ok(Outcome::Completed)
    }

    /// Waits for the agent at the step's fail point, aborts or pauses there, and lets it go on.
    /// True if the migration was aborted and is unwound.
    async fn hold(
        &self,
        hand: &Hand,
        follower: &mut Follower<'_>,
        step: Option<StepKind>,
    ) -> Result<bool, DemoError> {
        let Some(step) = step else {
            return Ok(false);
        };
        if self.options.abort_at == Some(step) {
            let arrival = hand.arrived(step).await?;
            follower.command("abort").await?;
            drop(arrival);
            let unwound = |m: &Migration| m.state == MigrationState::Unwound;
            follower.until("the end of the unwinding", unwound).await?;
            return Ok(true);
        }
        let gate = |m: &Migration| is_running(m, step) || m.is_done(step);
        if step == StepKind::Hold {
            follower.until("the step", gate).await?;
            follower.command("pause").await?;
        } else {
            let arrival = hand.arrived(step).await?;
            follower.command("pause").await?;
            drop(arrival);
        }
        let paused = |m: &Migration| m.state == MigrationState::Paused;
        follower.until("the pause", paused).await?;
        self.acknowledged(self.ledger.tally().acknowledged + 100)
            .await?;
        follower.command("resume").await?;
        Ok(false)
    }

    fn request(&self) -> Request {
        let split = Key::Int(self.shop.split_at());
        let part = |shard: &str, from: Option<&Key>, to: Option<&Key>| Part {
            shard: shard.into(),
            keys: KeyRange {
                from: from.cloned(),
                to: to.cloned(),
            },
        };
        let own = |(table, key): (&str, &str)| (table.to_owned(), key.to_owned());
        Request::Split(Split {
            map: self.map_name.clone(),
            source: SOURCE.into(),
            into: vec![
                part(SOURCE, None, Some(&split)),
                part(TARGET, Some(&split), None),
            ],
            tables: TABLES.into_iter().map(own).collect(),
            ignore: Vec::new(),
            options: Options::default(),
        })
    }
}

fn is_before_gate(step: StepKind) -> bool {
    matches!(
        step,
        StepKind::Preflight
            | StepKind::CreateTarget
            | StepKind::OpenCapture
            | StepKind::Copy
            | StepKind::CatchUp
            | StepKind::BuildIndexes
            | StepKind::Verify
            | StepKind::OpenReverse
    )
}

fn is_at_gate(migration: &Migration) -> bool {
    migration.state == MigrationState::Waiting
}

fn is_flipped(migration: &Migration) -> bool {
    matches!(
        migration.state,
        MigrationState::Flipped | MigrationState::Completed
    )
}

fn is_running(migration: &Migration, kind: StepKind) -> bool {
    migration
        .step(kind)
        .is_some_and(|step| step.state == plans::state::step::StepState::Running)
}

/// What the steps that are done have reported.
fn figures(migration: &Migration, report: &mut Report) {
    if let Some(copied) = migration.output::<Copied>(StepKind::Copy) {
        report.copied(&copied);
    }
    if let Some(verified) = migration.output::<Verified>(StepKind::Verify) {
        report.verified(&verified);
    }
    if let Some(cut) = migration.output::<CutOver>(StepKind::Cutover) {
        report.window_ms = cut.window;
    }
    report.rollback_window_ms = migration
        .output::<CutOver>(StepKind::Rollback)
        .map(|cut| cut.window);
}
