//! The dashboard in a real browser.
//!
//! [`stage`] starts clusters, controllers and agents; [`states`] serves every state that the API can show, over the
//! store in memory; [`node`] runs the scenarios, each a file `*.test.mjs`, whose output is the failure; [`pages`] compares
//! the pages that they examined with those of the router.
//! Screenshots go to `target/dashboard/`, those of the documentation (`make screenshots`) to `docs/pictures/`.
//! Needs what `scripts/setup ui` installs: Chromium, node and the packages of this folder.

// A test says what it expects by unwrapping it.
#![allow(clippy::unwrap_used)]

// What other tests use of it is not used here.
#[allow(dead_code)]
#[path = "../dashboard/fixture.rs"]
mod fixture;
#[path = "../dashboard/measured.rs"]
mod measured;
mod node;
mod pages;
#[path = "../dashboard/past.rs"]
mod past;
mod stage;
mod states;

use serde_json::json;
use stage::Stage;

/// Maps of scenarios, which run beside each other: each has tables, shards and a map of its own.
const MAPS: [&str; 10] = [
    "tenants",
    "accounts",
    "invoices",
    "customers",
    "payments",
    "shipments",
    "devices",
    "projects",
    "vendors",
    "stores",
];
const SCENARIOS: [&str; 10] = [
    "whole.test.mjs",
    "tour.test.mjs",
    "failed.test.mjs",
    "cut.test.mjs",
    "keys.test.mjs",
    "mouse.test.mjs",
    "plain.test.mjs",
    "refused.test.mjs",
    "maps.test.mjs",
    "roles.test.mjs",
];

#[tokio::test(flavor = "multi_thread")]
async fn migrations_are_run_from_the_dashboard() {
    let stage = Stage::start(&MAPS, &["members"]).await;
    let examined = node::test("scenarios", &SCENARIOS, &stage.told()).await;
    stage.stop().await;
    pages::all_were_examined("POST", &examined);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_fits_its_page() {
    let (shown, told) = states::all().await;
    states::are_documented(&shown);
    let files = ["harness.test.mjs", "focus.test.mjs", "states.test.mjs"];
    let examined = node::test("states", &files, &json!({ "states": told })).await;
    pages::all_were_examined("GET", &examined);
    drop(shown);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes the pictures of the documentation: make screenshots"]
async fn pictures_of_the_documentation() {
    let stage = Stage::start(&["tenants"], &[]).await;
    let application = stage.write("tenants").await;
    node::test("pictures", &["pictures.mjs"], &stage.told()).await;
    application.abort();
    stage.stop().await;
}
