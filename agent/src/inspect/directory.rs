//! Reads an existing directory table, which maps keys to shards: named columns of one table, read-only, with limits on
//! time, rows and bytes.
//!
//! The agent reads no view and executes no statement of the operator. Both may call functions, which would run with the
//! privileges of the agents' role.

use connect::Connected;
use futures::{TryStreamExt, pin_mut};
use plans::failure::StepCode;
use plans::inspection::{
    Directory, DirectoryTable, DirectoryTask, MAX_BYTES, MAX_ROWS, MAX_VALUE_CHARS,
};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use crate::error::{StepError, WithIntent};

/// The number of rows that the agent fetches at a time.
const BATCH: usize = 500;

pub(super) async fn run(task: &DirectoryTask) -> Result<Directory, StepError> {
    let client = super::session(&task.shard, "directory").await?;
    let action = format!(
        "shard {}: reading the directory {}",
        task.shard.name,
        task.table.sql()
    );
    client
        .batch_execute(&format!(
            "begin read only; set local statement_timeout = {}",
            task.timeout_ms.max(1)
        ))
        .await
        .at(&action)?;
    check_kind(&client, &task.table, &action).await?;
    let cursor = format!(
        "declare shardwright_directory no scroll cursor for {}",
        task.table.select()
    );
    client.execute(&cursor, &[]).await.at(&action)?;
    let directory = fetch_rows(&client, &task.table, &action).await;
    let _ = client.batch_execute("rollback").await;
    directory
}

/// Fails unless the relation is a table or a materialized view.
async fn check_kind(
    client: &Connected,
    table: &DirectoryTable,
    action: &str,
) -> Result<(), StepError> {
    let sql = "select c.relkind in ('r', 'p', 'm') from pg_catalog.pg_class c \
                join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace \
                where n.nspname operator(pg_catalog.=) $1 and c.relname operator(pg_catalog.=) $2";
    let names: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&table.schema, &table.table];
    let row = client.query_opt(sql, &names).await.at(action)?;
    match row.map(|row| row.get::<_, bool>(0)) {
        Some(true) => Ok(()),
        Some(false) => Err(StepError::refused(
            StepCode::DirectoryKind,
            format!("{action}: it is not a table"),
            "name a table or a materialized view, or export the directory as CSV and import that",
        )),
        None => Err(StepError::refused(
            StepCode::DirectoryMissing,
            format!("{action}: there is no such table"),
            "check schema and name; they are as the catalog has them, without quotes",
        )),
    }
}

/// The rows that were read, within the limits.
struct BoundedDirectory<'a> {
    directory: Directory,
    bytes: usize,
    action: &'a str,
}

async fn fetch_rows(
    client: &Connected,
    table: &DirectoryTable,
    action: &str,
) -> Result<Directory, StepError> {
    let sql = format!("fetch {BATCH} from shardwright_directory");
    let mut bounded = BoundedDirectory {
        directory: Directory {
            columns: table.columns(),
            rows: Vec::new(),
        },
        bytes: 0,
        action,
    };
    loop {
        let rows_before = bounded.directory.rows.len();
        let messages = client.simple_query_raw(&sql).await.at(action)?;
        pin_mut!(messages);
        while let Some(message) = messages.try_next().await.at(action)? {
            if let SimpleQueryMessage::Row(row) = message {
                bounded.push_row(&row)?;
            }
        }
        if bounded.directory.rows.len() - rows_before < BATCH {
            return Ok(bounded.directory);
        }
    }
}

impl BoundedDirectory<'_> {
    fn push_row(&mut self, row: &SimpleQueryRow) -> Result<(), StepError> {
        let values = (0..row.len()).map(|index| row.get(index));
        let values: Vec<Option<&str>> = values.collect();
        let is_too_long = |value: &&str| value.chars().nth(MAX_VALUE_CHARS).is_some();
        if values.iter().flatten().any(is_too_long) {
            let message = format!(
                "{}: a value has more than {MAX_VALUE_CHARS} characters",
                self.action
            );
            return Err(size_error(StepCode::DirectoryValue, message));
        }
        self.bytes += values
            .iter()
            .map(|value| max_json_bytes(*value))
            .sum::<usize>();
        let values = values.into_iter().map(|value| value.map(str::to_owned));
        self.directory.rows.push(values.collect());
        if self.directory.rows.len() > MAX_ROWS || self.bytes > MAX_BYTES {
            let message = format!(
                "{}: it has more than {MAX_ROWS} rows or {MAX_BYTES} bytes",
                self.action
            );
            return Err(size_error(StepCode::DirectoryRows, message));
        }
        Ok(())
    }
}

fn size_error(code: StepCode, message: String) -> StepError {
    let hint = "group the keys, or export the directory as CSV and import that";
    StepError::refused(code, message, hint)
}

/// Returns the largest number of bytes that the value takes in JSON, with its quotes and the comma after it. A control
/// character can be written as `\u0000`, which has 6 bytes; `null` and a comma have 5.
fn max_json_bytes(value: Option<&str>) -> usize {
    let byte = |byte: u8| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    let text_bytes = |text: &str| text.bytes().map(byte).sum::<usize>() + 3;
    value.map_or(5, text_bytes)
}
