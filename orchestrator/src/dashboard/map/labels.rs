//! Places short texts above or below a bar, so that none covers another.

/// A placed text. The position is in percent of the width.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BarLabel {
    /// The point to which it belongs.
    pub(super) x: String,
    /// The row, from 0.
    pub(super) row: usize,
    pub(super) text: String,
    /// Where the text begins in relation to the point: `start`, `middle` or `end`.
    pub(super) anchor: &'static str,
}

/// The width of a wide screen's bar in pixels, and that of one character.
const WIDTH: f64 = 1100.0;
const CHARACTER: f64 = 7.2;
/// The maximum number of texts that are tried.
const MAX_TEXTS: usize = 40;

/// Places texts at their points in up to `rows` rows, the first ones first. A text without room is omitted.
pub(super) fn place_labels(texts: &[(f64, String)], rows: usize) -> Vec<BarLabel> {
    if texts.len() > MAX_TEXTS {
        return Vec::new();
    }
    let mut taken: Vec<Vec<(f64, f64)>> = vec![Vec::new(); rows];
    let mut placed = Vec::new();
    for (x, text) in texts {
        let width = (text.chars().count() as f64 * CHARACTER + 12.0) * 100.0 / WIDTH;
        let (from, anchor) = match x - width / 2.0 {
            from if from < 0.0 => (*x, "start"),
            from if from + width > 100.0 => (x - width, "end"),
            from => (from, "middle"),
        };
        let to = from + width;
        let is_free = |row: &&mut Vec<(f64, f64)>| row.iter().all(|(a, b)| to <= *a || from >= *b);
        let Some((row, spans)) = taken.iter_mut().enumerate().find(|(_, row)| is_free(row)) else {
            continue;
        };
        spans.push((from, to));
        placed.push(BarLabel {
            x: format!("{x:.3}"),
            row,
            text: text.clone(),
            anchor,
        });
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_cover_each_other_are_in_other_rows_or_omitted() {
        let text = |x: f64| (x, "a long name".to_owned());
        let placed = place_labels(&[text(50.0), text(51.0), text(52.0), text(90.0)], 2);
        let rows: Vec<usize> = placed.iter().map(|label| label.row).collect();
        assert_eq!(rows, [0, 1, 0]);
        assert_eq!(place_labels(&[text(0.0)], 1)[0].anchor, "start");
        assert_eq!(place_labels(&[text(100.0)], 1)[0].anchor, "end");
    }
}
