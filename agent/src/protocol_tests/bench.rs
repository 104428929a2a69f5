//! The bench of these tests: two databases, and one move between them. It moves the keys 100 to 199 of some tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{AttemptNo, Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::names::Direction;
use plans::table::{CopyFormat, KeyColumn, MajorVersions, MovingTable, TableKey, copy_format};

use super::shard::{LIMIT, Shard as Database, until};
use crate::error::StepError;
use crate::postgres::catalog;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ReplicationSession, SlotOptions, SystemIdentity};
use crate::shard::apply_progress::{self, ApplyProgress};
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::guard::GuardedRows;
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::register::Register;
use crate::shard::{guard, publication, sidecar_schema};
use crate::stream::apply::dependents::EnteringRows;
use crate::stream::{ApplyStream, StreamSpec};

/// The table that most tests use.
pub(crate) const ITEM: &str = "\
    create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id))";
/// The version of the map before the flip.
pub(crate) const VERSION: i64 = 7;

/// A move that has not started.
pub(crate) struct Bench {
    pub(crate) source: Database,
    pub(crate) target: Database,
    pub(crate) token: EpochToken,
    pub(crate) tables: Arc<Vec<MovingTable>>,
    pub(crate) keys: KeySet,
}

impl Bench {
    /// Creates the databases `name_s` and `name_t` on the shared server, and executes `ddl` in both.
    pub(crate) async fn new(name: &str, ddl: &str) -> Self {
        let source = Database::new(&format!("{name}_s")).await;
        Self::beside(source, name, ddl).await
    }

    /// As [`Bench::new`], on a server of its own. The WAL writer of this server sleeps for ten seconds.
    pub(crate) async fn slow_log(name: &str, ddl: &str) -> Self {
        let settings = [("wal_writer_delay", "10s"), ("autovacuum", "off")];
        let source = Database::with_settings(&format!("{name}_s"), &settings).await;
        Self::beside(source, name, ddl).await
    }

    /// As [`Bench::new`], with the target on a server of its own.
    pub(crate) async fn apart(name: &str, ddl: &str) -> Self {
        let source = Database::new(&format!("{name}_s")).await;
        let target = Database::with_settings(&format!("{name}_t"), &[]).await;
        Self::of(source, target, name, ddl).await
    }

    /// As [`Bench::new`], with each shard on a server of its own, so that its settings do not affect other tests.
    pub(crate) async fn each_alone(name: &str, ddl: &str) -> Self {
        Self::each_alone_with(name, ddl, &[]).await
    }

    /// As [`Bench::each_alone`], with these settings on both servers.
    pub(crate) async fn each_alone_with(name: &str, ddl: &str, settings: &[(&str, &str)]) -> Self {
        let source = Database::with_settings(&format!("{name}_s"), settings).await;
        let target = Database::with_settings(&format!("{name}_t"), settings).await;
        Self::of(source, target, name, ddl).await
    }

    async fn beside(source: Database, name: &str, ddl: &str) -> Self {
        let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
        Self::of(source, target, name, ddl).await
    }

    async fn of(source: Database, target: Database, name: &str, ddl: &str) -> Self {
        let keys = KeySet::range(Some(Key::Int(100)), Some(Key::Int(200)));
        let session = source.session().await;
        session.batch_execute(ddl).await.expect("schema");
        Self::enrolled(source, target, name, ddl, keys).await
    }

    /// Creates a move of `keys` from a source that has its tables to a new database `name_t` on the same server.
    pub(crate) async fn of_move(source: &Database, name: &str, ddl: &str, keys: KeySet) -> Self {
        let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
        Self::enrolled(source.clone(), target, name, ddl, keys).await
    }

    /// Creates a move of `keys` from a source that has its tables. The target is to be set to a standby of the source.
    pub(crate) async fn on_source(source: Database, name: &str, keys: KeySet) -> Self {
        let mut bench = Self::unenrolled(source.clone(), source, name, keys);
        let session = bench.ours(&bench.source).await;
        sidecar_schema::enrol(&session, &bench.token, "source", "m")
            .await
            .expect("enrolled");
        bench.tables = Arc::new(tables(&session).await);
        bench
    }

    /// Returns a move without tables that no shard knows.
    fn unenrolled(source: Database, target: Database, name: &str, keys: KeySet) -> Self {
        Self {
            source,
            target,
            token: EpochToken {
                migration: MigrationId::from(name.replace('_', "").as_str()),
                epoch: Epoch(1),
                until: MapVersion(VERSION),
            },
            tables: Arc::default(),
            keys,
        }
    }

    async fn enrolled(
        source: Database,
        target: Database,
        name: &str,
        ddl: &str,
        keys: KeySet,
    ) -> Self {
        let mut bench = Self::unenrolled(source, target, name, keys);
        let session = bench.target.session().await;
        session.batch_execute(ddl).await.expect("schema");
        for (database, role) in [(&bench.source, "source"), (&bench.target, "target")] {
            let session = bench.ours(database).await;
            sidecar_schema::enrol(&session, &bench.token, role, "m")
                .await
                .expect("enrolled");
        }
        let session = bench.ours(&bench.source).await;
        bench.tables = Arc::new(tables(&session).await);
        bench
    }

