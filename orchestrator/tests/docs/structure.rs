//! The structure of the source: which folders import which, and what each file says of itself.

use super::top;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates with folders.
pub(crate) const CRATES: [&str; 13] = [
    "plans",
    "orchestrator",
    "agent",
    "client",
    "demo",
    "bench",
    "crates/cluster",
    "crates/connect",
    "crates/controller_client",
    "crates/daemon",
    "crates/discover",
    "crates/fail_point",
    "crates/protocol_models",
];

/// The path of a module below its crate.
type Module = Vec<String>;

/// Every Rust file below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module that a file is.
fn module(root: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Module = path
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] || parts == ["main"] {
        parts.pop();
    }
    parts
}

/// Tests import what they test.
fn is_test(module: &Module) -> bool {
    module
        .iter()
        .any(|part| part == "tests" || part == "protocol_tests")
}

/// The paths of the `use` lines of a text, one for each name.
fn uses(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect();
    let mut paths = Vec::new();
    // What stands in a module of tests is at the end, as everywhere here.
    let text = lines.join("\n");
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
    for (at, _) in code.match_indices("use ") {
        let begins_line = code[..at].rsplit('\n').next().unwrap();
        let visibility = begins_line.trim();
        if !(visibility.is_empty() || visibility.starts_with("pub")) {
            continue;
        }
        let tree: String = code[at + 4..]
            .split(';')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        expand("", &tree, &mut paths);
    }
    paths
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let Some(open) = tree.find('{') else {
        paths.push(format!("{before}{tree}"));
        return;
    };
    let prefix = format!("{before}{}", &tree[..open]);
    let inside = &tree[open + 1..tree.rfind('}').unwrap()];
    let (mut depth, mut from) = (0, 0);
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &inside[from..at], paths);
                from = at + 1;
            }
            _ => {}
        }
    }
    if from < inside.len() {
        expand(&prefix, &inside[from..], paths);
    }
}

/// The module of its own crate that a path leads to.
fn target(own: &Module, path: &str, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut found = match *parts.peek()? {
        "crate" => {
            parts.next();
            Module::new()
        }
        "super" => own.clone(),
        _ => return None,
    };
    while parts.peek() == Some(&"super") {
        parts.next();
        found.pop();
    }
    for part in parts {
        let mut next = found.clone();
        next.push(part.to_owned());
        if !modules.contains(&next) {
            break;
        }
        found = next;
    }
    Some(found)
}

/// Imports of a crate, one for each pair of neighbours: the two paths below their common folder, and an example.
fn imports(root: &Path, modules: &BTreeSet<Module>) -> BTreeMap<(Module, Module), String> {
    let mut imports = BTreeMap::new();
    for file in &sources(root) {
        let own = module(root, file);
        if is_test(&own) {
            continue;
        }
        for path in uses(&std::fs::read_to_string(file).unwrap()) {
            let Some(other) = target(&own, &path, modules) else {
                continue;
            };
            let common = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if common < own.len() && common < other.len() && !is_test(&other) {
                let sides = (own[..=common].to_vec(), other[..=common].to_vec());
                imports
                    .entry(sides)
                    .or_insert(format!("{} uses {path}", own.join("::")));
            }
        }
    }
    imports
}

fn modules(root: &Path) -> BTreeSet<Module> {
    let files = sources(root);
    files.iter().map(|file| module(root, file)).collect()
}

/// Pairs of folders of one crate that import each other, with an import in each direction.
fn two_way(root: &Path) -> Vec<String> {
    let modules = modules(root);
    let is_folder = |path: &[String]| {
        let inside = |module: &&Module| module.len() > path.len() && module.starts_with(path);
        modules.iter().filter(inside).any(|module| !is_test(module))
    };
    let imports = imports(root, &modules);
    let pairs = imports.iter().filter(|((from, to), _)| from < to);
    let both = pairs.filter_map(|((from, to), there)| {
        let back = imports.get(&(to.clone(), from.clone()))?;
        (is_folder(from) || is_folder(to)).then(|| format!("{there}, and {back}"))
    });
    both.collect()
}

#[test]
fn no_folder_imports_a_folder_that_imports_it() {
    let mut found = Vec::new();
    for name in CRATES {
        let root = top().join(name).join("src");
        found.extend(
            two_way(&root)
                .into_iter()
                .map(|pair| format!("{name}: {pair}")),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The page draws the floors from the top; a folder imports those below its own.
#[test]
fn the_agents_folders_import_lower_floors_alone() {
    let page = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let (_, drawn) = page
        .split_once("each floor imports those below it:\n")
        .unwrap();
    let drawn = drawn.split("```").next().unwrap();
    let floors = drawn.lines().map(|line| line.trim().split(", "));
    let floors = floors.enumerate();
    let floor_of: BTreeMap<&str, usize> = floors
        .flat_map(|(floor, names)| names.map(move |name| (name, floor)))
        .collect();
    let root = top().join("agent/src");
    let folders = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.path().is_dir());
    for folder in folders.map(|entry| entry.file_name().into_string().unwrap()) {
        let drawn = floor_of.contains_key(folder.as_str()) || folder == "protocol_tests";
        assert!(drawn, "the page draws no floor of {folder}");
    }
    for ((from, to), import) in imports(&root, &modules(&root)) {
        let floor = |module: &Module| floor_of.get(module[0].as_str()).copied();
        let (Some(own), Some(other)) = (floor(&from), floor(&to)) else {
            continue;
        };
        assert!(
            from.len() > 1 || own < other,
            "{import}: that is no lower floor"
        );
    }
}

#[test]
fn imports_in_both_directions_are_found() {
    let folder = std::env::temp_dir().join(format!("shardwright-structure-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\n");
    write("a/mod.rs", "mod inner;\nuse crate::b::{self, Other};\n");
    write("a/inner.rs", "use super::super::b::More;\n");
    write("b/mod.rs", "mod deep;\n");
    write(
        "b/deep.rs",
        "pub(crate) use crate::a::{\n    inner::Thing,\n};\n",
    );
    let found = two_way(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        found,
        ["a::inner uses super::super::b::More, and b::deep uses crate::a::inner::Thing"]
    );
}

#[test]
fn every_source_begins_with_what_it_is_for() {
    let roots = CRATES.iter().flat_map(|name| {
        let folders = ["src", "tests", "benches", "examples"];
        folders.map(|folder| top().join(name).join(folder))
    });
    let files = roots
        .filter(|root| root.is_dir())
        .flat_map(|root| sources(&root));
    let silent: Vec<String> = files
        .filter(|file| !std::fs::read_to_string(file).unwrap().starts_with("//!"))
        .map(|file| file.display().to_string())
        .collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}
