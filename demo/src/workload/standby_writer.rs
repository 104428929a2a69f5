//! A client that tries without pause to write to a standby, directly and not by the map: to moving and to staying keys,
//! before, during and after the promotion of the standby.
//!
//! The client overrides settings that make transactions read-only. It rolls every write back, so that an accepted write
//! is observed and leaves no row. The caller judges accepted writes, because the server owns the moving keys some day.

use super::TenantMix;
use crate::ledger::{AcceptedWrite, Ledger, RefusedWrites};
use crate::shop::Shop;
use connect::{Connected, Dsn, Session};
use futures::future::BoxFuture;
use plans::id::ShardName;
use plans::key::Key;
use plans::names::{SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;

/// The time between two attempts. It leaves the processors to the other clients.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(1);
/// The time between two attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);
/// The operation number in the ledger rows of these writes. No other client has it.
const NO_OPERATION: i64 = -1;

/// The judgement of an accepted write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteVerdict {
    /// The map names the server as the owner of the key.
    Owner,
    /// The server is no shard any more.
    NoShard,
    /// The server must not accept the write.
    Violation,
}

/// Judges an accepted write to a key.
pub type WriteJudge = Arc<dyn Fn(Key) -> BoxFuture<'static, WriteVerdict> + Send + Sync>;

/// The server and the keys to which a client tries to write.
pub struct StandbyWriterSettings {
    /// The shard that the server becomes.
    pub shard: ShardName,
    /// The application's connection string.
    pub dsn: Dsn,
    /// The tenants with moving and with staying keys.
    pub mix: Arc<TenantMix>,
    /// The columns of the keys.
    pub shop: Shop,
    /// Judges accepted writes.
    pub judge: WriteJudge,
}

impl fmt::Debug for StandbyWriterSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = f.debug_struct("StandbyWriterSettings");
        settings.field("shard", &self.shard).finish_non_exhaustive()
    }
}

/// A running client. Dropping the value ends it, without the record of refused writes.
#[derive(Debug)]
pub struct StandbyWriter {
    stop: watch::Sender<bool>,
    task: JoinHandle<io::Result<()>>,
}

impl StandbyWriter {
    /// Starts the client.
    #[must_use]
    pub fn start(settings: StandbyWriterSettings, ledger: &Arc<Ledger>) -> Self {
        let stop = watch::Sender::new(false);
        let client = WriterClient::new(settings, Arc::clone(ledger));
        let task = tokio::spawn(client.run(stop.subscribe()));
        Self { stop, task }
    }

    /// Ends the client, and records the refused writes in the ledger.
    ///
    /// # Errors
    /// An error of the ledger file, or of a client that panicked.
    pub async fn stop(mut self) -> io::Result<()> {
        self.stop.send_replace(true);
        (&mut self.task).await.map_err(io::Error::other)?
    }
}

impl Drop for StandbyWriter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The result of one attempt.
enum Attempt {
    ReadOnly,
    Refused,
    Failed,
    Accepted,
}

struct WriterClient {
    settings: StandbyWriterSettings,
    ledger: Arc<Ledger>,
    insert: String,
    update: String,
    refused: RefusedWrites,
    /// The tenants to which the client still writes: the moving ones, until the server owns them, and the others.
    tenants: Vec<i64>,
    session: Option<Connected>,
}

impl WriterClient {
    fn new(settings: StandbyWriterSettings, ledger: Arc<Ledger>) -> Self {
        let shape = settings.shop.shape;
        let insert = "insert into public.ledger ({keys}, op, client, kind) \
            select {key_of_1}, $2::bigint, 0, 'standby'";
        let update =
            "update public.accounts set balance = balance + 1 where {is_1} and id = $2::bigint";
        let (moving, staying) = (&settings.mix.moving, &settings.mix.staying);
        let pairs = moving.iter().zip(staying.iter().cycle());
        Self {
            insert: shape.fill(insert),
            update: shape.fill(update),
            refused: RefusedWrites {
                shard: settings.shard.clone(),
                read_only: 0,
                by_guard: 0,
                failed: 0,
            },
            tenants: pairs
                .flat_map(|(moving, other)| [*moving, *other])
                .collect(),
            session: None,
            settings,
            ledger,
        }
    }

    async fn run(mut self, stop: watch::Receiver<bool>) -> io::Result<()> {
        for number in 0_usize.. {
            if *stop.borrow() || self.tenants.is_empty() {
                break;
            }
            let tenant = self.tenants[number / 2 % self.tenants.len()];
            match self.attempt(tenant, number % 2 == 0).await {
                Attempt::ReadOnly => self.refused.read_only += 1,
                Attempt::Refused => self.refused.by_guard += 1,
                Attempt::Failed => self.refused.failed += 1,
                Attempt::Accepted => self.judge(tenant).await?,
            }
            tokio::time::sleep(ATTEMPT_INTERVAL).await;
        }
        self.ledger.record_refused_writes(self.refused)
    }

    /// Tries one write, and rolls it back.
    async fn attempt(&mut self, tenant: i64, inserts: bool) -> Attempt {
        let Some(session) = self.connect().await else {
            return Attempt::Failed;
        };
        let account = self.settings.shop.account(tenant, 0);
        let written = async {
            session.batch_execute("begin read write").await?;
            match inserts {
                true => {
                    session
                        .execute(&self.insert, &[&tenant, &NO_OPERATION])
                        .await
                }
                false => session.execute(&self.update, &[&tenant, &account]).await,
            }
        };
        let attempt = match written.await {
            // The row may have been removed as a surplus row.
            Ok(0) => Attempt::Failed,
            Ok(_) => Attempt::Accepted,
            Err(error) => refusal(error.code()),
        };
        if session.batch_execute("rollback").await.is_ok() {
            self.session = Some(session);
        }
        attempt
    }

    /// Returns the open session, or opens another one.
    async fn connect(&mut self) -> Option<Connected> {
        if let Some(session) = self.session.take() {
            return Some(session);
        }
        let opened = connect::connect(&self.settings.dsn, &Session::named("standby-writer")).await;
        if opened.is_err() {
            tokio::time::sleep(CONNECT_INTERVAL).await;
        }
        opened.ok()
    }

    async fn judge(&mut self, tenant: i64) -> io::Result<()> {
        let key = self.settings.shop.key(tenant);
        match (self.settings.judge)(key.clone()).await {
            WriteVerdict::Owner => {
                let moving = &self.settings.mix.moving;
                self.tenants.retain(|tenant| !moving.contains(tenant));
            }
            WriteVerdict::NoShard => self.tenants.clear(),
            WriteVerdict::Violation => {
                let shard = self.settings.shard.clone();
                self.ledger
                    .record_accepted_write(AcceptedWrite { shard, key })?;
            }
        }
        Ok(())
    }
}

fn refusal(code: Option<&SqlState>) -> Attempt {
    match code {
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Attempt::ReadOnly,
        Some(code) if [SQLSTATE_NOT_OPEN, SQLSTATE_NOT_OWNER].contains(&code.code()) => {
            Attempt::Refused
        }
        Some(code) if *code == SqlState::FEATURE_NOT_SUPPORTED => Attempt::ReadOnly,
        _ => Attempt::Failed,
    }
}
