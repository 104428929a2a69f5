//! What a rebalance balances by, as it is typed.

use plans::request::Measure;

/// rows, bytes, writes, or a query.
pub(super) fn measure(text: &str) -> Result<Measure, String> {
    match text {
        "rows" => Ok(Measure::Rows),
        "bytes" => Ok(Measure::Bytes),
        "writes" => Ok(Measure::Writes),
        query if query.trim_start().to_lowercase().starts_with("select") => {
            Ok(Measure::Query(query.to_owned()))
        }
        other => Err(format!(
            "{other:?} is none of rows, bytes, writes, and no SELECT"
        )),
    }
}
