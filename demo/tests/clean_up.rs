//! A run that cannot start leaves no files.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

use demo::{DemoError, Options};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_programs_reports_this_and_removes_its_files() {
    let options = Options {
        scale: 0.01,
        programs: Some("/nowhere".into()),
        ..Options::default()
    };
    let error = demo::run(options).await.unwrap_err();
    assert!(matches!(error, DemoError::ProgramMissing { .. }), "{error}");
    let prefix = format!("shardwright-demo-{}-", std::process::id());
    let left = std::fs::read_dir(std::env::temp_dir())
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    assert_eq!(left.count(), 0);
}
