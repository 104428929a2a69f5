//! Files that pages show, read by what reads them.

use crate::blocks::{Block, Mark};
use orchestrator::hooks::{Hooks, HooksError};
use plans::request::Request;
use std::path::Path;
use std::process::Command;

/// A request around options that are shown alone.
const AROUND: &str = "operation: drain\nmap: m\nsource: a\n";

/// Why the block is not what its mark says.
fn wrong(block: &Block, kind: &str) -> Option<String> {
    let text = &block.text;
    match kind {
        "request" => Request::parse(text).err().map(|error| error.to_string()),
        "options" => Request::parse(&format!("{AROUND}{text}"))
            .err()
            .map(|error| error.to_string()),
        "hooks" => with_file(text, hooks),
        "fleet" => with_file(text, fleet),
        "contexts" => with_file(text, contexts),
        "json" => serde_json::from_str::<serde_json::Value>(text)
            .err()
            .map(|error| error.to_string()),
        "yaml" => serde_saphyr::from_str::<serde_json::Value>(text)
            .err()
            .map(|error| error.to_string()),
        _ => Some(format!("nothing reads {kind}")),
    }
}

/// Tells of a file with this text.
fn with_file(text: &str, tell: fn(&Path) -> Option<String>) -> Option<String> {
    let name = format!("shardwright-docs-{}.yaml", uuid::Uuid::now_v7());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, text).unwrap();
    let told = tell(&file);
    std::fs::remove_file(&file).unwrap();
    told
}

/// Programs and secrets that it names are not on this machine.
fn hooks(file: &Path) -> Option<String> {
    match Hooks::read(file) {
        Ok(_) => None,
        Err(HooksError::Invalid { problems, .. }) => problems
            .into_iter()
            .find(|problem| !problem.contains("secret") && !problem.contains("program")),
        Err(error) => Some(error.to_string()),
    }
}

/// It is read before anybody is asked; nobody is there.
fn fleet(file: &Path) -> Option<String> {
    let file = file.display().to_string();
    let nowhere = ["--controller", "http://127.0.0.1:1"];
    let line = [&["fleet", "apply", &file, "--dry-run"], &nowhere[..]].concat();
    let told = program().args(line).output().unwrap();
    (told.status.code() != Some(1)).then(|| String::from_utf8_lossy(&told.stderr).into_owned())
}

fn contexts(file: &Path) -> Option<String> {
    let mut list = program();
    let told = list
        .args(["context", "list"])
        .env("SHARDWRIGHT_CONFIG", file);
    let told = told.output().unwrap();
    (!told.status.success()).then(|| String::from_utf8_lossy(&told.stderr).into_owned())
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_shardwright"))
}

#[test]
fn every_file_that_a_page_shows_is_read_by_what_reads_it() {
    let blocks = crate::pages();
    let wrong: Vec<String> = blocks
        .iter()
        .filter_map(|block| match &block.mark {
            Some(Mark::Parsed(kind)) => {
                wrong(block, kind).map(|why| format!("{}: {why}", block.place()))
            }
            _ => None,
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
