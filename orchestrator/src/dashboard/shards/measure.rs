//! The values of measures with their units.

use crate::controller::FleetMeasure;
use crate::view::figures::{count, file_size};
use crate::view::server::rate_text;

/// Returns a value of a measure with its unit.
pub(in crate::dashboard) fn measure_text(measure: FleetMeasure, value: f64) -> String {
    match measure {
        FleetMeasure::Size => file_size(value as u64),
        FleetMeasure::Rows => format!("{} rows", count(value as i64)),
        FleetMeasure::Writes => rate_text(value, "write"),
        FleetMeasure::Connections => count(value as i64),
    }
}