    /// Returns the predicate of the moving rows, without a row name.
    pub(crate) fn predicate(&self) -> String {
        self.keys
            .predicate(&[("tenant_id".to_owned(), KeyType::Bigint)])
    }

    /// Returns a shard of the migration for an owner with this epoch.
    pub(crate) fn shard(&self, database: &Database, epoch: Epoch) -> Shard {
        let is_target = database.dsn_text() == self.target.dsn_text();
        let reference = ShardRef {
            name: ShardName::from(if is_target { "t" } else { "s" }),
            number: 1,
            dsn: database.dsn_text(),
            identity: None,
        };
        Shard::new(&reference, &self.token.migration, epoch).expect("a connection string")
    }

    /// Opens a session of the agent.
    pub(crate) async fn ours(&self, database: &Database) -> Connected {
        let shard = self.shard(database, self.token.epoch);
        shard.session("test").await.expect("a session")
    }

    /// Returns the proof of another owner's epoch.
    pub(crate) fn token_of(&self, epoch: i64) -> EpochToken {
        EpochToken {
            epoch: Epoch(epoch),
            ..self.token.clone()
        }
    }

    /// Creates the register with this value, and the guards. An open shard owns the keys.
    pub(crate) async fn guard(&self, database: &Database, value: i64) {
        let session = self.ours(database).await;
        let id = &self.token.migration;
        guard::create_register(&session, id, Register::from_value(value))
            .await
            .expect("a register");
        self.put_guard(&session).await;
        if value == 0 {
            self.own(&session).await;
        }
        let guarded = GuardedRows {
            keys: &self.keys,
            tables: &self.tables,
        };
        guard::cascade::create(&session, &self.token, guarded, value == i64::MAX)
            .await
            .expect("put");
    }

    /// Records that the shard owns the keys, as its opening does.
    pub(crate) async fn own(&self, session: &Connected) {
        let own = "update shardwright.move set owns = true";
        session.batch_execute(own).await.expect("recorded");
    }

    /// Creates the guards on the tables.
    pub(crate) async fn put_guard(&self, session: &Connected) {
        let guarded = GuardedRows {
            keys: &self.keys,
            tables: &self.tables,
        };
        guard::create(session, &self.token, &MapName::from("m"), guarded)
            .await
            .expect("put");
    }

    /// Reads the value of the register.
    pub(crate) async fn register(&self, session: &Connected) -> i64 {
        let read = format!(
            "select last_value from shardwright.{}",
            self.token.migration.register()
        );
        session.query_one(&read, &[]).await.expect("read").get(0)
    }

    /// Creates the publication, the slot and the first progress row.
    pub(crate) async fn capture(&self, direction: Direction) {
        let (_, destination) = self.ends(direction);
        let consistent_point = self.open_slot(direction).await;
        self.set_progress(destination, direction, consistent_point)
            .await;
    }

    /// Creates the publication and the slot, and returns its consistent point.
    pub(crate) async fn open_slot(&self, direction: Direction) -> Lsn {
        let (origin, _) = self.ends(direction);
        let session = self.ours(origin).await;
        let tables = self.tables.iter();
        let filtered: Vec<_> = tables
            .map(|table| match table.through() {
                Some(_) => table.table.sql(),
                None => format!("{} where {}", table.table.sql(), self.predicate()),
            })
            .collect();
        publication::create(&session, &self.token, direction, &filtered)
            .await
            .expect("published");
        let (options, slot) = (
            SlotOptions {
                temporary: false,
                export: false,
                failover: false,
            },
            self.token.migration.slot(direction),
        );
        let mut replication = ReplicationSession::open(&origin.dsn(), "test")
            .await
            .expect("opened");
        let made = replication
            .create_slot(&slot, options)
            .await
            .expect("a slot");
        made.consistent_point
    }

    /// Writes a progress row as the agent does.
    pub(crate) async fn set_progress(&self, on: &Database, direction: Direction, lsn: Lsn) {
        let session = self.ours(on).await;
        let progress = ApplyProgress {
            lsn,
            opened: direction == Direction::Forward,
            transactions: 0,
            changes: 0,
        };
        epoch::begin(&session, &self.token).await.expect("proved");
        apply_progress::write(&session, &self.token, direction, progress)
            .await
            .expect("written");
        epoch::commit(&session, "progress")
            .await
            .expect("committed");
    }

    /// Returns the upstream and the downstream database of a stream.
    pub(crate) fn ends(&self, direction: Direction) -> (&Database, &Database) {
        match direction {
            Direction::Forward => (&self.source, &self.target),
            Direction::Reverse => (&self.target, &self.source),
        }
    }

