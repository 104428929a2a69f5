//! Reads an existing directory table: one SELECT, read-only, bounded in time and rows.

use plans::inspection::{Directory, DirectoryTask, MOST_ROWS};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::{At, StepError};

/// Rows that are fetched at a time.
const BATCH: usize = 10_000;

pub(super) async fn run(task: &DirectoryTask) -> Result<Directory, StepError> {
    let client = super::session(&task.shard, "directory").await?;
    let what = format!("shard {}: reading the directory", task.shard.name);
    client
        .batch_execute(&format!(
            "begin read only; set local statement_timeout = {}",
            task.timeout_ms.max(1)
        ))
        .await
        .at(&what)?;
    // By the extended protocol: one statement, whatever the text holds.
    let cursor = format!(
        "declare shardwright_directory no scroll cursor for {}",
        task.query
    );
    client.execute(&cursor, &[]).await.at(&what)?;
    let directory = fetch(&client, &what).await;
    let _ = client.batch_execute("rollback").await;
    directory
}

async fn fetch(client: &Client, what: &str) -> Result<Directory, StepError> {
    let sql = format!("fetch {BATCH} from shardwright_directory");
    let mut directory = Directory {
        columns: Vec::new(),
        rows: Vec::new(),
    };
    loop {
        let before = directory.rows.len();
        for message in client.simple_query(&sql).await.at(what)? {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    directory.columns = columns.iter().map(|c| c.name().to_owned()).collect();
                }
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|at| row.get(at).map(str::to_owned));
                    directory.rows.push(values.collect());
                }
                // The end of the batch, and kinds that later versions of the driver may have.
                SimpleQueryMessage::CommandComplete(_) | _ => {}
            }
        }
        if directory.rows.len() > MOST_ROWS {
            return Err(StepError::refused(
                "directory.rows",
                format!("{what}: it has more than {MOST_ROWS} rows"),
                "group the keys, or export the directory as CSV and import that",
            ));
        }
        if directory.rows.len() - before < BATCH {
            return Ok(directory);
        }
    }
}
