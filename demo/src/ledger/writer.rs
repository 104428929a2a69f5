//! Writes the ledger file, and counts its transactions by phase.

use super::{
    AcceptedWrite, Balances, Baseline, CallEvent, LedgerLine, LedgerPhase, RefusedWrites,
    ServerCrash, TransactionEntry, TransactionOutcome, Transfer,
};
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The number of acknowledged transactions so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All transactions.
    pub acknowledged: u64,
    /// Those with moving keys.
    pub moving: u64,
    /// Those with moving keys, by [`LedgerPhase::index`].
    pub moving_by_phase: [u64; 5],
}

impl Tally {
    fn add(&mut self, moving: bool, phase: usize, count: u64) {
        if moving {
            self.moving += count;
            self.moving_by_phase[phase] += count;
        }
    }
}

/// The ledger file of one run.
#[derive(Debug)]
pub struct Ledger {
    state: Mutex<LedgerState>,
    crashes: Mutex<HashMap<ShardName, Crashes>>,
    phase: AtomicU64,
    begun: Instant,
}

#[derive(Debug)]
struct LedgerState {
    file: BufWriter<File>,
    moving_keys: KeySet,
    tally: Tally,
    /// The number of acknowledged transactions of each key, by phase.
    by_key: HashMap<Key, [u64; 5]>,
    /// The number of history events so far, and the time of the last one.
    events: u64,
    last_event: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Crashes {
    begun: u64,
    ended: u64,
}

impl Ledger {
    /// Creates the file, with the baseline as its first line.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn create(path: &Path, baseline: Baseline) -> io::Result<Self> {
        let moving_keys = baseline.moving.clone();
        let file = BufWriter::new(File::create(path)?);
        let state = LedgerState {
            file,
            moving_keys,
            tally: Tally::default(),
            by_key: HashMap::new(),
            events: 0,
            last_event: 0,
        };
        let ledger = Self {
            state: Mutex::new(state),
            crashes: Mutex::default(),
            phase: AtomicU64::new(0),
            begun: Instant::now(),
        };
        ledger.write(&LedgerLine::Baseline(baseline))?;
        Ok(ledger)
    }

    /// Sets the phase for transactions that begin from now on.
    pub fn set_phase(&self, phase: LedgerPhase) {
        let index = u64::try_from(phase.index()).unwrap_or_default();
        self.phase.store(index, Ordering::Relaxed);
    }

    /// Returns the current phase.
    #[must_use]
    pub fn phase(&self) -> LedgerPhase {
        let index = usize::try_from(self.phase.load(Ordering::Relaxed)).unwrap_or_default();
        LedgerPhase::ALL[index.min(LedgerPhase::ALL.len() - 1)]
    }

    /// Writes a transaction with its outcome.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record(&self, entry: TransactionEntry) -> io::Result<()> {
        let acknowledged = entry.outcome == TransactionOutcome::Acknowledged;
        let key = entry.key.clone();
        let index = entry.phase.index();
        self.write(&LedgerLine::Entry(entry))?;
        if acknowledged {
            let mut state = self.lock();
            let moving = state.moving_keys.contains(&key);
            state.tally.acknowledged += 1;
            state.tally.add(moving, index, 1);
            state.by_key.entry(key).or_default()[index] += 1;
        }
        Ok(())
    }

    /// Writes an event of a history. Its index and its time are set here, in the order of the lines.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record_event(&self, event: CallEvent) -> io::Result<()> {
        let mut state = self.lock();
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        state.last_event = now.max(state.last_event + 1);
        let line = LedgerLine::Event(CallEvent {
            index: state.events,
            time: state.last_event,
            ..event
        });
        state.events += 1;
        state.write(&line)
    }

    /// Writes a transfer of the bank with its outcome.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record_transfer(&self, transfer: Transfer) -> io::Result<()> {
        self.write(&LedgerLine::Transfer(transfer))
    }

    /// Writes balances that a client read in the bank.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record_balances(&self, read: Balances) -> io::Result<()> {
        self.write(&LedgerLine::Balances(read))
    }

    /// Writes a line about a write that a server accepted although it did not own the key.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record_accepted_write(&self, accepted: AcceptedWrite) -> io::Result<()> {
        self.write(&LedgerLine::AcceptedWrite(accepted))
    }

    /// Writes a line about how often a server refused writes to keys that it did not own.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn record_refused_writes(&self, refused: RefusedWrites) -> io::Result<()> {
        self.write(&LedgerLine::RefusedWrites(refused))
    }

    /// Sets the moving keys, once a plan has determined them. Earlier transactions are counted again.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn set_moving_keys(&self, keys: &KeySet) -> io::Result<()> {
        self.write(&LedgerLine::Moving(keys.clone()))?;
        let mut state = self.lock();
        let mut tally = Tally {
            acknowledged: state.tally.acknowledged,
            ..Tally::default()
        };
        for (key, counts) in &state.by_key {
            for (index, count) in counts.iter().enumerate() {
                tally.add(keys.contains(key), index, *count);
            }
        }
        state.moving_keys = keys.clone();
        state.tally = tally;
        Ok(())
    }

    /// Returns the number of acknowledged transactions of each key.
    #[must_use]
    pub fn acknowledged_by_key(&self) -> Vec<(Key, u64)> {
        let state = self.lock();
        let sum = |(key, counts): (&Key, &[u64; 5])| (key.clone(), counts.iter().sum());
        state.by_key.iter().map(sum).collect()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.lock().tally
    }

    /// Records that a crash begins. Call it before a shard's server is killed.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn begin_crash(&self, shard: &ShardName) -> io::Result<()> {
        let number = {
            let mut crashes = self.crashes.lock().unwrap_or_else(PoisonError::into_inner);
            let counts = crashes.entry(shard.clone()).or_default();
            counts.begun += 1;
            counts.begun
        };
        let shard = shard.clone();
        self.write(&LedgerLine::Crash(ServerCrash { shard, number }))
    }

    /// Records that a crash has ended. Call it when all processes of the killed server have ended.
    pub fn end_crash(&self, shard: &ShardName) {
        let mut crashes = self.crashes.lock().unwrap_or_else(PoisonError::into_inner);
        crashes.entry(shard.clone()).or_default().ended += 1;
    }

    /// Returns the number of crashes of a shard that have begun, and of those that have ended.
    #[must_use]
    pub fn crashes(&self, shard: &ShardName) -> (u64, u64) {
        let crashes = self.crashes.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = crashes.get(shard).copied().unwrap_or_default();
        (counts.begun, counts.ended)
    }

    /// Writes all buffered lines to the operating system.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn flush(&self) -> io::Result<()> {
        self.lock().file.flush()
    }

    fn write(&self, line: &LedgerLine) -> io::Result<()> {
        self.lock().write(line)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    fn write(&mut self, line: &LedgerLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text)
    }
}
