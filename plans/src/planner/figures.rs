//! Formats loads and other figures as text.

use crate::request::Measure;

/// Returns a load with its unit.
pub(super) fn load_text(measure: &Measure, cost: u64) -> String {
    match measure {
        Measure::Rows => format!("{cost} rows"),
        Measure::Bytes => crate::render::bytes(i64::try_from(cost).unwrap_or(i64::MAX)),
        Measure::Writes => format!("{cost} writes"),
        Measure::Query(_) => format!("weight {cost}"),
    }
}

/// Returns the name of the unit in which load is measured.
pub(super) fn measure_name(measure: &Measure) -> &'static str {
    match measure {
        Measure::Rows => "rows",
        Measure::Bytes => "bytes",
        Measure::Writes => "writes",
        Measure::Query(_) => "the query's weights",
    }
}

/// Returns a load as a multiple of the fair share, such as `1.8x`, with at most two decimals.
pub(super) fn multiple_text(cost: u64, fair: u64) -> String {
    if fair == 0 {
        return "no share".to_owned();
    }
    let (cost, fair) = (u128::from(cost), u128::from(fair));
    // A division by twice the unit, then by 2 rounded up, rounds to the nearest.
    let hundredths = (cost * 200 / fair).div_ceil(2);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    format!("{}x", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a part of a total in percent, rounded.
pub(super) fn percent_text(part: u64, total: u64) -> String {
    let total = u128::from(total.max(1));
    format!("{} %", (u128::from(part) * 200 / total).div_ceil(2))
}

/// Returns a word quoted for a shell, if it needs quotes.
pub(super) fn shell_quoted(word: &str) -> String {
    let needs_no_quotes = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(needs_no_quotes) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
