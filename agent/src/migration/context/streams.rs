//! The change stream of a migration, as its steps need it.

use std::sync::Arc;
use std::time::Duration;

use plans::id::Epoch;
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::open_capture::CaptureOpened;

use super::{StepContext, parse_system_identity};
use crate::error::StepError;
use crate::shard::epoch::EpochToken;
use crate::spool::SpoolLocation;
use crate::stream::apply::dependents::EnteringRows;
use crate::stream::dual_write::{DualWrite, WatchdogProgram};
use crate::stream::{ApplyStream, StreamSpec};

impl StepContext {
    /// Starts a stream that captures the changes of the moving keys and does not apply them yet.
    pub(crate) async fn ensure_capture(&self) -> Result<(), StepError> {
        self.ensure_stream_mode(Direction::Forward, self.token(), false)
            .await
    }

    /// Starts the change stream in `direction`, unless it runs already. The stream captures and applies changes.
    pub(crate) async fn ensure_stream(&self, direction: Direction) -> Result<(), StepError> {
        let token = match direction {
            Direction::Forward => self.token(),
            Direction::Reverse => self.token_after_flip(),
        };
        self.ensure_stream_with_token(direction, token).await
    }

    /// Starts the stream as [`StepContext::ensure_stream`] does, with a proof that includes a flip after the dispatch.
    pub(crate) async fn ensure_stream_with_token(
        &self,
        direction: Direction,
        token: EpochToken,
    ) -> Result<(), StepError> {
        self.ensure_stream_mode(direction, token, true).await
    }

    /// Starts the change stream unless it runs already, and sets whether it applies changes.
    async fn ensure_stream_mode(
        &self,
        direction: Direction,
        token: EpochToken,
        apply: bool,
    ) -> Result<(), StepError> {
        let mut current = self.session.stream.lock().await;
        if let Some(stream) = current
            .as_ref()
            .filter(|s| s.direction == direction && s.is_running())
        {
            stream.set_apply(apply);
            return Ok(());
        }
        if let Some(previous) = current.take() {
            previous.stop().await;
        }
        let spec = self.stream_spec(direction, token)?;
        *current = Some(ApplyStream::start(spec, self.records_dirty_keys(), apply));
        Ok(())
    }

    /// Returns the folder for captured changes that cannot be applied yet. Only the forward stream has one. After the
    /// flip, the WAL of the target retains the changes, because a rollback must not depend on the disk of one agent.
    pub(crate) fn spool(&self) -> SpoolLocation {
        let opened = self.output::<CaptureOpened>(StepKind::OpenCapture);
        SpoolLocation::new(
            &self.session.spools,
            &self.dispatch.migration,
            Direction::Forward,
            self.dispatch.epoch,
        )
        .of_slot_since(opened.map_or(Epoch(0), |opened| opened.epoch))
    }

    /// Returns whether the stream must record the key of each change as dirty, for the comparison in the cutover. It
    /// must from the end of `build_indexes` or `promote` on, because the comparison follows, and also between two tries of `verify`,
    /// because the chunks that an earlier try has compared remain valid.
    fn records_dirty_keys(&self) -> bool {
        self.is_done(StepKind::BuildIndexes) || self.is_done(StepKind::Promote)
    }

    /// Returns the parameters of the stream in `direction`.
    fn stream_spec(
        &self,
        direction: Direction,
        token: EpochToken,
    ) -> Result<StreamSpec, StepError> {
        let (source, target) = self.known_servers()?;
        let (upstream, downstream) = self.owner_and_other(direction)?;
        let identity = match direction {
            Direction::Forward => source,
            Direction::Reverse => target,
        };
        let max_retained_bytes = u64::from(self.dispatch.options.wal_cap_mb) * (1 << 20);
        Ok(StreamSpec {
            direction,
            upstream,
            downstream,
            system: parse_system_identity(&identity)?,
            token,
            tables: Arc::new(self.dispatch.tables.clone()),
            keys: self.dispatch.keys.clone(),
            entering: EnteringRows::default(),
            retired: self.retired_names(),
            follows_ddl: self.follows_definitions(),
            sessions: self.dispatch.options.apply_sessions,
            spool: (direction == Direction::Forward).then(|| self.spool()),
            dual_write: self.dual_write(),
            ignored_standbys: self.dispatch.options.ignore_standbys.clone(),
            spool_threshold_bytes: max_retained_bytes / 4,
            unconfirmed_spool_bytes: max_retained_bytes / 4,
            max_retained_bytes,
            max_attempts: self.dispatch.options.max_attempts,
        })
    }

    /// Returns the settings of synchronous dual-write, if the request demands it.
    fn dual_write(&self) -> Option<DualWrite> {
        let options = &self.dispatch.options;
        (options.dual_write == plans::request::DualWrite::Synchronous).then(|| DualWrite {
            limit: Duration::from_millis(u64::from(options.dual_write_limit_ms)),
            watchdog: WatchdogProgram::agent(),
        })
    }

    /// Waits until the stream fails, and returns the failure. Never returns if no stream runs or if the stream does not
    /// fail.
    pub(crate) async fn wait_for_stream_failure(&self) -> StepError {
        let watch = {
            let stream = self.session.stream.lock().await;
            stream.as_ref().map(ApplyStream::subscribe)
        };
        match watch {
            Some(watch) => crate::stream::wait_for_failure(watch).await,
            None => std::future::pending().await,
        }
    }
}
