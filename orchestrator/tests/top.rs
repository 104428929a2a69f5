//! `shardwright top` on a terminal: what it shows, and how it leaves it.

use crate::fixture::{Server, program};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

#[tokio::test]
async fn top_shows_what_waits_for_somebody_and_leaves_the_terminal_as_it_was() {
    let server = Server::start().await;
    let url = server.url.as_str();
    let nothing = program(url).arg("top").output().await.unwrap();
    let text = String::from_utf8(nothing.stdout).unwrap();
    assert!(
        text.contains("no migration is running; 0 have ended"),
        "{text}"
    );
    assert!(text.contains("no agent has ever connected"), "{text}");

    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    server.command(&id, "pause").await;
    let sorted = ["top", "--sort", "lag"];
    let printed = program(url).args(sorted).output().await.unwrap();
    assert_eq!(printed.status.code(), Some(0));
    let text = String::from_utf8(printed.stdout).unwrap();
    for words in [
        "WAITS FOR AN OPERATOR",
        &format!("! {id} a → b paused: waits for"),
        &format!("shardwright resume {id}"),
        "FROM → TO",
        "largest lag first",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    let program = env!("CARGO_BIN_EXE_shardwright");
    let (mut terminal, mut drawn, seen) = on_a_terminal(url, &format!("{program} top")).await;
    let keys = terminal.stdin.as_mut().unwrap();
    keys.write_all(b"sq").await.unwrap();
    let mut rest = String::new();
    drawn.read_to_string(&mut rest).await.unwrap();
    assert!(terminal.wait().await.unwrap().success(), "{rest}");
    assert!(seen.starts_with(b"\x1b[?1049h"), "another screen was shown");
    assert!(
        rest.trim_end().ends_with("\x1b[?1049l"),
        "and left: {rest:?}"
    );

    // Somebody ends it while it waits for a key.
    let line = format!(
        "bash -c 'stty -a; bash -c \"echo pid \\$\\$; exec {program} top\"; echo left by $?; stty -a'"
    );
    let (mut terminal, mut drawn, mut seen) = on_a_terminal(url, &line).await;
    let before = String::from_utf8_lossy(&seen).into_owned();
    let pid = before.lines().find_map(|line| line.strip_prefix("pid "));
    let pid = pid.and_then(|pid| pid.trim().parse().ok());
    let pid = rustix::process::Pid::from_raw(pid.unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    drawn.read_to_end(&mut seen).await.unwrap();
    assert!(terminal.wait().await.unwrap().success());
    let text = String::from_utf8(seen).unwrap();
    assert!(text.contains("left by 130"), "{text}");
    let settings: Vec<&str> = text.split("speed ").skip(1).collect();
    let flags = |text: &str| text.contains(" icanon") && text.contains(" echo ");
    assert_eq!(settings.len(), 2, "{text}");
    assert!(settings.into_iter().all(flags), "{text}");
}

/// Runs a line on a terminal until a picture of `top` is drawn; the program, what it draws, and what it has drawn.
async fn on_a_terminal(url: &str, line: &str) -> (Child, BufReader<ChildStdout>, Vec<u8>) {
    let mut terminal = Command::new("script");
    terminal
        .env("SHARDWRIGHT_CONTROLLER", url)
        .env("TERM", "xterm")
        .kill_on_drop(true);
    terminal.args(["--quiet", "--return", "--command", line, "/dev/null"]);
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    let mut drawn = BufReader::new(terminal.stdout.take().unwrap());
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("AN OPERATOR") {
        assert!(drawn.read_until(b'\n', &mut seen).await.unwrap() > 0);
    }
    (terminal, drawn, seen)
}
