//! Checks that the tests named on the page about reliability exist.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all Rust code below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/reliability.md")).expect("the page");
    let mut code = String::new();
    for folder in ["agent/src/protocol_tests", "orchestrator/tests"] {
        sources(&root().join(folder), &mut code);
    }
    let named: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        // A test's name is a sentence; settings and columns have three words at most.
        .filter(|name| name.matches('_').count() >= 3 && !name.contains([' ', '.']))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        assert!(code.contains(&format!("fn {name}(")), "no test {name}");
    }
}
