//! Runs scenarios, which are told where everything is by the environment.

use serde_json::Value;
use std::path::Path;
use tokio::process::Command;

/// Files that run beside each other; each has a browser of its own.
const AT_ONCE: &str = "--test-concurrency=3";

/// Runs `files`, which fail with their own words.
pub(crate) async fn test(files: &[&str], told: &Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = root.join("tests/browser");
    for package in ["playwright-core", "axe-core"] {
        assert!(
            here.join("node_modules").join(package).exists(),
            "the node packages are missing: scripts/setup ui"
        );
    }
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec", AT_ONCE])
        .args(files)
        .current_dir(here)
        .env("DASHBOARD", told.to_string())
        .env("DASHBOARD_PICTURES", root.join("../target/dashboard"))
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    println!("{said}");
}
