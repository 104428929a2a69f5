//! The store in memory, for tests. It fulfils the same contract without PostgreSQL, and its data ends with its process.
//!
//! One lock around all data makes each call one transaction. Clones are the same handle; `another` makes the handle of
//! another process.

mod access;
mod fleet;
mod hooks;
mod leader;
mod listing;
mod sealed;
mod state;

use super::answer::KEPT_FOR;
use super::leader::OwnTerm;
use super::pieces::AllowedOwners;
use super::{
    AgentProcess, AgentRecord, AuditLine, AuditRecord, CleanupRecord, EarlierCommand, Event,
    FigureReading, HookCursor, KeptAnswer, KeyedCommand, Leader, LeaderCandidate, MapVersionRecord,
    Migration, MigrationChange, NewOperation, NewShard, OperationRecord, OwnerBeat, Registered,
    RemoteChange, SchemaVersion, SealedMigration, SessionRecord, SettingsRecord, ShardRecord,
    ShardUpdate, Snapshot, Store, StoreError, StoreFuture, Term, TokenRecord, UnfinishedMigrations,
};
use crate::access::SecretDigest;
use chrono::{DateTime, Utc};
use listing::{after_cursor, sort_key};
use plans::id::{InstanceId, MapName, MapVersion, MigrationId, ShardName};
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::ShardMap;
use sealed::MemorySealed;
use state::MemoryState;
use std::sync::{Arc, Mutex, MutexGuard};

