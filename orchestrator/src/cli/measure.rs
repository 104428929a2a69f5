//! Parses the measure of load on the command line.

use plans::request::Measure;

/// Parses a measure: `rows`, `bytes`, `writes`, or a query.
pub(super) fn measure(text: &str) -> Result<Measure, String> {
    match text {
        "rows" => Ok(Measure::Rows),
        "bytes" => Ok(Measure::Bytes),
        "writes" => Ok(Measure::Writes),
        query if query.trim_start().to_lowercase().starts_with("select") => {
            Ok(Measure::Query(query.to_owned()))
        }
        other => Err(format!(
            "{other:?} is neither rows, bytes or writes, nor a SELECT"
        )),
    }
}
