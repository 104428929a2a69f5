//! The shards of a migration, and the databases in which their sessions must be.

use plans::fleet::ShardRef;
use plans::identity::DatabaseIdentity;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::create_target::TargetCreated;
use plans::step::open_capture::CaptureOpened;
use plans::step::promote::Promoted;
use plans::step::set_read_only::ReadOnly;

use super::StepContext;
use crate::error::StepError;
use crate::shard::database::Shard;

impl StepContext {
    /// Returns the source of the move. If a standby was promoted in its place since the shard was registered, sessions
    /// must be on the promoted server, and not on the one before it.
    pub(crate) fn source(&self) -> Result<Shard, StepError> {
        let opened = self.output::<CaptureOpened>(StepKind::OpenCapture);
        let recorded = opened.ok().and_then(|opened| opened.source);
        let read_only = self.output::<ReadOnly>(StepKind::SetReadOnly);
        let recorded = recorded.or_else(|| read_only.ok()?.source);
        let known = later(self.dispatch.source.identity.clone(), recorded);
        self.source_as(later(known, self.session.promoted_servers().source))
    }

    /// Returns the source as it is registered. A deletion of its rows proves this identity: on a promoted standby it
    /// waits until an operator accepts the server (ADR 54).
    pub(crate) fn registered_source(&self) -> Result<Shard, StepError> {
        self.source_as(self.dispatch.source.identity.clone())
    }

    /// Returns the source, whose sessions must be in the database `identity`; `None`: in any database.
    pub(crate) fn source_as(&self, identity: Option<DatabaseIdentity>) -> Result<Shard, StepError> {
        let reference = ShardRef {
            identity,
            ..self.dispatch.source.clone()
        };
        Shard::new(&reference, &self.dispatch.migration, self.dispatch.epoch)
    }

    /// Returns the target of the move.
    pub(crate) fn target(&self) -> Result<Shard, StepError> {
        let known = match self.output::<Promoted>(StepKind::Promote) {
            Ok(promoted) => Some(promoted.target),
            Err(_) => {
                let copied = self.output::<Copied>(StepKind::Copy);
                let created = self.output::<TargetCreated>(StepKind::CreateTarget);
                let recorded = copied.ok().and_then(|copied| copied.target);
                let recorded = recorded.or_else(|| created.ok()?.target);
                later(self.dispatch.target.identity.clone(), recorded)
            }
        };
        self.target_as(later(known, self.session.promoted_servers().target))
    }

    /// Returns the target, whose sessions must be in the database `identity`; `None`: in any database.
    pub(crate) fn target_as(&self, identity: Option<DatabaseIdentity>) -> Result<Shard, StepError> {
        let reference = ShardRef {
            identity,
            ..self.dispatch.target.clone()
        };
        Shard::new(&reference, &self.dispatch.migration, self.dispatch.epoch)
    }

    /// Returns the shard that owns the keys while changes go in this direction, and the one to which they go.
    pub(crate) fn owner_and_other(
        &self,
        direction: Direction,
    ) -> Result<(Shard, Shard), StepError> {
        let (source, target) = (self.source()?, self.target()?);
        Ok(match direction {
            Direction::Forward => (source, target),
            Direction::Reverse => (target, source),
        })
    }
}

/// Returns the identity that the sessions of a shard check: that of its registration, or the one that a step has
/// recorded, if a standby was promoted in between. A shard without a registered identity stays without one.
fn later(
    registered: Option<DatabaseIdentity>,
    recorded: Option<DatabaseIdentity>,
) -> Option<DatabaseIdentity> {
    let registered = registered?;
    let promoted = recorded.filter(|recorded| recorded.timeline > registered.timeline);
    Some(promoted.unwrap_or(registered))
}
