//! Runs the demo as a program; its output is shown only where it fails.
//!
//! `SHARDWRIGHT_TEST_SOURCE` and `SHARDWRIGHT_TEST_TARGET` are the major versions of the servers that keys leave and come
//! to: `scripts/test-matrix` runs the same tests for one pair after the other.

use demo::{RunOutcome, RunReport, Servers};
use plans::request::Mode;
use plans::step::cutover::WriteBlockTimes;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::process::Command;

/// Far beyond what a run takes; a run that hangs is asked to end, and cleans up.
const LIMIT: Duration = Duration::from_secs(400);
/// A small shop and a moderate load: two runs fit beside each other on two cores.
const SMALL: &str = "demo --scale 0.02 --transactions 1500 --clients 4 --rate 250";
/// A smaller shop, for runs that are many and end when enough was written to moving keys.
const QUICK: &str = "demo --scale 0.003 --transactions 1500 --clients 4 --rate 200";

/// Of what a run said these are shown: the last ones, with the reason.
const LINES: usize = 60;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The program; the agent stands beside it.
pub(crate) fn program() -> PathBuf {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_shardwright"));
    let agent = program.with_file_name("shardwright-agent");
    assert!(
        agent.is_file(),
        "{} is missing: cargo build --bins",
        agent.display()
    );
    program
}

/// A disturbed split, which must end with exit 0 and all zeros.
pub(crate) async fn demo(line: &str) -> RunReport {
    let (report, said) = run(SMALL, line).await;
    zeros(&report, &said);
    of_a_split(&report, &said);
    report
}

/// A disturbed move of schemas or groups of tables, which must end with exit 0, all zeros and enough writes to moving
/// keys.
pub(crate) async fn whole_tables(line: &str) -> RunReport {
    let (report, said) = run(SMALL, line).await;
    zeros(&report, &said);
    assert!(report.ledger.acknowledged_on_moving_keys > 100, "{said}");
    if report.result != RunOutcome::Unwound {
        assert!(report.ledger.acknowledged_on_moving_keys >= 1_000, "{said}");
        assert!(report.rows_moved > 3_000, "{said}");
        assert!(report.verify.rows_compared >= report.rows_moved, "{said}");
        assert_ne!(report.window_ms, WriteBlockTimes::default(), "{said}");
    }
    report
}

/// An operation, which must end with exit 0, all zeros and enough writes to moving keys.
pub(crate) async fn operation(line: &str) -> RunReport {
    let (report, said) = run(QUICK, line).await;
    zeros(&report, &said);
    assert_eq!(report.result, RunOutcome::Completed, "{said}");
    let (mode, least) = match line.contains("--offline") {
        true => (Mode::Offline, 100),
        false => (Mode::Online, 1_000),
    };
    assert_eq!(report.mode, mode);
    assert!(report.ledger.acknowledged_on_moving_keys >= least, "{said}");
    assert!(report.rows_moved > 0, "{said}");
    assert!(report.verify.rows_compared >= report.rows_moved, "{said}");
    assert_ne!(report.window_ms, WriteBlockTimes::default(), "{said}");
    let seen = report.clients.not_owner + report.clients.not_open;
    let counted = report.writes_refused.expect("the guards count");
    assert!(
        u64::try_from(counted).is_ok_and(|counted| counted <= seen),
        "{said}"
    );
    report
}

/// The versions that this run of the tests is for.
pub(crate) fn servers() -> Servers {
    let major = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    Servers {
        source: major("SHARDWRIGHT_TEST_SOURCE"),
        target: major("SHARDWRIGHT_TEST_TARGET"),
    }
}

