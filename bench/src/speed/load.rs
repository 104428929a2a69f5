//! The load of an application whose keys do not move. It is an open-loop load with a fixed rate: the latency of a
//! transaction is measured from the time at which it was due. The application reports its latency to the controller.

use super::busy::now;
use super::database::Database;
use super::figures::Samples;
use super::setup::BenchmarkSetup;
use super::shardwright;
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// The load at which an application is measured, as a fraction of the maximum that the source can execute.
pub(crate) const HALF_LOAD: f64 = 0.5;
/// The number of connections of the application's pool.
const CLIENTS: &str = "16";
/// How long a transaction sleeps while it holds its connection. With this time the size of the pool limits the load, as
/// is usual for applications. Otherwise the cores would, which the migration needs too.
const PAUSE_IN_TRANSACTION: &str = "12 ms";
/// The interval at which the application reports its p99.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The application computes its p99 from the transactions that ended in the last two seconds (here in microseconds).
pub(crate) const REPORT_PERIOD: u128 = 2_000_000;
/// Transactions that were due in this time after the start of pgbench are left out, in microseconds. The sessions of
/// pgbench are new and have empty caches then; the sessions of an application's pool are not new when its load changes.
const WARM_UP: u128 = 500_000;
/// The duration of one measurement of the maximum load, in seconds.
const MAX_RATE_SECONDS: u32 = 5;
/// The number of measurements of the maximum load. The smallest result is used in all rounds, because a shared machine
/// is not always equally fast.
const MAX_RATE_MEASUREMENTS: usize = 3;

/// One transaction of pgbench's log.
pub(crate) struct Transaction {
    /// When the transaction ended, in microseconds since 1970.
    pub(crate) at: u128,
    /// The time from when the transaction was due until it ended, in microseconds.
    pub(crate) latency: f64,
}

impl Transaction {
    fn due(&self) -> u128 {
        self.at.saturating_sub(self.latency as u128)
    }
}

/// A load that pgbench generates on the source.
pub(crate) struct Load<'a> {
    source: &'a Database,
    folder: &'a Path,
    script: PathBuf,
    /// The maximum number of transactions per second that the source can execute.
    pub(crate) max_rate: f64,
}

/// A running pgbench. Dropping the value ends it.
pub(crate) struct RunningLoad(Child);

impl RunningLoad {
    /// Returns the process id, which is part of the name of pgbench's log.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }

