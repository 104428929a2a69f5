//! Runs scenarios, which are told where everything is by the environment.

use serde_json::Value;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Files that run beside each other; each has a browser of its own.
const AT_ONCE: &str = "--test-concurrency=3";

/// Runs `files`, which fail with their own words; returns the folder that names the pages that they examined. Runs beside
/// each other have different names.
pub(crate) async fn test(name: &str, files: &[&str], told: &Value) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = root.join("tests/browser");
    for package in ["playwright-core", "axe-core"] {
        assert!(
            here.join("node_modules").join(package).exists(),
            "the node packages are missing: scripts/setup ui"
        );
    }
    let examined = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("examined-by-{name}"));
    let _ = std::fs::remove_dir_all(&examined);
    std::fs::create_dir_all(&examined).unwrap();
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec", AT_ONCE])
        .args(files)
        .current_dir(here)
        .env("DASHBOARD", told.to_string())
        .env("DASHBOARD_PICTURES", root.join("../target/dashboard"))
        .env("DASHBOARD_EXAMINED", &examined)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    println!("{said}");
    examined
}
