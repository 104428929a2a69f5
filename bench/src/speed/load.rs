//! An application on keys that stay: an open-loop load at a fixed rate, whose latencies count from the moment at which
//! a transaction was due, and which tells the controller what they are.

use super::busy::now;
use super::figures::Samples;
use super::ground::Ground;
use super::ours;
use super::place::Place;
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Of the most that the source can do, what an application is measured at.
pub(crate) const HALF: f64 = 0.5;
/// Connections of the application's pool.
const CLIENTS: &str = "16";
/// What the application does by itself while it holds a connection, so that its pool is what it has the least of, as
/// is usual, and not the cores, which are the migration's too.
const OWN_WORK: &str = "12 ms";
/// The application tells its p99 this often, of as long before.
const REPORTS: Duration = Duration::from_secs(1);
pub(crate) const OF_THE_LAST: u128 = 2_000_000;
/// What was due so soon after a pgbench began is left out, microseconds: its sessions are new and know nothing yet, which
/// an application's pool is not when its load steps.
const COLD: u128 = 500_000;
const PROBE_SECONDS: u32 = 5;
/// Probes of the most that the source can do; the least of them counts, for all rounds: a machine that is shared is
/// not always as quick.
const PROBES: usize = 3;

/// One transaction of pgbench's log.
pub(crate) struct Transaction {
    /// When it ended, microseconds since 1970.
    pub(crate) at: u128,
    /// From when it was due, microseconds.
    pub(crate) latency: f64,
}

impl Transaction {
    fn due(&self) -> u128 {
        self.at.saturating_sub(self.latency as u128)
    }
}

/// The load, as pgbench makes it.
pub(crate) struct Load<'a> {
    source: &'a Place,
    folder: &'a Path,
    script: PathBuf,
    /// Transactions a second that the source can do.
    pub(crate) most: f64,
}

/// A pgbench that is under way; it is ended with what it is for.
pub(crate) struct Running(Child);

impl Running {
    /// What its log is called by.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn is_over(&mut self) -> anyhow::Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }

    /// Waits for its end.
    fn finish(mut self) -> anyhow::Result<()> {
        if !self.0.wait()?.success() {
            bail!("pgbench failed");
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<'a> Load<'a> {
    /// Writes pgbench's script, in which a tenant that stays reads the items of an order, thinks, and changes an account,
    /// and finds how many of these the source can do.
    pub(crate) fn new(source: &'a Place, folder: &'a Path, items: u64) -> anyhow::Result<Self> {
        let first = ours::LAST_MOVING + 1;
        let (accounts, orders) = (items / 20 / 1000 - 1, items / 5 / 1000 - 1);
        let script = folder.join("load.sql");
        let text = format!(
            "\\set t random({first}, 1000)\n\
             \\set a :t - 1 + 1000 * random(0, {accounts})\n\\set o :t - 1 + 1000 * random(0, {orders})\n\
             begin;\nselect sum(price) from order_items where tenant_id = :t and order_id = :o;\n\\sleep {OWN_WORK}\n\
             update accounts set email = 'at ' || now() where tenant_id = :t and id = :a;\nend;\n"
        );
        std::fs::write(&script, text)?;
        let mut load = Self {
            source,
            folder,
            script,
            most: 0.0,
        };
        let mut most = Vec::new();
        for _ in 0..PROBES {
            most.push(load.probe()?);
        }
        load.most = most.into_iter().fold(f64::INFINITY, f64::min);
        Ok(load)
    }

    /// Transactions a second at most, in a closed loop.
    fn probe(&self) -> anyhow::Result<f64> {
        let seconds = PROBE_SECONDS.to_string();
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

    /// Begins a load of a share of the most, for so many seconds, and logs it under `name`.
    pub(crate) fn start(&self, share: f64, seconds: u32, name: &str) -> anyhow::Result<Running> {
        let rate = (self.most * share).to_string();
        let mut pgbench = self.pgbench(&seconds.to_string());
        pgbench
            .args(["--rate", &rate, "--log", "--log-prefix"])
            .arg(self.folder.join(name))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Running(pgbench.spawn()?))
    }

    /// Lets a load of a share of the most run alone for so many seconds; its transactions.
    pub(crate) fn alone(&self, share: f64, seconds: u32) -> anyhow::Result<Vec<Transaction>> {
        let running = self.start(share, seconds, "alone")?;
        let pid = running.pid();
        running.finish()?;
        self.logged("alone", pid)
    }

    /// The transactions that a run logged, so far, but for its beginning; a line that is not complete yet is left out.
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
        all.retain(|transaction| begun.is_some_and(|begun| transaction.due() >= begun + COLD));
        Ok(all)
    }
}

/// Tells the p99 of a load that is under way until it is over, or `done` says so of the migration; whether that did.
pub(crate) fn record_until(
    ground: &Ground,
    (load, running, name): (&Load<'_>, &mut Running, &str),
    id: &str,
    done: impl Fn(&Value) -> bool,
    mut keep: impl FnMut(f64),
) -> anyhow::Result<bool> {
    while !running.is_over()? {
        std::thread::sleep(REPORTS);
        let shown = ground.show(id)?;
        let mut last = load.logged(name, running.pid())?;
        let from = now() - OF_THE_LAST;
        last.retain(|transaction| transaction.at >= from);
        if !last.is_empty() {
            let p99 = quantile(&last, 0.99)? / 1000.0;
            ground.report_latency("bench", p99)?;
            keep(p99);
            eprintln!("    p99 {p99:.0} ms, {}", ours::throttle_text(&shown));
        }
        if done(&shown) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the percentiles of a load alone and beside something, milliseconds.
pub(crate) fn compare(
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

/// The latency that so large a share does not exceed, microseconds.
pub(crate) fn quantile(all: &[Transaction], share: f64) -> anyhow::Result<f64> {
    let mut latencies: Vec<f64> = all.iter().map(|transaction| transaction.latency).collect();
    latencies.sort_by(f64::total_cmp);
    let at = (latencies.len() as f64 * share) as usize;
    let at = latencies.get(at.min(latencies.len().saturating_sub(1)));
    at.copied().context("no transaction was logged")
}
