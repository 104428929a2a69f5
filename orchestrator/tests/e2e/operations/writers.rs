//! Writers with a ledger of their own: what each tenant's rows must be, after every commit that was acknowledged.
//!
//! A writer knows two shards and asks the other one when its shard gives the key away, as an application does that
//! has no map. Its transactions are the test's: statements, and what they make of the expected rows.

use crate::fleet::Fleet;
use connect::Connected;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

const LIMIT: Duration = Duration::from_secs(60);
/// Between two transactions of a writer.
const BETWEEN: Duration = Duration::from_millis(5);

/// The rows of one tenant, by number, in the form that the test reads them back.
pub(crate) type Rows = BTreeMap<i64, String>;

/// The transaction of a turn: statements for a tenant, given its number, and the rows as they are afterwards.
pub(crate) type Turn = fn(tenant: i64, turn: u64, rows: &mut Rows) -> String;

/// A statement that changes one row. Where it changes none, it is repeated on the other shard, as a refused one is: the
/// guard refuses changes of rows, and a shard that does not own the row can lack it at that moment.
pub(crate) fn changing(statement: &str) -> String {
    format!("do $$ begin {statement}; if not found then raise sqlstate 'SM002'; end if; end $$")
}

/// The table in which a tenant's turns insert, change and delete rows with an `id` and a `note`.
pub(crate) struct NotedTable {
    pub(crate) table: String,
    /// What finds the tenant's rows, before ` and id = ...`.
    pub(crate) of_tenant: String,
    /// The columns and the values of a new row, before those of `id` and `note`; each ends with a comma unless it is empty.
    pub(crate) given: [String; 2],
}

impl NotedTable {
    /// Returns the statement of a turn.
    pub(crate) fn turn(&self, turn: u64, rows: &mut Rows) -> String {
        let id = i64::try_from(turn).unwrap() + 1_000_000;
        let (table, tenant) = (&self.table, &self.of_tenant);
        match (turn % 3, rows.keys().next().copied()) {
            (1, Some(oldest)) => {
                rows.insert(oldest, format!("changed {turn}"));
                changing(&format!(
                    "update {table} set note = 'changed {turn}' where {tenant} and id = {oldest}"
                ))
            }
            (2, Some(oldest)) if rows.len() > 50 => {
                rows.remove(&oldest);
                changing(&format!(
                    "delete from {table} where {tenant} and id = {oldest}"
                ))
            }
            _ => {
                rows.insert(id, format!("new {turn}"));
                let [columns, values] = &self.given;
                format!(
                    "insert into {table} ({columns}id, note) values ({values}{id}, 'new {turn}')"
                )
            }
        }
    }
}

/// The pace of one writer: a load that two cores bear beside the rest.
pub(crate) fn pace() -> Interval {
    let mut pace = tokio::time::interval(BETWEEN);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// A writer for each tenant.
pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    tasks: Vec<(i64, Arc<AtomicU64>, JoinHandle<Rows>)>,
}

impl Writers {
    /// Starts writing for `tenants`, each of which `shards` know; the first one has them now.
    pub(crate) async fn start(
        fleet: &Fleet,
        shards: [&str; 2],
        tenants: &[i64],
        turn: Turn,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for tenant in tenants.iter().copied() {
            let done = Arc::new(AtomicU64::new(0));
            let writer = Writer {
                sessions: [
                    fleet.session(shards[0]).await,
                    fleet.session(shards[1]).await,
                ],
                at: 0,
                tenant,
                turn,
                done: Arc::clone(&done),
                stop: Arc::clone(&stop),
            };
            tasks.push((tenant, done, tokio::spawn(writer.write())));
        }
        Self { stop, tasks }
    }

    /// Waits until each tenant has so many more acknowledged transactions.
    pub(crate) async fn more(&self, transactions: u64) {
        let begun = Instant::now();
        for (tenant, done, _) in &self.tasks {
            let goal = done.load(Ordering::Relaxed) + transactions;
            while done.load(Ordering::Relaxed) < goal {
                assert!(begun.elapsed() < LIMIT, "tenant {tenant} does not write");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Cuts a waiting migration over, rolls it back, cuts it over again and finishes it, with writes in each phase;
    /// `transactions` of each tenant in the second hold.
    pub(crate) async fn cut_over_twice(&self, fleet: &Fleet, id: &str, transactions: u64) {
        fleet.ok(&["approve", id, "--yes"]).await;
        fleet.wait(id, "flipped").await;
        self.more(20).await;
        fleet.ok(&["rollback", id, "--yes"]).await;
        fleet.wait(id, "rolled_back").await;
        self.more(20).await;
        fleet.ok(&["approve", id, "--yes"]).await;
        fleet.wait(id, "flipped").await;
        self.more(transactions).await;
        fleet.ok(&["finish", id, "--yes"]).await;
        fleet.wait(id, "completed").await;
    }

    /// Ends writing; what was acknowledged, tenant by tenant.
    pub(crate) async fn end(self) -> BTreeMap<i64, Rows> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = BTreeMap::new();
        for (tenant, _, task) in self.tasks {
            all.insert(tenant, task.await.unwrap());
        }
        all
    }
}

struct Writer {
    sessions: [Connected; 2],
    /// The shard that took the last write.
    at: usize,
    tenant: i64,
    turn: Turn,
    done: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Writer {
    async fn write(mut self) -> Rows {
        let mut rows = Rows::new();
        let mut turn = 0;
        let mut next = pace();
        while !self.stop.load(Ordering::Relaxed) {
            next.tick().await;
            let mut after = rows.clone();
            let statements = (self.turn)(self.tenant, turn, &mut after);
            self.commit(&format!("begin; {statements}; commit")).await;
            rows = after;
            turn += 1;
            self.done.store(turn, Ordering::Relaxed);
        }
        rows
    }

    /// Repeats the whole transaction until one of the shards has taken it.
    async fn commit(&mut self, transaction: &str) {
        let begun = Instant::now();
        loop {
            let session = &self.sessions[self.at];
            let Err(error) = session.batch_execute(transaction).await else {
                return;
            };
            let state = error.code().map(|code| code.code().to_owned());
            let elsewhere = matches!(state.as_deref(), Some("SM001" | "SM002"));
            assert!(elsewhere, "{transaction}: {error:?}");
            assert!(begun.elapsed() < LIMIT, "no shard takes {transaction}");
            session.batch_execute("rollback").await.unwrap();
            self.at = 1 - self.at;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
