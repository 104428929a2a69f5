//! Requests that nobody would think of, made from the OpenAPI document by schemathesis.
//!
//! The server under test holds its own answers to the document, so that one which is not as documented counts as an
//! error of the server too.

use crate::fixture::{Server, quick};
use orchestrator::controller::ControllerSettings;
use std::path::Path;
use std::time::Duration;
use tokio::process::Command;

/// Phases, and cases of each route: as part of all tests, and with `FUZZ_IN_FULL`.
const SHORT: (&str, &str) = ("fuzzing", "8");
const FULL: (&str, &str) = ("examples,coverage,fuzzing,stateful", "100");

#[tokio::test]
async fn no_request_breaks_the_controller() {
    let server = Server::with(ControllerSettings {
        inspection_wait: Duration::from_millis(50),
        claim_wait: Duration::from_millis(20),
        ..quick()
    })
    .await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/schemathesis");
    let program = folder.join("bin/st");
    let place = program.display();
    assert!(
        program.exists(),
        "{place} is missing: run scripts/setup test"
    );
    // That there is no agent to ask is an answer.
    let config = folder.join("shardwright.toml");
    let expected =
        "[checks.not_a_server_error]\nexpected-statuses = [\"2xx\", \"3xx\", \"4xx\", 503]\n";
    std::fs::write(&config, expected).unwrap();
    let url = format!("{}/api/v1/openapi.json", server.url);
    let full = std::env::var_os("FUZZ_IN_FULL").is_some();
    let (phases, cases) = if full { FULL } else { SHORT };
    // A feed has no end to wait for.
    let feeds = "/changes$";
    let done = Command::new(program)
        .current_dir(&folder)
        .arg("--config-file")
        .arg(&config)
        // Two threads must not parse source code at the same time: Python 3.11 then fails with "AST constructor recursion
        // depth mismatch" now and then.
        .args(["run", &url, "--no-color", "--seed", "1", "--workers", "1"])
        .args([
            "--checks",
            "not_a_server_error",
            "--exclude-path-regex",
            feeds,
        ])
        // How fast requests are made depends on the load of the machine.
        .args(["--suppress-health-check", "too_slow"])
        .args(["--phases", phases, "--max-examples", cases])
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let routes = orchestrator::api::document()["paths"].as_object().unwrap();
    let all: usize = routes
        .values()
        .map(|item| item.as_object().unwrap().len())
        .sum();
    let (selected, _) = said.split_once(" selected / ").unwrap();
    let selected: usize = selected.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(selected + 2 >= all, "{selected} of {all} routes: {said}");
}
