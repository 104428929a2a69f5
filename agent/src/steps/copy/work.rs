//! Estimates the work to copy a table, to predict the remaining time. The unit of work is one byte of an ordinary row.

/// The cost of a row in addition to its bytes.
const ROW_COST: f64 = 64.0;
/// The cost of a byte of a TOASTed value: the target tries to compress the value, and stores it in pieces.
const WIDE_BYTE_COST: f64 = 3.0;

/// The moving rows of a table, estimated from the source's catalog before the copy.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableEstimate {
    pub(super) rows: i64,
    /// Bytes of the rows in the table's main file.
    pub(super) narrow: i64,
    /// Bytes of TOASTed values.
    pub(super) wide: i64,
}

impl TableEstimate {
    /// Estimates a table of `bytes` bytes, of which `heap` are in its main file. Of one million rows, `ppm` move.
    pub(super) fn of(rows: i64, bytes: i64, heap: i64, ppm: i64) -> Self {
        let part = |amount: i64| (amount as f64 * ppm as f64 / 1e6) as i64;
        Self {
            rows: part(rows),
            narrow: part(heap.min(bytes)),
            wide: part((bytes - heap).max(0)),
        }
    }

    pub(super) fn bytes(self) -> i64 {
        self.narrow + self.wide
    }

    /// Returns the work for the copied `rows` and `bytes`, and the work for the whole table.
    pub(super) fn done_and_total_work(self, rows: i64, bytes: i64) -> (f64, f64) {
        let all = self.rows.max(rows) as f64;
        let each = ROW_COST + self.narrow as f64 / self.rows.max(1) as f64;
        let (done, wide) = (rows as f64, self.wide_bytes(rows, bytes));
        let all_wide = match wide > self.wide as f64 && rows > 0 {
            // The source has compressed the values, so the estimate is too low. The remaining values are assumed to be
            // as large as the copied ones.
            true => wide * all / done,
            // A few rows may have most of the TOASTed bytes, so the copied rows do not predict the remaining ones.
            false => wide.max(self.wide as f64),
        };
        (
            done * each + wide * WIDE_BYTE_COST,
            all * each + all_wide * WIDE_BYTE_COST,
        )
    }

    /// Returns how many of the copied bytes belong to TOASTed values.
    fn wide_bytes(self, rows: i64, bytes: i64) -> f64 {
        if self.wide == 0 {
            return 0.0;
        }
        let narrow = rows as f64 * self.narrow as f64 / self.rows.max(1) as f64;
        (bytes as f64 - narrow).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(estimate: TableEstimate, rows: i64, bytes: i64) -> f64 {
        let (done, all) = estimate.done_and_total_work(rows, bytes);
        done / all
    }

    #[test]
    fn what_moves_is_a_part_of_the_table() {
        let estimate = TableEstimate::of(1_000, 500_000, 100_000, 500_000);
        assert_eq!(
            (estimate.rows, estimate.narrow, estimate.wide),
            (500, 50_000, 200_000)
        );
        assert_eq!(estimate.bytes(), 250_000);
    }

    #[test]
    fn rows_alone_count_where_none_is_wide() {
        let estimate = TableEstimate::of(1_000, 100_000, 100_000, 1_000_000);
        assert!((part(estimate, 250, 900_000) - 0.25).abs() < 1e-9);
        assert!(
            (part(estimate, 2_000, 200_000) - 1.0).abs() < 1e-9,
            "more rows than were expected"
        );
    }

    #[test]
    fn a_wide_row_is_no_measure_of_those_that_follow() {
        let estimate = TableEstimate::of(1_000, 1_100_000, 100_000, 1_000_000);
        let (_, before) = estimate.done_and_total_work(0, 0);
        let (_, after) = estimate.done_and_total_work(10, 901_000);
        assert!((before - after).abs() < 1e-9, "{before} {after}");
    }

    #[test]
    fn values_that_the_source_has_compressed_are_counted_as_they_come() {
        let estimate = TableEstimate::of(1_000, 1_100_000, 100_000, 1_000_000);
        // The values are four times as large as their compressed form on the source.
        assert!((part(estimate, 500, 2_050_000) - 0.5).abs() < 1e-9);
    }
}
