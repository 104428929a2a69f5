//! A sorted stream of two texts a row, read as the server sends it; memory holds one row.

use std::pin::Pin;

use connect::Connected;
use futures::{Stream, TryStreamExt};
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};

/// Rows of two texts, in the order of the first one's bytes.
pub(super) struct SortedRows {
    rows: Pin<Box<dyn Stream<Item = Result<Row, tokio_postgres::Error>> + Send>>,
    what: String,
}

impl SortedRows {
    /// Runs `sql`, which sorts by its first column under collation "C".
    pub(super) async fn open(
        client: &Connected,
        sql: String,
        what: String,
    ) -> Result<Self, StepError> {
        let none: [&str; 0] = [];
        let rows = client.query_raw(&sql, none).await.at(&what)?;
        Ok(Self {
            rows: Box::pin(rows),
            what,
        })
    }

    /// The next row; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<(String, String)>, StepError> {
        let row = self.rows.try_next().await.at(&self.what)?;
        Ok(row.map(|row| (row.get(0), row.get(1))))
    }
}
