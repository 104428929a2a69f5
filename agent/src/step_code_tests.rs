//! The codes of failures are those of the registry, and the page docs/failure-codes.md has a row for each.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use plans::failure::{RetryClass, StepCode};

/// The line of the page after which the text is generated from the registry.
const GENERATED: &str = "<!-- made of plans/src/failure; WRITE_DOCS=1 cargo test -p agent the_codes_page writes it anew -->\n";

/// Paths whose literals are not codes of failures: findings, problems of the HTTP API, and tests, which assert the names
/// as they are sent.
const EXEMPT: [&str; 6] = [
    "agent/src/inspect/survey",
    "agent/src/inspect/queries",
    "agent/src/protocol_tests",
    "orchestrator/src/api",
    "orchestrator/src/cli/examples.rs",
    "/tests",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

/// Collects path and text of each source file below `path`, without the tests at the end of the file.
fn collect_sources(path: &Path, sources: &mut Vec<(String, String)>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            collect_sources(&entry.expect("an entry").path(), sources);
        }
        return;
    }
    let name = path.to_str().expect("a plain path").to_owned();
    if name.ends_with(".rs") {
        let text = std::fs::read_to_string(path).expect("a source");
        let code = text.split("#[cfg(test)]\nmod tests").next();
        sources.push((name, code.unwrap_or_default().to_owned()));
    }
}

fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for folder in folders {
        collect_sources(&top().join(folder), &mut sources);
    }
    assert!(sources.len() > 100, "{} sources", sources.len());
    sources
}

#[test]
fn no_code_is_a_literal_outside_of_the_registry() {
    let mut found = Vec::new();
    for (name, text) in sources(&["agent/src", "orchestrator/src"]) {
        if EXEMPT.iter().any(|part| name.contains(part)) || name.ends_with("code_tests.rs") {
            continue;
        }
        let literals = text.split('"').skip(1).step_by(2);
        let codes = literals.filter(|literal| {
            literal.contains('.') && StepCode::ALL.iter().any(|code| code.name() == *literal)
        });
        found.extend(codes.map(|code| format!("{name}: {code}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the code of each call of `constructor`, which is its first argument.
fn codes_of_calls(text: &str, constructor: &str) -> Vec<StepCode> {
    let call = format!("::{constructor}(");
    let calls = text.split(&call).skip(1);
    let names = calls.filter_map(|call| {
        let argument = call.trim_start().strip_prefix("StepCode::")?;
        argument.split(|c: char| !c.is_alphanumeric()).next()
    });
    let code = |name: &str| {
        let mut codes = StepCode::ALL.iter();
        *codes
            .find(|code| format!("{code:?}") == name)
            .expect("a code")
    };
    names.map(code).collect()
}

#[test]
fn each_failure_has_the_retry_class_of_its_code() {
    let mut used = 0;
    for (name, text) in sources(&["agent/src"]) {
        for (constructor, class) in [
            ("refused", RetryClass::None),
            ("passing", RetryClass::Exponential),
            ("not_yet", RetryClass::Fixed),
        ] {
            for code in codes_of_calls(&text, constructor) {
                used += 1;
                let listed = code.retry();
                assert!(
                    listed.is_none_or(|listed| listed == class),
                    "{name}: {code:?}"
                );
                assert_eq!(
                    code.hint(),
                    None,
                    "{name}: `listed` takes the hint of {code:?}"
                );
            }
        }
        for code in codes_of_calls(&text, "listed") {
            used += 1;
            assert!(
                code.retry().is_some(),
                "{name}: {code:?} has no class of its own"
            );
        }
    }
    assert!(used > 90, "{used} calls");
}

#[test]
fn each_code_is_used() {
    let mut text = String::new();
    for (_, source) in sources(&["agent/src", "orchestrator/src"]) {
        text.push_str(&source);
    }
    for code in StepCode::ALL {
        let variant = format!("StepCode::{code:?}");
        let mut uses = text.match_indices(&variant);
        let is_whole = |(at, _): (usize, &str)| {
            !text[at + variant.len()..].starts_with(|c: char| c.is_alphanumeric())
        };
        assert!(uses.any(is_whole), "{code:?} is used by nothing");
    }
}

#[test]
fn the_codes_page_has_a_row_for_each_code() {
    let path = top().join("docs/failure-codes.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (written, generated) = page
        .split_once(GENERATED)
        .expect("the line before the table");
    let mut wanted =
        "\n| code | tried again | meaning | hint |\n| --- | --- | --- | --- |\n".to_owned();
    for code in StepCode::ALL {
        let retry = match code.retry() {
            Some(RetryClass::None) => "no",
            Some(RetryClass::Fixed) => "at a fixed interval",
            Some(RetryClass::Exponential) => "with growing pauses",
            None => "by cause",
        };
        let (name, meaning) = (code.name(), code.meaning());
        let hint = code.hint().unwrap_or_default();
        let _ = writeln!(wanted, "| `{name}` | {retry} | {meaning} | {hint} |");
    }
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{written}{GENERATED}{wanted}")).expect("written");
    } else {
        assert!(
            generated == wanted,
            "docs/failure-codes.md is older than the registry: {GENERATED}"
        );
    }
}
