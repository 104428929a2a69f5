//! A process of a server that a test stops, so that the server does nothing in the background that the test excludes.

use rustix::process::{Pid, Signal, kill_process};

use super::shard::{Shard, until};

/// A background process of a server, stopped with SIGSTOP until this is dropped.
pub(super) struct FrozenProcess(Pid);

impl FrozenProcess {
    /// Stops the process that replays the log of a standby.
    pub(super) async fn replay_of(standby: &Shard) -> Self {
        Self::of(standby, "backend_type = 'startup'").await
    }

    /// Stops the WAL writer while it sleeps, when it holds no lock.
    ///
    /// It flushes asynchronous commits at a time of its own. The test must have set `wal_writer_delay` to a long time.
    pub(super) async fn wal_writer_of(database: &Shard) -> Self {
        let asleep = "backend_type = 'walwriter' and wait_event = 'WalWriterMain'";
        Self::of(database, asleep).await
    }

    async fn of(database: &Shard, which: &str) -> Self {
        let session = database.session().await;
        let find = &format!("select pid from pg_stat_activity where {which}");
        until("the process is there", || async {
            let found = session.query_opt(find, &[]).await.expect("read");
            found.is_some()
        })
        .await;
        let pid = session.query_one(find, &[]).await.expect("found").get(0);
        let pid = Pid::from_raw(pid).expect("a process");
        kill_process(pid, Signal::STOP).expect("stopped");
        Self(pid)
    }
}

impl Drop for FrozenProcess {
    fn drop(&mut self) {
        // The process has ended if the server was killed or the test has failed.
        let _ = kill_process(self.0, Signal::CONT);
    }
}