    /// Waits until pgbench has ended. Fails if it failed.
    fn finish(mut self) -> anyhow::Result<()> {
        if !self.0.wait()?.success() {
            bail!("pgbench failed");
        }
        Ok(())
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<'a> Load<'a> {
    /// Writes pgbench's script and measures the maximum load. A transaction of a tenant that does not move reads the
    /// items of an order, sleeps for [`PAUSE_IN_TRANSACTION`], and changes an account.
    pub(crate) fn new(source: &'a Database, folder: &'a Path, items: u64) -> anyhow::Result<Self> {
        let first = shardwright::LAST_MOVING + 1;
        let (accounts, orders) = (items / 20 / 1000 - 1, items / 5 / 1000 - 1);
        let script = folder.join("load.sql");
        let text = format!(
            "\\set t random({first}, 1000)\n\
             \\set a :t - 1 + 1000 * random(0, {accounts})\n\\set o :t - 1 + 1000 * random(0, {orders})\n\
             begin;\nselect sum(price) from order_items where tenant_id = :t and order_id = :o;\n\\sleep {PAUSE_IN_TRANSACTION}\n\
             update accounts set email = 'at ' || now() where tenant_id = :t and id = :a;\nend;\n"
        );
        std::fs::write(&script, text)?;
        let mut load = Self {
            source,
            folder,
            script,
            max_rate: 0.0,
        };
        let mut rates = Vec::new();
        for _ in 0..MAX_RATE_MEASUREMENTS {
            rates.push(load.measure_max_rate()?);
        }
        load.max_rate = rates.into_iter().fold(f64::INFINITY, f64::min);
        Ok(load)
    }

    /// Measures the maximum number of transactions per second in a closed loop.
    fn measure_max_rate(&self) -> anyhow::Result<f64> {
        let seconds = MAX_RATE_SECONDS.to_string();
        let mut pgbench = self.pgbench(&seconds);
        let output = pgbench.output()?;
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = output_text
            .lines()
            .find_map(|line| line.strip_prefix("tps = "));
        let number = line.and_then(|line| line.split(' ').next());
        let number = number.with_context(|| format!("pgbench: {output_text}"))?;
        Ok(number.parse()?)
    }

    fn pgbench(&self, seconds: &str) -> std::process::Command {
        let mut pgbench = self.source.program("pgbench");
        pgbench
            .args(["-n", "-M", "prepared", "-c", CLIENTS, "-T", seconds, "-f"])
            .arg(&self.script);
        pgbench
    }

    /// Starts the load for `seconds`, with the fraction `share` of the maximum rate. The prefix of its log is `name`.
    pub(crate) fn start(
        &self,
        share: f64,
        seconds: u32,
        name: &str,
    ) -> anyhow::Result<RunningLoad> {
        let rate = (self.max_rate * share).to_string();
        let mut pgbench = self.pgbench(&seconds.to_string());
        pgbench
            .args(["--rate", &rate, "--log", "--log-prefix"])
            .arg(self.folder.join(name))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(RunningLoad(pgbench.spawn()?))
    }

    /// Runs the load for `seconds` without a migration, and returns its transactions.
    pub(crate) fn run_alone(&self, share: f64, seconds: u32) -> anyhow::Result<Vec<Transaction>> {
        let running = self.start(share, seconds, "alone")?;
        let pid = running.pid();
        running.finish()?;
        self.logged("alone", pid)
    }

    /// Returns the transactions that a pgbench has logged so far, without those of its first half second ([`WARM_UP`])
    /// and without an incomplete last line.
    pub(crate) fn logged(&self, name: &str, pid: u32) -> anyhow::Result<Vec<Transaction>> {
        let text = std::fs::read_to_string(self.folder.join(format!("{name}.{pid}")))?;
        let line = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| fields.get(at)?.parse::<u128>().ok();
            Some(Transaction {
                at: number(4)? * 1_000_000 + number(5)?,
                latency: fields.get(2)?.parse().ok()?,
            })
        };
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = complete
            .lines()
            .map(|text| line(text).with_context(|| format!("pgbench's log: {text}")));
        let mut all = lines.collect::<anyhow::Result<Vec<Transaction>>>()?;
        let begun = all.iter().map(Transaction::due).min();
        all.retain(|transaction| begun.is_some_and(|begun| transaction.due() >= begun + WARM_UP));
        Ok(all)
    }
}

/// Reports the p99 of a running load to the controller until `done` returns true for the migration `id`, or the load
/// has ended. Returns true in the first case. `on_p99` receives each p99 in milliseconds.
pub(crate) fn report_until(
    setup: &BenchmarkSetup,
    (load, running, name): (&Load<'_>, &mut RunningLoad, &str),
    id: &str,
    done: impl Fn(&Value) -> bool,
    mut on_p99: impl FnMut(f64),
) -> anyhow::Result<bool> {
    while !running.has_ended()? {
        std::thread::sleep(REPORT_INTERVAL);
        let shown = setup.show(id)?;
        let mut last = load.logged(name, running.pid())?;
        let from = now() - REPORT_PERIOD;
        last.retain(|transaction| transaction.at >= from);
        if !last.is_empty() {
            let p99 = quantile(&last, 0.99)? / 1000.0;
            setup.report_latency("bench", p99)?;
            on_p99(p99);
            eprintln!(
                "    p99 {p99:.0} ms, {}",
                shardwright::throttle_text(&shown)
            );
        }
        if done(&shown) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds percentiles of the latency in milliseconds, without (`alone`) and with a concurrent migration (`beside`).
pub(crate) fn add_percentiles(
    name: &str,
    (alone, beside): (&[Transaction], &[Transaction]),
    samples: &mut Samples,
) -> anyhow::Result<()> {
    for (percentile, share) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        let (before, during) = (quantile(alone, share)?, quantile(beside, share)?);
        samples.add(&format!("{name}.{percentile}_alone_ms"), before / 1000.0);
        samples.add(&format!("{name}.{percentile}_beside_ms"), during / 1000.0);
    }
    Ok(())
}

/// Returns the quantile `share` (0 to 1) of the latencies, in microseconds.
pub(crate) fn quantile(all: &[Transaction], share: f64) -> anyhow::Result<f64> {
    let mut latencies: Vec<f64> = all.iter().map(|transaction| transaction.latency).collect();
    latencies.sort_by(f64::total_cmp);
    let index = (latencies.len() as f64 * share) as usize;
    let latency = latencies.get(index.min(latencies.len().saturating_sub(1)));
    latency.copied().context("no transaction was logged")
}
