//! Formats loads as text.

use crate::request::Measure;

/// Returns a load with its unit.
pub(super) fn amount(by: &Measure, cost: u64) -> String {
    match by {
        Measure::Rows => format!("{cost} rows"),
        Measure::Bytes => crate::render::bytes(i64::try_from(cost).unwrap_or(i64::MAX)),
        Measure::Writes => format!("{cost} writes"),
        Measure::Query(_) => format!("weight {cost}"),
    }
}

/// Returns the name of the unit in which load is measured.
pub(super) fn measure(by: &Measure) -> &'static str {
    match by {
        Measure::Rows => "rows",
        Measure::Bytes => "bytes",
        Measure::Writes => "writes",
        Measure::Query(_) => "the query's weights",
    }
}

/// Returns a load as a multiple of the fair share, such as `1.8x`, with at most two decimals.
pub(super) fn times(cost: u64, fair: u64) -> String {
    if fair == 0 {
        return "no share".to_owned();
    }
    let (cost, fair) = (u128::from(cost), u128::from(fair));
    let hundredths = (cost * 200 / fair).div_ceil(2);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    format!("{}x", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a part of a whole in whole percent.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    format!("{} %", (u128::from(part) * 200 / whole).div_ceil(2))
}

/// Quotes a word for a shell, unless it is plain.
pub(super) fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