/// A run that must end with exit 0; its report, and everything that it said.
async fn run(settings: &str, line: &str) -> (RunReport, String) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("shardwright-e2e-{}-{number}.json", std::process::id());
    let file = std::env::temp_dir().join(name);
    let page = file.with_extension("html");
    let mut command = Command::new(program());
    command
        .args(settings.split(' '))
        .args(line.split_whitespace());
    let servers = servers();
    for (option, major) in [
        ("--source-postgres", servers.source),
        ("--target-postgres", servers.target),
    ] {
        command.args(
            major
                .iter()
                .flat_map(|major| [option.to_owned(), major.to_string()]),
        );
    }
    command.arg("--report").arg(&file);
    command.arg("--evidence").arg(&page);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).unwrap();
    let output = tokio::spawn(child.wait_with_output());
    tokio::pin!(output);
    let ended = tokio::select! {
        ended = &mut output => ended,
        () = tokio::time::sleep(LIMIT) => {
            terminate(pid).await;
            output.await
        }
    };
    let output = ended.unwrap().unwrap();
    let text = std::fs::read(&file).unwrap_or_default();
    for file in [&file, &page] {
        let _ = std::fs::remove_file(file);
    }
    let said = || {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let end = stderr.lines().count().saturating_sub(LINES);
        let stderr: Vec<&str> = stderr.lines().skip(end).collect();
        format!(
            "demo {line}: {}\n{stdout}\n{}",
            output.status,
            stderr.join("\n")
        )
    };
    assert!(output.status.success(), "{}", said());
    let report: RunReport = serde_json::from_slice(&text).unwrap_or_else(|_| panic!("{}", said()));
    let ran_on = |asked: Option<u32>, had| asked.is_none() || asked == had;
    assert!(ran_on(servers.source, report.servers.source), "{}", said());
    assert!(ran_on(servers.target, report.servers.target), "{}", said());
    (report, said())
}

async fn terminate(pid: i32) {
    let kill = Command::new("kill").arg(pid.to_string()).status();
    assert!(kill.await.unwrap().success());
}

/// What holds after every run, whatever happened in it.
fn zeros(report: &RunReport, said: &str) {
    let ledger = &report.ledger;
    assert!(ledger.is_clean(), "{said}");
    assert_eq!(report.leftovers.total(), 0, "{said}");
    assert_eq!(report.verify.different, 0, "{said}");
}

/// What holds after a split in two that was disturbed.
fn of_a_split(report: &RunReport, said: &str) {
    let ledger = &report.ledger;
    assert!(
        ledger.acknowledged >= 1_500 || report.result == RunOutcome::Unwound,
        "{said}"
    );
    assert!(ledger.acknowledged_on_moving_keys > 100, "{said}");
    let stops = i64::try_from(1 + report.troubles.len() + report.paused_in.len()).unwrap();
    let costs = match &report.kill {
        // Its snapshots are gone, and with them the tables that were half copied when half was.
        Some(kill) if kill.process == "source" => {
            report.bytes_copied / 2 + 2 * report.largest_chunk_bytes
        }
        // One chunk for each of the two streams.
        Some(_) | None => stops * 2 * report.largest_chunk_bytes,
    };
    assert!(report.bytes_copied_twice <= costs, "{said}");
    if report.result == RunOutcome::Completed {
        assert_eq!(
            (report.map_version.before, report.map_version.after),
            (1, 2)
        );
        assert!(report.rows_moved > 10_000, "{said}");
        assert!(report.verify.rows_compared > 10_000, "{said}");
        assert_ne!(report.window_ms, WriteBlockTimes::default(), "{said}");
        let phases = &ledger.by_phase;
        for seen in [phases.before, phases.copy, phases.catch_up, phases.after] {
            assert!(seen > 0, "{said}");
        }
    }
}

/// A split into a promoted standby, which must end with exit 0 and all zeros. No write of a client to the standby was
/// accepted before the flip.
pub(crate) async fn seeded(line: &str) -> RunReport {
    let (report, said) = run(QUICK, &format!("--seed standby {line}")).await;
    zeros(&report, &said);
    let standby = &report.ledger.standby;
    assert!(standby.read_only > 0 && standby.by_guard > 0, "{said}");
    assert_eq!(standby.accepted, 0, "{said}");
    assert_eq!(report.bytes_copied, 0, "{said}");
    report
}