/// A store whose data exists as long as this value.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    incarnation: String,
    state: Arc<Mutex<MemoryState>>,
    own: Arc<OwnTerm>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            incarnation: uuid::Uuid::new_v4().to_string(),
            state: Arc::default(),
            own: Arc::default(),
        }
    }

    /// Returns a handle for the same store that acts like another process.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            own: Arc::default(),
            ..self.clone()
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        // A panic in another test thread does not corrupt the data, so a poisoned lock is accepted.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn answer<'a, T: Send + 'a>(
        &self,
        act: impl FnOnce(&mut MemoryState) -> Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        let result = act(&mut self.state());
        Box::pin(std::future::ready(result))
    }

    /// Does the same as [`MemoryStore::answer`], but fails unless this handle leads.
    fn write<'a, T: Send + 'a>(
        &self,
        act: impl FnOnce(&mut MemoryState) -> Result<T, StoreError>,
    ) -> StoreFuture<'a, T> {
        self.answer(|state| {
            state.prove(&self.own)?;
            act(state)
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn incarnation(&self) -> &str {
        &self.incarnation
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        self.answer(|_| Ok(()))
    }

    fn schema(&self) -> StoreFuture<'_, SchemaVersion> {
        self.answer(|_| Ok(SchemaVersion { found: 1, known: 1 }))
    }

    fn campaign<'a>(&'a self, candidate: &'a LeaderCandidate) -> StoreFuture<'a, Leader> {
        self.answer(|state| Ok(state.campaign(&self.own, candidate)))
    }

    fn term(&self) -> Option<Term> {
        self.own.term()
    }

    fn step_down(&self) {
        self.own.take();
    }

    fn resign(&self) -> StoreFuture<'_, ()> {
        self.answer(|state| {
            state.resign(&self.own);
            Ok(())
        })
    }

    fn leader(&self) -> StoreFuture<'_, Option<Leader>> {
        self.answer(|state| Ok(state.leader()))
    }

    fn news(&self) -> StoreFuture<'_, RemoteChange> {
        // All handles are in one process, and its tasks read the store without a notification.
        Box::pin(std::future::pending())
    }

    fn add_shard<'a>(&'a self, new: &'a NewShard) -> StoreFuture<'a, ShardRecord> {
        self.write(|state| state.add_shard(new))
    }

    fn update_shard<'a>(&'a self, update: &'a ShardUpdate) -> StoreFuture<'a, ShardRecord> {
        self.write(|state| state.update_shard(update))
    }

    fn shards(&self) -> StoreFuture<'_, Vec<ShardRecord>> {
        self.answer(|state| {
            Ok(state
                .shards
                .keys()
                .filter_map(|name| state.shard(name))
                .collect())
        })
    }

    fn shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, Option<ShardRecord>> {
        self.answer(|state| Ok(state.shard(name)))
    }

    fn remove_shard<'a>(&'a self, name: &'a ShardName) -> StoreFuture<'a, ()> {
        self.write(|state| state.remove_shard(name))
    }

    fn create_map<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.create_map(map, by))
    }

    fn put_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_version(map, by, AllowedOwners::Checked))
    }

    fn put_proven_version<'a>(&'a self, map: &'a ShardMap, by: &'a str) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_version(map, by, AllowedOwners::Proven))
    }

    fn maps(&self) -> StoreFuture<'_, Vec<Arc<ShardMap>>> {
        self.answer(|state| {
            let names = state.maps.keys();
            let maps = names.filter_map(|name| state.current(name));
            Ok(maps.map(Arc::new).collect())
        })
    }

    fn map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Option<Arc<ShardMap>>> {
        self.answer(|state| Ok(state.current(name).map(Arc::new)))
    }

    fn map_at<'a>(
        &'a self,
        name: &'a MapName,
        version: MapVersion,
    ) -> StoreFuture<'a, Option<ShardMap>> {
        self.answer(|state| Ok(state.at_version(name, version)))
    }

    fn history<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<MapVersionRecord>> {
        self.answer(|state| {
            let kept = state.maps.get(name).into_iter();
            let versions = kept.flat_map(|kept| &kept.versions);
            Ok(versions.map(|(_, record)| record.clone()).collect())
        })
    }

    fn shards_of_map<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<ShardName>> {
        self.answer(|state| Ok(state.shards_of_map(name)))
    }

    fn put_settings<'a>(&'a self, new: &'a SettingsRecord) -> StoreFuture<'a, ()> {
        self.write(|state| state.put_settings(new))
    }

    fn settings<'a>(&'a self, name: &'a MapName) -> StoreFuture<'a, Vec<SettingsRecord>> {
        self.answer(|state| {
            let kept = state.maps.get(name).into_iter();
            let revisions = kept.flat_map(|kept| kept.settings.iter().rev());
            Ok(revisions.cloned().collect())
        })
    }

    fn submit<'a>(&'a self, new: &'a NewOperation) -> StoreFuture<'a, Vec<Snapshot>> {
        self.write(|state| state.admit(new))
    }

    fn operation<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<OperationRecord>> {
        self.answer(|state| Ok(state.operation(id)))
    }

    fn operations<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<OperationRecord>> {
        self.answer(|state| {
            let ids = state.operations.keys();
            let mut all: Vec<OperationRecord> = ids.filter_map(|id| state.operation(id)).collect();
            all.sort_by_key(|operation| std::cmp::Reverse(operation.created_at));
            Ok(after_cursor(all, limit, after, |operation| &operation.id))
        })
    }

    fn load<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Option<Snapshot>> {
        self.answer(|state| Ok(state.migrations.get(id).cloned()))
    }

    fn unfinished(&self) -> StoreFuture<'_, UnfinishedMigrations> {
        self.answer(|state| {
            let all = state.migrations.values();
            let open = all.filter(|snapshot| snapshot.migration.finished_at.is_none());
            let mut open: Vec<Arc<Snapshot>> = open.cloned().map(Arc::new).collect();
            open.sort_by_key(|snapshot| sort_key(&snapshot.migration));
            Ok(Arc::new(open))
        })
    }

    fn list<'a>(
        &'a self,
        limit: i64,
        after: Option<&'a MigrationId>,
    ) -> StoreFuture<'a, Vec<Migration>> {
        self.answer(|state| {
            let all = state.migrations.values();
            let mut all: Vec<Migration> = all.map(|s| s.migration.clone()).collect();
            all.sort_by_key(|m| {
                (
                    std::cmp::Reverse(m.created_at),
                    m.operation.clone(),
                    m.ordinal,
                )
            });
            Ok(after_cursor(all, limit, after, |m| &m.id))
        })
    }

    fn commit<'a>(&'a self, change: &'a MigrationChange) -> StoreFuture<'a, bool> {
        self.write(|state| {
            if state.sealed.contains_key(&change.migration.id) {
                return Err(StoreError::Busy);
            }
            state.apply(change)
        })
    }

    fn seal<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Box<dyn SealedMigration>> {
        self.write(|state| {
            let (snapshot, map) = state.seal(id)?;
            let sealed: Box<dyn SealedMigration> = Box::new(MemorySealed {
                store: self.clone(),
                snapshot,
                map,
                written: None,
            });
            Ok(sealed)
        })
    }

    fn extend_leases<'a>(
        &'a self,
        instance: &'a InstanceId,
        until: DateTime<Utc>,
        beats: &'a [OwnerBeat],
    ) -> StoreFuture<'a, Vec<MigrationId>> {
        self.write(|state| {
            let extended = beats.iter();
            let extended = extended.filter(|beat| state.extend(instance, until, beat));
            Ok(extended.map(|beat| beat.migration.clone()).collect())
        })
    }

    fn readings<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<FigureReading>> {
        self.answer(|state| Ok(state.readings.get(id).cloned().unwrap_or_default()))
    }

    fn events<'a>(
        &'a self,
        id: &'a MigrationId,
        after: i64,
        limit: i64,
    ) -> StoreFuture<'a, Vec<Event>> {
        self.answer(|state| {
            let all = state.events.get(id).into_iter().flatten();
            let later = all.filter(|event| event.seq > after);
            let limit = usize::try_from(limit).unwrap_or_default();
            Ok(later.take(limit).cloned().collect())
        })
    }

    fn add_hook<'a>(&'a self, hook: &'a str, _: DateTime<Utc>) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_hook(hook);
            Ok(())
        })
    }

    fn hook_backlog<'a>(&'a self, hook: &'a str) -> StoreFuture<'a, Vec<HookCursor>> {
        self.answer(|state| Ok(state.hook_backlog(hook)))
    }

    fn advance_hook<'a>(&'a self, hook: &'a str, cursor: &'a HookCursor) -> StoreFuture<'a, ()> {
        self.write(|state| state.advance_hook(hook, cursor))
    }

    fn add_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_cleanup(id, records);
            Ok(())
        })
    }

    fn finish_cleanup<'a>(
        &'a self,
        id: &'a MigrationId,
        records: &'a [CleanupRecord],
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.finish_cleanup(id, records, at);
            Ok(())
        })
    }

    fn cleanup<'a>(&'a self, id: &'a MigrationId) -> StoreFuture<'a, Vec<CleanupRecord>> {
        self.answer(|state| Ok(state.cleanup.get(id).cloned().unwrap_or_default()))
    }

    fn note_agent<'a>(
        &'a self,
        process: &'a AgentProcess,
        at: DateTime<Utc>,
        silent_since: Option<DateTime<Utc>>,
    ) -> StoreFuture<'a, Registered> {
        self.write(|state| Ok(state.note_agent(process, at, silent_since)))
    }

    fn agents(&self) -> StoreFuture<'_, Vec<AgentRecord>> {
        self.answer(|state| {
            Ok(state
                .agents
                .values()
                .map(|(process, _)| process.clone())
                .collect())
        })
    }

    fn servers(&self) -> StoreFuture<'_, Vec<ObservedServer>> {
        self.answer(|state| Ok(state.servers.values().cloned().collect()))
    }

    fn put_server<'a>(&'a self, server: &'a ObservedServer) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.servers.insert(server.number, server.clone());
            Ok(())
        })
    }

    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.audit.push(record.clone());
            Ok(())
        })
    }

    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>> {
        self.answer(|state| {
            let lines = (1..).zip(&state.audit).map(|(line, record)| AuditLine {
                line,
                record: record.clone(),
            });
            let lines = lines.filter(|line| before.is_none_or(|before| line.line < before));
            let mut lines: Vec<AuditLine> = lines.collect();
            lines.reverse();
            lines.truncate(usize::try_from(limit).unwrap_or_default());
            Ok(lines)
        })
    }

    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()> {
        self.write(|state| state.add_token(token))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>> {
        self.answer(|state| Ok(state.tokens.clone()))
    }

    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord> {
        self.write(|state| state.revoke_token(name, by, at))
    }

    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_session(session);
            Ok(())
        })
    }

    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>> {
        self.answer(|state| Ok(state.sessions.get(&digest).cloned()))
    }

    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool> {
        self.write(|state| Ok(state.sessions.remove(&digest).is_some()))
    }

    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>> {
        self.write(|state| {
            let oldest = command.at - KEPT_FOR;
            state
                .keyed_commands
                .retain(|_, (begun, _)| *begun >= oldest);
            if let Some((_, earlier)) = state.keyed_commands.get(&command.key) {
                return Ok(Some(earlier.clone()));
            }
            let begun = EarlierCommand {
                fingerprint: command.fingerprint,
                answer: None,
            };
            state
                .keyed_commands
                .insert(command.key, (command.at, begun));
            Ok(None)
        })
    }

    fn keep_answer<'a>(&'a self, key: SecretDigest, answer: &'a KeptAnswer) -> StoreFuture<'a, ()> {
        self.write(|state| {
            if let Some((_, command)) = state.keyed_commands.get_mut(&key) {
                command.answer = Some(answer.clone());
            }
            Ok(())
        })
    }

    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()> {
        self.write(|state| {
            state.keyed_commands.remove(&key);
            Ok(())
        })
    }
}

fn exists(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Exists { what, name }
}

fn missing(what: &'static str, name: &str) -> StoreError {
    let name = name.to_owned();
    StoreError::Missing { what, name }
}
