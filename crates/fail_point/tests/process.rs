//! Tests fail points in a child process, armed by its environment.
//!
//! The child is this test binary, which then runs only the test `child`.

use std::path::PathBuf;
use std::process::Stdio;

use fail_point::{Rendezvous, VARIABLE, check, hit};
use tokio::process::{Child, Command};

const CHILD_VARIABLE: &str = "FAIL_POINT_CHILD";

/// Passes two points, and exits with 0, or with 7 if the first one fails.
#[tokio::test]
async fn child() {
    if std::env::var_os(CHILD_VARIABLE).is_none() {
        return;
    }
    if check().is_err() {
        std::process::exit(8);
    }
    if hit("copy.before_chunk").await.is_err() {
        std::process::exit(7);
    }
    hit("copy.after_chunk")
        .await
        .expect("the point has no action, or a rendezvous");
    std::process::exit(0);
}

fn spawn(armed: &str) -> Child {
    Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD_VARIABLE, "1")
        .env(VARIABLE, armed)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("spawned")
}

async fn exit_code(armed: &str) -> Option<i32> {
    spawn(armed).wait().await.expect("ended").code()
}

fn meeting(name: &str) -> Rendezvous {
    let file = format!("fail-point-{}-{name}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(file);
    Rendezvous::bind(path).expect("bound")
}

#[tokio::test]
async fn a_process_without_armed_points_succeeds() {
    assert_eq!(exit_code("").await, Some(0));
}

#[tokio::test]
async fn an_injected_error_reaches_the_caller() {
    assert_eq!(exit_code("copy.before_chunk=error").await, Some(7));
}

#[tokio::test]
async fn an_abort_ends_the_process_by_a_signal() {
    assert_eq!(exit_code("copy.before_chunk=abort").await, None);
}

#[tokio::test]
async fn an_invalid_variable_is_reported() {
    assert_eq!(exit_code("copy.before_chunk=boom").await, Some(8));
}

#[tokio::test]
async fn a_process_waits_until_it_is_released() {
    let meeting = meeting("release");
    let mut child = spawn(&meeting.arms("copy.after_chunk"));
    let arrival = meeting.arrived().await.expect("arrived");
    assert_eq!(arrival.name, "copy.after_chunk");
    assert_eq!(u32::try_from(arrival.pid).ok(), child.id());
    assert_eq!(child.try_wait().expect("asked"), None);
    arrival.release().await.expect("released");
    assert_eq!(child.wait().await.expect("ended").code(), Some(0));
}

#[tokio::test]
async fn a_process_can_be_killed_at_the_point() {
    let meeting = meeting("kill");
    let mut child = spawn(&meeting.arms("copy.before_chunk"));
    let _arrival = meeting.arrived().await.expect("arrived");
    child.kill().await.expect("killed");
    assert_eq!(child.wait().await.expect("ended").code(), None);
}