    /// Returns the parameters of the stream, which has no spool.
    pub(crate) async fn spec(&self, direction: Direction) -> StreamSpec {
        let (origin, destination) = self.ends(direction);
        StreamSpec {
            direction,
            upstream: self.shard(origin, self.token.epoch),
            downstream: self.shard(destination, self.token.epoch),
            system: system(origin).await,
            token: self.token.clone(),
            tables: self.tables.clone(),
            keys: self.keys.clone(),
            entering: EnteringRows::default(),
            retired: Vec::new(),
            follows_ddl: false,
            sessions: 2,
            spool: None,
            dual_write: None,
            ignored_standbys: Vec::new(),
            spool_threshold_bytes: u64::MAX,
            unconfirmed_spool_bytes: 0,
            max_retained_bytes: u64::MAX,
            max_attempts: 50,
        }
    }

    /// Starts the change stream.
    pub(crate) async fn stream(&self, direction: Direction) -> ApplyStream {
        ApplyStream::start(self.spec(direction).await, false, true)
    }

    /// Commits a marker on the upstream shard of the stream, and waits until the stream has applied it.
    pub(crate) async fn drain(&self, stream: &ApplyStream) -> Result<u64, StepError> {
        let (origin, _) = self.ends(stream.direction);
        let session = self.ours(origin).await;
        let marker = Marker::new(&self.token, AttemptNo(1), MarkerKind::Probe);
        marker.emit(&session, &self.token).await?;
        tokio::time::timeout(
            LIMIT,
            crate::stream::wait_for_marker(stream.subscribe(), marker.id),
        )
        .await
        .expect("applied in time")
    }

    /// Returns the moving rows of a database as text, in sort order.
    pub(crate) async fn rows(&self, session: &Connected) -> Vec<String> {
        let mut all = Vec::new();
        for table in self.tables.iter() {
            let read = format!(
                "select (t.*)::text from {} t where {} order by (t.*)::text collate \"C\"",
                table.table.sql(),
                table.predicate_or_missing(&self.keys, "t")
            );
            let rows = session.query(&read, &[]).await.expect("rows");
            all.extend(
                rows.iter()
                    .map(|row| format!("{}{}", table.table, row.get::<_, String>(0))),
            );
        }
        all
    }

    /// Checks that both copies are equal. Returns the number of rows.
    pub(crate) async fn assert_equal(&self) -> usize {
        let (source, target) = (self.ours(&self.source).await, self.ours(&self.target).await);
        let source = self.rows(&source).await;
        assert_eq!(source, self.rows(&target).await);
        source.len()
    }
}

/// Waits until the last write is so old that the stream treats everything before it as a backlog.
pub(crate) async fn until_old() {
    let written = Instant::now();
    until("the backlog is old", || async {
        written.elapsed() > Duration::from_millis(600)
    })
    .await;
}

/// Reads the identity of the server of a database.
pub(crate) async fn system(database: &Database) -> SystemIdentity {
    let mut session = ReplicationSession::open(&database.dsn(), "test")
        .await
        .expect("opened");
    session.identify_system().await.expect("identified")
}

/// Returns every table of `public` as a plan describes it; for a partitioned table, its leaf partitions.
pub(crate) async fn tables(session: &Connected) -> Vec<MovingTable> {
    let mut tables = Vec::new();
    let found = catalog::tables(session).await.expect("tables");
    for (name, found) in found.into_iter().filter(|(_, found)| found.kind != 'p') {
        let columns = catalog::columns(session, &name).await.expect("columns");
        let key = TableKey::Columns(vec![KeyColumn {
            name: "tenant_id".to_owned(),
            kind: KeyType::Bigint,
        }]);
        let mut table = MovingTable {
            partition_of: found.partition_of.clone(),
            identity: found.identity(&key),
            lookup_columns: found.lookup_columns(&key),
            columns: columns.into_iter().map(|found| found.column).collect(),
            ..MovingTable::bare(name, key)
        };
        (table.format, table.format_why) =
            copy_format(&table, MajorVersions::default(), CopyFormat::Auto);
        tables.push(table);
    }
    tables
}

/// Waits until the session waits for a lock.
pub(crate) async fn until_blocked(observer: &Connected, blocked: i32) {
    until("the session waits for a lock", || async {
        let read = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1";
        let row = observer.query_opt(read, &[&blocked]).await.expect("read");
        row.and_then(|row| row.get::<_, Option<bool>>(0)) == Some(true)
    })
    .await;
}

/// Returns the pid of the session's server process.
pub(crate) async fn pid(session: &Connected) -> i32 {
    let read = "select pg_backend_pid()";
    session.query_one(read, &[]).await.expect("a pid").get(0)
}

/// Returns the SQLSTATE of an error.
pub(crate) fn state<T: std::fmt::Debug>(outcome: Result<T, tokio_postgres::Error>) -> String {
    let error = outcome.expect_err("refused");
    let state = error.code().map(|code| code.code().to_owned());
    state.unwrap_or_else(|| error.to_string())
}

/// Returns the failure code of a step error.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, StepError>) -> String {
    let error = outcome.expect_err("refused");
    error.failure().expect("a failure").code.clone()
}
