//! Reads mappings from JSON or YAML: a list of entries, with keys in the syntax of a request.

use super::{ImportEntry, ImportError, ImportForm, InputPosition};
use crate::id::ShardName;
use crate::shard_map::Selection;
use crate::shard_map::ShardMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{Options, Spanned};

/// One entry of the document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentEntry {
    keys: Selection,
    shard: ShardName,
}

pub(super) fn read(
    text: &str,
    form: ImportForm,
    shape: &ShardMap,
) -> Result<Vec<ImportEntry>, ImportError> {
    let document: Vec<DocumentEntry> = match form {
        ImportForm::Json => serde_json::from_str(text).map_err(|error| {
            let line = u64::try_from(error.line()).unwrap_or(u64::MAX);
            ImportError::of_one(InputPosition::Line(line), error.to_string())
        })?,
        ImportForm::Yaml | ImportForm::Csv => {
            serde_saphyr::from_str_with_options(text, parser_options(text)).map_err(|error| {
                let position = error
                    .location()
                    .map(|position| InputPosition::Line(position.line()));
                let reason = error.without_snippet().to_string();
                ImportError::of_one(position.unwrap_or(InputPosition::Whole), reason)
            })?
        }
    };
    let entries = document.into_iter().zip(1..);
    Ok(entries
        .map(|(DocumentEntry { keys, shard }, number)| ImportEntry {
            position: InputPosition::Entry(number),
            result: keys
                .resolve(shape)
                .map(|keys| (keys, shard))
                .map_err(|error| error.to_string()),
        })
        .collect())
}

/// Replaces the entry numbers in problems by lines. This parses the text again, so it is done only after an error.
pub(super) fn with_lines(mut error: ImportError, text: &str) -> ImportError {
    // A few characters of JSON are not valid YAML. Then the problems keep their entry numbers.
    let parsed =
        serde_saphyr::from_str_with_options::<Vec<Spanned<IgnoredAny>>>(text, parser_options(text));
    let Ok(spans) = parsed else { return error };
    for problem in &mut error.problems {
        let InputPosition::Entry(number) = problem.position else {
            continue;
        };
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        if let Some(span) = spans.get(index) {
            problem.position = InputPosition::Line(span.referenced.line());
        }
    }
    error
}

/// Returns options with which the parser accepts long files: as many events and nodes as the file has bytes.
fn parser_options(text: &str) -> Options {
    let mut options = Options::default();
    if let Some(budget) = &mut options.budget {
        budget.max_events = budget.max_events.max(text.len());
        budget.max_nodes = budget.max_nodes.max(text.len());
    }
    options
}
