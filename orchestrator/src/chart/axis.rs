//! The value axis of a chart: it begins at 0, has one unit, and no two ticks have the same label.

/// What the values of a chart are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartQuantity {
    /// Things per second; the text is their unit, as in `rows/s`.
    Rate(&'static str),
    /// Bytes, with a suffix after the unit: none, or `/s`.
    Bytes(&'static str),
    /// A time in milliseconds.
    Millis,
}

/// The largest number of ticks above 0.
const MAX_TICKS: f64 = 4.0;

/// A scale from 0 to a round number in one unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueAxis {
    pub(crate) unit: String,
    /// One unit of the axis, in the unit of the values.
    factor: f64,
    /// The distance between two ticks, in units of the axis.
    step: f64,
    ticks: u32,
}

impl ValueAxis {
    /// Returns the axis for values up to `highest`.
    pub(crate) fn new(quantity: ChartQuantity, highest: f64) -> Self {
        let (factor, unit) = unit_for(quantity, highest);
        let step = round_step(highest / factor / MAX_TICKS);
        // A whole number of things, bytes or milliseconds has no ticks between two numbers.
        let step = if factor == 1.0 { step.max(1.0) } else { step };
        Self {
            unit,
            factor,
            step,
            ticks: (highest / factor / step).ceil().max(1.0) as u32,
        }
    }

    /// Returns the position of a value: 0 at the bottom, 1 at the highest tick.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        value.max(0.0) / (self.factor * self.step * f64::from(self.ticks))
    }

    /// Returns the position and the label of each tick, without the unit.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        (0..=self.ticks).map(|tick| {
            let fraction = f64::from(tick) / f64::from(self.ticks);
            (fraction, self.number(f64::from(tick) * self.step))
        })
    }

    /// Formats a value with the unit of the axis, more exactly than its ticks.
    pub(crate) fn text(&self, value: f64) -> String {
        let digits = if self.factor == 1.0 { 0 } else { 1 };
        format!("{:.digits$} {}", value / self.factor, self.unit)
    }

    fn number(&self, value: f64) -> String {
        let digits = if self.step < 1.0 { 1 } else { 0 };
        format!("{value:.digits$}")
    }
}

/// Returns the unit in which `highest` is at least 1, and its size.
fn unit_for(quantity: ChartQuantity, highest: f64) -> (f64, String) {
    let units: Vec<(f64, String)> = match quantity {
        ChartQuantity::Rate(unit) => ["", "k ", "M ", "G "]
            .iter()
            .zip([1.0, 1e3, 1e6, 1e9])
            .map(|(prefix, factor)| (factor, format!("{prefix}{unit}")))
            .collect(),
        ChartQuantity::Bytes(suffix) => ["B", "KiB", "MiB", "GiB", "TiB"]
            .iter()
            .zip(0_i32..)
            .map(|(unit, power)| (1024_f64.powi(power), format!("{unit}{suffix}")))
            .collect(),
        ChartQuantity::Millis => [(1.0, "ms"), (1e3, "s"), (60e3, "min"), (3_600e3, "h")]
            .map(|(factor, unit)| (factor, unit.to_owned()))
            .into(),
    };
    // Up to ten thousand things need no prefix.
    let least = match quantity {
        ChartQuantity::Rate(_) => 10.0,
        ChartQuantity::Bytes(_) | ChartQuantity::Millis => 2.0,
    };
    let mut fitting = units
        .iter()
        .rev()
        .filter(|(factor, _)| highest >= least * factor);
    fitting.next().unwrap_or(&units[0]).clone()
}

/// Returns the smallest of the numbers 1, 2, 5, 10, 20, ... (and 0.5, 0.2, 0.1, ...) that is at least `value`; 1 for 0.
fn round_step(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(quantity: ChartQuantity, highest: f64) -> (Vec<String>, String) {
        let axis = ValueAxis::new(quantity, highest);
        let labels = axis.ticks().map(|(_, label)| label).collect();
        (labels, axis.unit)
    }

    #[test]
    fn ticks_begin_at_zero_and_differ() {
        let quantities = [
            ChartQuantity::Rate("rows/s"),
            ChartQuantity::Bytes("/s"),
            ChartQuantity::Millis,
        ];
        for quantity in quantities {
            for highest in [0.0, 0.3, 1.0, 3.0, 999.0, 1_500.0, 45_000.0, 7.7e9] {
                let (labels, unit) = labels(quantity, highest);
                let mut different = labels.clone();
                different.dedup();
                assert_eq!(different, labels, "{highest} {unit}");
                assert!(matches!(labels[0].as_str(), "0" | "0.0"), "{labels:?}");
                let axis = ValueAxis::new(quantity, highest);
                assert!(axis.fraction(highest) <= 1.0, "{highest} {unit}");
            }
        }
    }

    #[test]
    fn an_axis_has_one_unit() {
        let (ticks, unit) = labels(ChartQuantity::Bytes(""), 1_999_000.0);
        assert_eq!(
            (ticks.join(" ").as_str(), unit.as_str()),
            ("0 500 1000 1500 2000", "KiB")
        );
        let (ticks, unit) = labels(ChartQuantity::Millis, 1.0);
        assert_eq!((ticks.join(" ").as_str(), unit.as_str()), ("0 1", "ms"));
    }
}
