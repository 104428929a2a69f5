//! Notifications of hooks: each hook receives every journal entry of the phases for which it is configured, at least
//! once, in the order of each migration's journal.
//!
//! The store keeps how far each hook was notified, so the next leader continues there. If a leader is killed after the
//! answer of a hook and before it stores this, the next leader sends the entry again, under the same id. The controller
//! calls a hook that does not answer again and again. This delays no other hook and no migration.

use super::{ControlError, Controller, clock};
use crate::hooks::{Hook, HookAnswer, HookMessage, call};
use crate::store::MigrationPhase;
use crate::store::{HookCursor, Snapshot};
use futures::future::join_all;
use plans::failure::RetryClass;
use plans::id::MigrationId;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of journal entries that are read at once.
const LINES: i64 = 500;
/// The pause after an error of the store.
const AFTER_ERROR: Duration = Duration::from_millis(500);
/// How long changes are collected before the next read of the journals.
const GATHER: Duration = Duration::from_millis(100);

/// The kinds of the last entry of a journal.
const ENDS: [&str; 2] = ["migration.completed", "migration.unwound"];

/// Up to which event a hook was notified of each migration. The store may contain an earlier position.
type PublishedRevisions = BTreeMap<MigrationId, HookCursor>;

impl Controller {
    /// Notifies all hooks concurrently until the task is dropped.
    pub(super) async fn run_hook_notices(&self) {
        let hooks = self.hooks().notification_hooks();
        join_all(hooks.map(|hook| self.keep_notified(hook))).await;
    }

    /// Notifies one hook until the task is dropped.
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
                    // This cannot fail: the sender exists as long as the controller.
                    let _ = changes.changed().await;
                    tokio::time::sleep(GATHER).await;
                }
                Err(error) => {
                    tracing::warn!(hook = %hook.name, %error, "the journals could not be read for a hook");
                    tokio::time::sleep(AFTER_ERROR).await;
                }
            }
        }
    }

    /// Sends everything that the hook was not notified of.
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

    /// Sends the entries of one migration, and returns how far the hook is notified now.
    async fn publish_migration(
        &self,
        hook: &Hook,
        mut cursor: HookCursor,
    ) -> Result<HookCursor, ControlError> {
        let store = self.store();
        // The entries are read after the revision, so they include all entries of this revision.
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
                    MigrationPhase::of_event(&event).filter(|phase| hook.on.contains(phase))
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
        // If no entry was for this hook, the position is not stored, and the next leader reads these entries again.
        // After the last entry of a journal the position is always stored.
        if keep {
            store.advance_hook(&hook.name, &cursor).await?;
        }
        Ok(cursor)
    }

    /// Sends a message repeatedly until the hook has accepted it.
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
            tracing::warn!(hook = %hook.name, %migration, attempt, why, "a hook did not accept a notification");
            let retry = &self.inner.settings.retry;
            let pause = retry.pause(RetryClass::Exponential, attempt);
            tokio::time::sleep(pause.unwrap_or(AFTER_ERROR)).await;
        }
    }
}
