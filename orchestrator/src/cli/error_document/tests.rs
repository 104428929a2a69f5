//! The form of errors, and their fields.

use super::*;
use crate::cli::{Cli, command};
use crate::controller::ControlError;
use clap::Parser;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_form_of_errors_is_that_of_the_output() {
    for (line, form) in [
        ("shardwright list -o json", ErrorForm::Json),
        ("shardwright list -o jsonl", ErrorForm::Json),
        ("shardwright list -o yaml", ErrorForm::Text),
        ("shardwright list", ErrorForm::Text),
        ("shardwright plan r.yaml -o json", ErrorForm::Text),
        ("shardwright plan r.yaml --output json", ErrorForm::Json),
        (
            "shardwright plan split t --source a --into a --output json",
            ErrorForm::Json,
        ),
        ("shardwright map export t --format json", ErrorForm::Text),
    ] {
        let matches = command().try_get_matches_from(words(line)).unwrap();
        assert_eq!(ErrorForm::of(&matches), form, "{line}");
        assert_eq!(
            ErrorForm::of_refused(&command(), &words(line)),
            form,
            "{line}"
        );
    }
}

#[test]
fn a_refused_command_line_selects_a_form_too() {
    for (line, form) in [
        ("shardwright show -o json", ErrorForm::Json),
        ("shardwright show --nonsense -o=json", ErrorForm::Json),
        ("shardwright shard list --output=jsonl x y", ErrorForm::Json),
        ("shardwright show -ojson", ErrorForm::Json),
        ("shardwright show -o csv", ErrorForm::Text),
        ("shardwright map export -o json", ErrorForm::Text),
    ] {
        assert_eq!(
            ErrorForm::of_refused(&command(), &words(line)),
            form,
            "{line}"
        );
    }
}

#[test]
fn wrong_usage_names_the_argument_and_the_remedy() {
    let error = Cli::try_parse_from(words("shardwright list --limt 3")).unwrap_err();
    let document = serde_json::to_value(ErrorDocument::from(&error)).unwrap();
    assert_eq!(
        document,
        json!({
            "code": "usage.invalid", "message": "unexpected argument '--limt' found",
            "hint": "a similar argument exists: '--limit'", "retry": "none", "exit_code": 64,
            "argument": "--limt",
        })
    );
    let error = Cli::try_parse_from(words("shardwright show")).unwrap_err();
    let document = ErrorDocument::from(&error);
    assert!(document.message.contains("<ID>"), "{document:?}");
    assert!(
        document
            .hint
            .unwrap()
            .starts_with("usage: shardwright show")
    );
}

#[test]
fn a_refusal_of_the_controller_keeps_its_operands() {
    let error = CliError::from(ControlError::missing("shard", "x"));
    let document = serde_json::to_value(ErrorDocument::from(&error)).unwrap();
    assert_eq!(
        document,
        json!({
            "code": "shard.missing", "message": "there is no shard x",
            "hint": "`shardwright shard list` lists those that exist", "retry": "none",
            "exit_code": 3, "status": 404,
        })
    );
}

#[test]
fn the_manual_lists_each_code_of_the_command_line() {
    let manual = include_str!("../../../../docs/cli.md");
    let source = include_str!("../error.rs");
    let arms = source.split_once("fn code(&self)").unwrap().1;
    let arms = arms.split_once("/// Returns how to fix").unwrap().0;
    let words = arms.split('"').skip(1).step_by(2);
    let codes: Vec<&str> = words.filter(|word| word.contains('.')).collect();
    assert!(codes.len() > 15, "{codes:?}");
    for code in codes.into_iter().chain([INVALID_USAGE]) {
        assert!(
            manual.contains(&format!("`{code}`")),
            "docs/cli.md lacks {code}"
        );
    }
}

#[test]
fn an_unknown_outcome_is_to_be_checked() {
    let refused = |code: &str, status| {
        let problem =
            json!({"type": "", "title": "", "status": status, "detail": "", "code": code});
        problem_retry(&serde_json::from_value(problem).unwrap())
    };
    assert_eq!(refused("store.unavailable", 503), CliRetry::Check);
    assert_eq!(refused("controller.no_leader", 503), CliRetry::Later);
    assert_eq!(refused("agent.none", 503), CliRetry::None);
    assert_eq!(refused("plan.refused", 422), CliRetry::None);
    assert_eq!(refused("token.too_often", 429), CliRetry::Later);
    let lost = |sent| CliError::Unreachable {
        url: "http://c".to_owned(),
        reason: String::new(),
        sent,
    };
    assert_eq!(retry(&lost(false)), CliRetry::Later);
    assert_eq!(retry(&lost(true)), CliRetry::Check);
}
