//! A migration that failed keeps its state and says what mends it; resumed it ends well, aborted it leaves nothing.

use crate::run::demo;
use demo::{Outcome, Report};
use plans::step::StepKind;

/// What the failure must say: its code, and a word of its remedy.
const PASSWORD: (&str, &str) = ("connect", "password");
const DISK: (&str, &str) = ("sql.53100", "make room");
const DOWN: (&str, &str) = ("", "");

fn judge(report: &Report, steps: &[StepKind], (code, remedy): (&str, &str)) {
    let struck: Vec<StepKind> = report.troubles.iter().map(|trouble| trouble.step).collect();
    assert_eq!(struck, steps);
    for trouble in &report.troubles {
        let failure = &trouble.failure;
        assert!(failure.code.starts_with(code), "{failure:?}");
        assert!(failure.message.contains("shard b"), "{failure:?}");
        let hint = failure.hint.as_deref().unwrap_or_default();
        assert!(!hint.is_empty() && hint.contains(remedy), "{failure:?}");
    }
}

/// Fails and is resumed twice in one migration, then completes.
async fn resumed(kind: &str, says: (&str, &str)) {
    let line = format!("--trouble {kind}@copy --trouble {kind}@catch_up");
    let report = demo(&line).await;
    assert_eq!((report.result, report.attempts), (Outcome::Completed, 1));
    judge(&report, &[StepKind::Copy, StepKind::CatchUp], says);
    assert!(report.bytes_copied_twice <= 2 * report.largest_chunk_bytes);
}

async fn aborted(kind: &str, step: StepKind, says: (&str, &str)) {
    let report = demo(&format!("--trouble {kind}@{step} --then abort")).await;
    assert_eq!(report.result, Outcome::Unwound);
    judge(&report, &[step], says);
    assert_eq!(report.map_version.after, 1);
    assert_eq!(report.leftovers.standing.guards, 0);
}

/// A disk of its own takes the right to mount one.
fn may_mount() -> bool {
    if std::env::var_os("SHARDWRIGHT_TEST_NO_MOUNT").is_none_or(|value| value != "1") {
        return true;
    }
    eprintln!("NOT RUN: SHARDWRIGHT_TEST_NO_MOUNT=1, so no test fills a disk");
    false
}

#[tokio::test]
async fn a_changed_password_is_mended_and_the_migration_resumed() {
    resumed("password", PASSWORD).await;
}

#[tokio::test]
async fn a_changed_password_is_mended_and_the_migration_aborted() {
    aborted("password", StepKind::Copy, PASSWORD).await;
}

#[tokio::test]
async fn a_full_disk_is_mended_and_the_migration_resumed() {
    if may_mount() {
        resumed("disk", DISK).await;
    }
}

#[tokio::test]
async fn a_full_disk_is_mended_and_the_migration_aborted() {
    if may_mount() {
        aborted("disk", StepKind::CatchUp, DISK).await;
    }
}

#[tokio::test]
async fn spent_attempts_are_followed_by_resume() {
    resumed("down", DOWN).await;
}

#[tokio::test]
async fn spent_attempts_are_followed_by_abort() {
    aborted("down", StepKind::Copy, DOWN).await;
}
