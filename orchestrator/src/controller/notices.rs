//! Hooks that are told of what has happened: every line of the journals that is theirs, at least once, in the order of
//! each migration.
//!
//! How far a hook was told is kept in the store, so that the next leader goes on there; one that is killed between an
//! answer and its keeping has told a line that the next one tells again, under the same id.
//! A hook that does not answer is tried for ever, holds no other hook back, and no migration.

use super::{ControlError, Controller, clock};
use crate::hooks::{Hook, HookAnswer, HookMessage, call};
use crate::store::MigrationPhase;
use crate::store::{HookCursor, Snapshot};
use futures::future::join_all;
use plans::failure::RetryClass;
use plans::id::MigrationId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Lines that are read at once.
const LINES: i64 = 500;
/// Pause after the store could not be asked.
const AFTER_ERROR: Duration = Duration::from_millis(500);
/// Changes are gathered for so long.
const GATHER: Duration = Duration::from_millis(100);

/// Lines behind which a journal does not grow.
const ENDS: [&str; 2] = ["migration.completed", "migration.unwound"];

/// Revisions whose lines a hook was all told of, which the store need not know yet.
type PublishedRevisions = BTreeMap<MigrationId, HookCursor>;

impl Controller {
    /// Tells every hook, each at its own pace, until the task is dropped.
    pub(super) async fn run_hook_notices(&self) {
        let hooks = self.hooks().notified();
        join_all(hooks.map(|hook| self.keep_notified(hook))).await;
    }

    async fn keep_notified(&self, hook: &Hook) {
        let mut changes = self.inner.changes.subscribe();
        let (mut known, mut published) = (false, PublishedRevisions::new());
        loop {
            changes.borrow_and_update();
            let done = async {
                if !known {
                    self.store().add_hook(&hook.name, clock()).await?;
                    known = true;
                }
                self.publish_all(hook, &mut published).await
            };
            match done.await {
                Ok(()) => {
                    // The sender lives as long as the controller.
                    let _ = changes.changed().await;
                    tokio::time::sleep(GATHER).await;
                }
                Err(error) => {
                    tracing::warn!(hook = %hook.name, %error, "the journals were not read for a hook");
                    tokio::time::sleep(AFTER_ERROR).await;
                }
            }
        }
    }

    /// Tells everything that the hook was not told of.
    async fn publish_all(
        &self,
        hook: &Hook,
        published: &mut PublishedRevisions,
    ) -> Result<(), ControlError> {
        for mut cursor in self.store().hook_backlog(&hook.name).await? {
            if let Some(known) = published.get(&cursor.migration) {
                if known.revision == cursor.revision {
                    continue;
                }
                cursor.seq = cursor.seq.max(known.seq);
            }
            let cursor = self.publish_migration(hook, cursor).await?;
            published.insert(cursor.migration.clone(), cursor);
        }
        Ok(())
    }

    /// Tells of one migration; how far it was told then.
    async fn publish_migration(
        &self,
        hook: &Hook,
        mut cursor: HookCursor,
    ) -> Result<HookCursor, ControlError> {
        let store = self.store();
        // Lines are read after the revision, so that all lines of it are among them.
        let revision = cursor.revision;
        let (mut keep, mut snapshot) = (false, None);
        loop {
            let events = store.events(&cursor.migration, cursor.seq, LINES).await?;
            if events.is_empty() {
                break;
            }
            for event in events {
                cursor.seq = event.seq;
                keep |= ENDS.contains(&event.kind.as_str());
                let Some(phase) =
                    MigrationPhase::of(&event).filter(|phase| hook.on.contains(phase))
                else {
                    continue;
                };
                let snapshot = match &mut snapshot {
                    Some(known) => known,
                    none => none.insert(self.load(&cursor.migration).await?),
                };
                let message = HookMessage::event(&hook.name, phase, &event, snapshot);
                self.publish(hook, &message, snapshot).await;
                cursor.revision = 0;
                store.advance_hook(&hook.name, &cursor).await?;
                keep = true;
            }
        }
        cursor.revision = revision;
        // Lines that are none of its are passed over again by the next leader, unless nobody writes any more.
        if keep {
            store.advance_hook(&hook.name, &cursor).await?;
        }
        Ok(cursor)
    }

    /// Sends a message until it has arrived.
    async fn publish(&self, hook: &Hook, message: &HookMessage, snapshot: &Snapshot) {
        let mut attempt = 0_u32;
        loop {
            attempt = attempt.saturating_add(1);
            let answer = call(hook, message).await;
            self.observed().hook(&hook.name, answer.name());
            let why = match answer {
                HookAnswer::Yes => return,
                HookAnswer::No(why) | HookAnswer::Silent(why) => why,
            };
            let migration = &snapshot.migration.id;
            tracing::warn!(hook = %hook.name, %migration, attempt, why, "a hook was not told");
            let retry = &self.inner.settings.retry;
            let pause = retry.pause(RetryClass::Exponential, attempt);
            tokio::time::sleep(pause.unwrap_or(AFTER_ERROR)).await;
        }
    }
}
