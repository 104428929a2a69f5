//! Half of the tenant schemas of a shard are drained, and a group of tables moves, while a process is killed, the
//! migration is rolled back or aborted: nothing is lost.

use crate::run::whole_tables;
use demo::RunOutcome;

const SCHEMAS: &str = "--strategy schema";
const GROUP: &str = "--group billing";
const ABORTS: &str = "--abort-at copy --abort-at build_indexes --abort-at cutover";

/// A kill, after which the migration completes.
async fn killed(what: &str, process_at_step: &str) {
    let report = whole_tables(&format!("{what} --kill {process_at_step}")).await;
    assert_eq!(report.result, RunOutcome::Completed);
    assert!(report.kill.is_some_and(|kill| kill.fired));
}

/// Tests by name: what moves, and the process that is killed in a step.
macro_rules! kills {
    ($($(#[$ignored:meta])? $name:ident: $what:ident $kill:literal;)+) => {
        $(
            #[tokio::test]
            $(#[$ignored])?
            async fn $name() {
                killed($what, $kill).await;
            }
        )+
    };
}

kills! {
    schemas_agent_at_copy: SCHEMAS "agent@copy";
    #[ignore = "make operations runs it"]
    schemas_agent_at_catch_up: SCHEMAS "agent@catch_up";
    #[ignore = "make operations runs it"]
    schemas_agent_at_cutover: SCHEMAS "agent@cutover";
    #[ignore = "make operations runs it"]
    schemas_target_at_copy: SCHEMAS "target@copy";
    #[ignore = "make operations runs it"]
    group_agent_at_copy: GROUP "agent@copy";
    #[ignore = "make operations runs it"]
    group_agent_at_catch_up: GROUP "agent@catch_up";
    #[ignore = "make operations runs it"]
    group_agent_at_cutover: GROUP "agent@cutover";
    #[ignore = "make operations runs it"]
    group_controller_at_cutover: GROUP "controller@cutover";
}

async fn rolled_back(what: &str) {
    let report = whole_tables(&format!("{what} --rollback")).await;
    assert_eq!(report.result, RunOutcome::RolledBack);
}

async fn aborted(what: &str) {
    let report = whole_tables(&format!("{what} {ABORTS}")).await;
    assert_eq!(report.result, RunOutcome::Unwound);
    assert_eq!(report.aborted_at.len(), 3);
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn schemas_are_rolled_back() {
    rolled_back(SCHEMAS).await;
}

#[tokio::test]
async fn a_group_is_rolled_back() {
    rolled_back(GROUP).await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn moves_of_schemas_are_aborted() {
    aborted(SCHEMAS).await;
}

#[tokio::test]
async fn moves_of_a_group_are_aborted() {
    aborted(GROUP).await;
}
