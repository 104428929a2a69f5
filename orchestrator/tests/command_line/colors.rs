//! Colours of states: on a terminal, or where they are wanted, and never in output for programs.

use crate::fixture::{Server, program};
use tokio::process::Command;

const ESCAPE: char = '\u{1b}';

async fn text(mut command: Command, line: &str) -> String {
    let output = command.args(line.split(' ')).output().await.unwrap();
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

/// The text as `script` records it, which gives the program a terminal.
async fn on_a_terminal(server: &Server, line: &str, variable: Option<(&str, &str)>) -> String {
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_shardwright"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.env("SHARDWRIGHT_CONTROLLER", &server.url);
    script.env("TERM", "xterm").envs(variable);
    let output = script.output().await.unwrap();
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn states_have_colours_on_a_terminal_only() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await.to_string();
    for line in [
        "list".to_owned(),
        format!("show {id}"),
        "agent list".to_owned(),
    ] {
        let shown = on_a_terminal(&server, &line, None).await;
        assert!(shown.contains(ESCAPE), "{line}: {shown}");
        let piped = text(program(&server.url), &line).await;
        assert!(!piped.contains(ESCAPE), "{line}: {piped}");
        for refusal in [("NO_COLOR", "1"), ("CLICOLOR", "0")] {
            let shown = on_a_terminal(&server, &line, Some(refusal)).await;
            assert!(!shown.contains(ESCAPE), "{line}, {refusal:?}: {shown}");
            let plain = shown.replace('\r', "");
            assert_eq!(plain, piped, "{line}, {refusal:?}");
        }
        let never = on_a_terminal(&server, &format!("{line} --color never"), None).await;
        assert!(!never.contains(ESCAPE), "{line}: {never}");
    }
}

#[tokio::test]
async fn colours_can_be_wanted_and_do_not_move_columns() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    server.apply(&agent, "").await;
    let url = server.url.as_str();
    for line in ["list", "shard list", "agent list"] {
        let plain = text(program(url), line).await;
        let mut forced = program(url);
        forced.env("CLICOLOR_FORCE", "1");
        for colored in [
            text(forced, line).await,
            text(program(url), &format!("{line} --color always")).await,
        ] {
            assert!(colored.contains(ESCAPE), "{line}: {colored}");
            let stripped = anstream::adapter::strip_str(&colored).to_string();
            assert_eq!(stripped, plain, "{line}");
        }
    }
    let list = text(program(url), "agent list --color always").await;
    let connected = format!("x     {ESCAPE}[32mconnected{ESCAPE}[0m");
    assert!(list.contains(&connected), "{list:?}");
}

#[tokio::test]
async fn output_for_programs_never_has_colours() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await.to_string();
    for format in ["json", "jsonl", "yaml", "name"] {
        for line in [
            "list".to_owned(),
            format!("show {id}"),
            "shard list".to_owned(),
        ] {
            let line = format!("{line} -o {format} --color always");
            let shown = text(program(&server.url), &line).await;
            assert!(!shown.contains(ESCAPE), "{line}: {shown}");
        }
    }
}
