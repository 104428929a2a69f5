//! Clients that append small numbers to lists and read the lists. The ledger records each call before it is made and
//! after it has ended. The sequence of these records is the history of a list.
//!
//! Each list gets numbers from 1 upwards, in the order in which they arrive. The demo checks after the run whether each
//! history is linearizable; so that this stays fast, a new list begins after [`MAX_LENGTH`] appends. Appends wait for
//! the disk: after a crash their outcome may be unknown, but an acknowledged append is not lost. All clients share one
//! [`client::Map`], so that no client reads from the old owner after another client has observed a write on the new
//! owner. Therefore a read without a lock is never stale, and the history contains such reads too.

use super::client_loop::ClientAction;
use super::plan::choose_isolation;
use super::shared_tenant::{SharedTenant, still_owns};
use super::tenant_tables::TenantTables;
use super::worker::SharedClients;
use crate::ledger::{CallEvent, CallPhase, ListOperation, list_name};
use crate::shop::{KeyShape, Shop};
use client::{ClientError, TransactionOptions};
use futures::FutureExt;
use plans::id::ShardName;
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of appends to a list before the next list begins.
const MAX_LENGTH: i64 = 32;

/// The SQL statements. The tenant is `$1`, the list is `$2`. `{keys}` is the place of the columns of the shard key,
/// `{key_of_1}` for the shard key of tenant `$1`, and `{is_1}` for the condition that a row has this key.
#[derive(Debug)]
pub(super) struct ListStatements {
    tables: TenantTables,
    append: String,
    read: String,
}

impl ListStatements {
    pub(super) fn new(shape: KeyShape) -> Self {
        let append = "insert into lists ({keys}, id, items) \
            values ({key_of_1}, $2::bigint, array[$3::bigint]) \
            on conflict ({keys}, id) do update set items = lists.items || excluded.items returning items";
        let read = "select items from lists where {is_1} and id = $2::bigint";
        Self {
            tables: TenantTables::new(shape),
            append: shape.fill(append),
            read: shape.fill(read),
        }
    }
}

/// The lists in use, by tenant.
#[derive(Debug, Default)]
pub(super) struct CurrentLists {
    lists: Mutex<HashMap<i64, CurrentList>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct CurrentList {
    list: i64,
    /// The last value that was assigned.
    last_value: i64,
    /// True if a client has received a confirmation that the list exists.
    begun: bool,
}

impl CurrentLists {
    /// Returns the tenant's current list, and a value that no other call appends to it. Begins a new list if the
    /// current one is full. Does not execute SQL.
    fn next_value(&self, tenant: i64) -> (i64, i64) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let current = lists.entry(tenant).or_default();
        if current.last_value == MAX_LENGTH {
            *current = CurrentList {
                list: current.list + 1,
                ..CurrentList::default()
            };
        }
        current.last_value += 1;
        (current.list, current.last_value)
    }

    /// Returns the tenant's current list. Does not execute SQL.
    fn current_list(&self, tenant: i64) -> i64 {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.entry(tenant).or_default().list
    }

    fn set_begun(&self, tenant: i64, list: i64) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let current = lists.entry(tenant).or_default();
        current.begun |= current.list == list;
    }

    fn has_begun(&self, tenant: i64, list: i64) -> bool {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let current = lists.get(&tenant).copied().unwrap_or_default();
        current.list > list || current.begun
    }
}

/// One client, which appends to lists and reads them.
#[derive(Debug)]
pub(super) struct Appender {
    /// The number of the client in the history (not a process of the operating system).
    pub(super) process: u64,
    /// The number of clients. It is added to `process` after a call with an unknown outcome (`CallPhase::Unknown`),
    /// because in a history a client with such a call must not make another call.
    pub(super) clients: u64,
    pub(super) shop: Shop,
    pub(super) shared_tenant: Arc<SharedTenant>,
    pub(super) lists: Arc<CurrentLists>,
    pub(super) sql: Arc<ListStatements>,
    pub(super) shared: SharedClients,
    pub(super) rng: StdRng,
}

impl ClientAction for Appender {
    async fn act(&mut self) -> io::Result<()> {
        let (tenant, _) = self.shared_tenant.next();
        let options = choose_isolation(&mut self.rng);
        let (list, call) = if self.rng.random_bool(0.5) {
            let (list, value) = self.lists.next_value(tenant);
            (list, ListOperation::Append(value))
        } else {
            (self.lists.current_list(tenant), ListOperation::Read)
        };
        let event = |process, kind, values| CallEvent {
            index: 0,
            process,
            kind,
            list: list_name(&self.shop.key(tenant), list),
            call,
            values,
            time: 0,
        };
        let invoked = event(self.process, CallPhase::Invoke, None);
        self.shared.ledger.record_event(invoked)?;
        let (kind, values) = match call {
            ListOperation::Append(value) => self.append(tenant, list, value, options).await,
            ListOperation::Read => self.read(tenant, list, options).await,
        };
        if values.as_ref().is_some_and(|values| !values.is_empty()) {
            self.lists.set_begun(tenant, list);
        }
        let ended = event(self.process, kind, values);
        if kind == CallPhase::Unknown {
            self.process += self.clients;
        }
        self.shared.ledger.record_event(ended)
    }
}

impl Appender {
    async fn append(
        &self,
        tenant: i64,
        list: i64,
        value: i64,
        options: TransactionOptions,
    ) -> (CallPhase, Option<Vec<i64>>) {
        let key = self.shop.key(tenant);
        let done = self.shared.map.with_shard(&key, options, |tx| {
            let sql = Arc::clone(&self.sql);
            async move {
                sql.tables.select(tx, tenant).await?;
                tx.query(&sql.append, &[&tenant, &list, &value]).await
            }
            .boxed()
        });
        match done.await {
            Ok(rows) => (CallPhase::Ok, rows.first().map(|row| row.get(0))),
            Err(ClientError::CommitUnknown { .. }) => (CallPhase::Unknown, None),
            Err(error) => {
                tracing::warn!(tenant, list, %error, "append failed");
                (CallPhase::Fail, None)
            }
        }
    }

    async fn read(
        &self,
        tenant: i64,
        list: i64,
        options: TransactionOptions,
    ) -> (CallPhase, Option<Vec<i64>>) {
        let key = self.shop.key(tenant);
        let done = self.shared.map.with_shard(&key, options, |tx| {
            let sql = Arc::clone(&self.sql);
            async move {
                sql.tables.select(tx, tenant).await?;
                let rows = tx.query(&sql.read, &[&tenant, &list]).await?;
                let items: Option<Vec<i64>> = rows.first().map(|row| row.get(0));
                Ok::<_, tokio_postgres::Error>((items, tx.shard().clone()))
            }
            .boxed()
        });
        match done.await {
            Ok((Some(items), _)) => (CallPhase::Ok, Some(items)),
            Ok((None, shard)) if self.was_moved(tenant, list, &shard).await => {
                (CallPhase::Fail, None)
            }
            Ok((None, _)) => (CallPhase::Ok, Some(Vec::new())),
            Err(error) => {
                tracing::debug!(tenant, list, %error, "list not read");
                (CallPhase::Fail, None)
            }
        }
    }

    /// Returns whether a list that has begun is missing because its rows are now on another shard.
    async fn was_moved(&self, tenant: i64, list: i64, shard: &ShardName) -> bool {
        let map = &self.shared.map;
        self.lists.has_begun(tenant, list) && !still_owns(map, &self.shop, tenant, shard).await
    }
}
