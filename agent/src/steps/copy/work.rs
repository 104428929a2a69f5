//! Estimates the work to copy a table, to predict the remaining time. The unit of work is the copy of one byte that is
//! not in a TOASTed value.

/// The work for a row in addition to its bytes.
const ROW_COST: f64 = 64.0;
/// The work for a byte of a TOASTed value: the target tries to compress the value, and stores it in several rows.
const TOAST_BYTE_COST: f64 = 3.0;

/// The moving rows of a table, estimated from the source's catalog before the copy.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableEstimate {
    pub(super) rows: i64,
    /// Bytes of the rows in the table's main file.
    pub(super) main_bytes: i64,
    /// Bytes of TOASTed values.
    pub(super) toast_bytes: i64,
}

impl TableEstimate {
    /// Estimates the moving rows of a table with `rows` rows and `bytes` bytes, of which `heap` are in its main file.
    /// Of one million rows, `ppm` move.
    pub(super) fn of(rows: i64, bytes: i64, heap: i64, ppm: i64) -> Self {
        let moving_part = |amount: i64| (amount as f64 * ppm as f64 / 1e6) as i64;
        Self {
            rows: moving_part(rows),
            main_bytes: moving_part(heap.min(bytes)),
            toast_bytes: moving_part((bytes - heap).max(0)),
        }
    }

    pub(super) fn bytes(self) -> i64 {
        self.main_bytes + self.toast_bytes
    }

    /// Returns the work for the copied `rows` and `bytes`, and the work for the whole table.
    pub(super) fn done_and_total_work(self, rows: i64, bytes: i64) -> (f64, f64) {
        let all = self.rows.max(rows) as f64;
        let each = ROW_COST + self.main_bytes as f64 / self.rows.max(1) as f64;
        let (done, copied_toast) = (rows as f64, self.copied_toast_bytes(rows, bytes));
        let total_toast = match copied_toast > self.toast_bytes as f64 && rows > 0 {
            // The source has compressed the values, so the estimate is too low. The remaining values are assumed to be
            // as large as the copied ones.
            true => copied_toast * all / done,
            // A few rows may have most of the TOASTed bytes, so the copied rows do not predict the remaining ones.
            false => copied_toast.max(self.toast_bytes as f64),
        };
        (
            done * each + copied_toast * TOAST_BYTE_COST,
            all * each + total_toast * TOAST_BYTE_COST,
        )
    }

    /// Returns how many of the copied bytes belong to TOASTed values.
    fn copied_toast_bytes(self, rows: i64, bytes: i64) -> f64 {
        if self.toast_bytes == 0 {
            return 0.0;
        }
        let copied_main_bytes = rows as f64 * self.main_bytes as f64 / self.rows.max(1) as f64;
        (bytes as f64 - copied_main_bytes).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction_done(estimate: TableEstimate, rows: i64, bytes: i64) -> f64 {
        let (done, all) = estimate.done_and_total_work(rows, bytes);
        done / all
    }

    #[test]
    fn an_estimate_counts_only_the_moving_part_of_the_table() {
        let estimate = TableEstimate::of(1_000, 500_000, 100_000, 500_000);
        assert_eq!(
            (estimate.rows, estimate.main_bytes, estimate.toast_bytes),
            (500, 50_000, 200_000)
        );
        assert_eq!(estimate.bytes(), 250_000);
    }

    #[test]
    fn without_toasted_values_only_the_number_of_rows_counts() {
        let estimate = TableEstimate::of(1_000, 100_000, 100_000, 1_000_000);
        assert!((fraction_done(estimate, 250, 900_000) - 0.25).abs() < 1e-9);
        assert!(
            (fraction_done(estimate, 2_000, 200_000) - 1.0).abs() < 1e-9,
            "more rows than were expected"
        );
    }

    #[test]
    fn large_values_in_the_first_rows_do_not_change_the_total() {
        let estimate = TableEstimate::of(1_000, 1_100_000, 100_000, 1_000_000);
        let (_, before) = estimate.done_and_total_work(0, 0);
        let (_, after) = estimate.done_and_total_work(10, 901_000);
        assert!((before - after).abs() < 1e-9, "{before} {after}");
    }

    #[test]
    fn compressed_values_count_with_their_size_in_the_copy() {
        let estimate = TableEstimate::of(1_000, 1_100_000, 100_000, 1_000_000);
        // The values are four times as large as their compressed form on the source.
        assert!((fraction_done(estimate, 500, 2_050_000) - 0.5).abs() < 1e-9);
    }
}
