//! The commands and files of the documentation: each is run, or read by what reads it, or says why not.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "tests")]

mod benches;
mod blocks;
mod codes;
mod links;
mod parsed;
mod record;
mod request;
mod runbooks;
mod structure;
mod terms;
mod world;

use blocks::{Block, Mark};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use world::World;

/// Run elsewhere: by `scripts/test-package`, where systemd runs.
const PACKAGE: &str = "package";

/// The folders with pages, besides the top.
const PAGE_FOLDERS: [&str; 11] = [
    "docs",
    "deploy",
    "clients/conformance",
    "clients/go",
    "clients/java",
    "clients/node",
    "clients/python",
    "examples/go",
    "examples/java",
    "examples/python",
    "examples/typescript",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every page that people read, below the top.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(PathBuf::from)
        .to_vec();
    for folder in PAGE_FOLDERS {
        let there = std::fs::read_dir(top().join(folder)).unwrap();
        let names = there.map(|entry| Path::new(folder).join(entry.unwrap().file_name()));
        files.extend(names.filter(|name| name.extension().is_some_and(|end| end == "md")));
    }
    files.sort();
    files
}

/// Every block of every page.
pub(crate) fn pages() -> Vec<Block> {
    let files = files();
    let blocks = files.iter().flat_map(|page| {
        let text = std::fs::read_to_string(top().join(page)).unwrap();
        blocks::of_page(page, &text)
    });
    blocks.collect()
}

#[test]
fn every_block_says_how_it_is_held_to_the_truth() {
    let blocks = pages();
    let silent: Vec<String> = blocks
        .iter()
        .filter(|block| block.wants_a_mark() && block.mark.is_none())
        .map(Block::place)
        .collect();
    assert!(silent.is_empty(), "no mark before {}", silent.join(", "));
    let run = blocks
        .iter()
        .filter(|block| block.world().is_some())
        .count();
    let not = blocks
        .iter()
        .filter(|block| matches!(block.mark, Some(Mark::NotRun(_))))
        .count();
    println!("{} blocks, {run} run, {not} not run", blocks.len());
}

/// One page after the other: each has servers, a controller and an agent of its own.
#[tokio::test]
async fn the_commands_of_every_page_can_be_run_in_their_order() {
    let blocks = pages();
    let mut scripts: BTreeMap<(&Path, &str), Vec<&Block>> = BTreeMap::new();
    for block in &blocks {
        if let Some(world) = block.world().filter(|world| *world != PACKAGE) {
            scripts.entry((&block.page, world)).or_default().push(block);
        }
    }
    let wanted = std::env::var("DOCS_PAGE").unwrap_or_default();
    for ((page, world), blocks) in scripts {
        if page.to_string_lossy().contains(&wanted) {
            let begun = std::time::Instant::now();
            World::new(world).await.run(&blocks).await;
            println!(
                "{} in {world}: {} blocks, {:.1} s",
                page.display(),
                blocks.len(),
                begun.elapsed().as_secs_f64()
            );
        }
    }
}
