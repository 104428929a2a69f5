//! A slice of the torture: a few faults of every kind, each of another component, at places that hurt.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

#[allow(dead_code, reason = "the other suites use more of it")]
mod run;

use demo::torture::ResultsFile;
use run::program;
use std::time::Duration;
use tokio::process::Command;

/// The whole matrix is `make torture`.
const CASES: [&str; 11] = [
    "agent@copy.half/stop",
    "controller@controller.cutover.after_flip/kill",
    "source@cutover.fenced/cut",
    "target@catch_up.batch_applied/hole",
    "store@controller.cutover.before_flip/stop",
    "agent@rollback.fenced/kill",
    "controller@controller.rollback.claimed/reply",
    "agent@unwind.started/kill",
    "source@hold.started/swapped-dsn",
    "agent@copy.half/duplicate-agent-name",
    FENCE_OVER,
];
/// The fence ends at once, while rows are compared behind it: that is no difference between the shards.
const FENCE_OVER: &str = "source@cutover.fenced/clock-forward";
/// Far beyond what the cases take.
const LIMIT: Duration = Duration::from_secs(900);

#[tokio::test]
async fn a_slice_of_the_matrix_is_survived() {
    let name = format!("shardwright-torture-slice-{}.json", std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut command = Command::new(program());
    command.args(["torture", "--lasts", "6", "--jobs", "4"]);
    command.arg("--json").arg(&file).kill_on_drop(true);
    for case in CASES {
        command.args(["--only", case]);
    }
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    let output = output.expect("in time").unwrap();
    let said = || {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("{}\n{stderr}\n{stdout}", output.status)
    };
    assert!(output.status.success(), "{}", said());
    let results: ResultsFile = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let sums = results.sums;
    assert_eq!((sums.runs, sums.survived), (11, 11), "{}", said());
    let over = results.cases.iter().find(|run| run.case == FENCE_OVER);
    assert_eq!(over.map(|run| run.resumed), Some(0), "{}", said());
    let amiss = [
        sums.lost,
        sums.duplicated,
        sums.phantom,
        sums.misplaced,
        sums.wrong,
        sums.stuck,
        sums.leaked,
    ];
    assert_eq!(amiss, [0; 7], "{}", said());
    assert!(sums.acknowledged >= 16_000, "{}", said());
    assert_eq!(results.by_component.len(), 5);
    assert!(results.by_step["rollback"].runs >= 2);
}
