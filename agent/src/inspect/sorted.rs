//! Reads a sorted query result row by row. Only one row is in memory.

use std::pin::Pin;

use connect::Connected;
use futures::{Stream, TryStreamExt};
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};

/// Result rows with two texts, sorted by the bytes of the first text.
pub(super) struct SortedRows {
    rows: Pin<Box<dyn Stream<Item = Result<Row, tokio_postgres::Error>> + Send>>,
    action: String,
}

impl SortedRows {
    /// Runs `sql`, which must sort by its first column under collation "C".
    pub(super) async fn open(
        client: &Connected,
        sql: String,
        action: String,
    ) -> Result<Self, StepError> {
        let no_parameters: [&str; 0] = [];
        let rows = client.query_raw(&sql, no_parameters).await.at(&action)?;
        Ok(Self {
            rows: Box::pin(rows),
            action,
        })
    }

    /// Returns the next row, or `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<(String, String)>, StepError> {
        let row = self.rows.try_next().await.at(&self.action)?;
        Ok(row.map(|row| (row.get(0), row.get(1))))
    }
}
