//! Reads an existing directory table: named columns of one table, read-only, bounded in time, rows and bytes.
//!
//! No view is read, and no statement of the operator's: both may call functions, which would run as the agents' role.

use connect::Connected;
use futures::{TryStreamExt, pin_mut};
use plans::inspection::{
    Directory, DirectoryTable, DirectoryTask, LONGEST_VALUE, MOST_BYTES, MOST_ROWS,
};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use crate::error::{StepError, WithIntent};

/// Rows that are fetched at a time.
const BATCH: usize = 500;

pub(super) async fn run(task: &DirectoryTask) -> Result<Directory, StepError> {
    let client = super::session(&task.shard, "directory").await?;
    let what = format!(
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
        .at(&what)?;
    check_kind(&client, &task.table, &what).await?;
    let cursor = format!(
        "declare shardwright_directory no scroll cursor for {}",
        task.table.select()
    );
    client.execute(&cursor, &[]).await.at(&what)?;
    let directory = fetch(&client, &task.table, &what).await;
    let _ = client.batch_execute("rollback").await;
    directory
}

/// Refuses what is no table with rows of its own.
async fn check_kind(
    client: &Connected,
    table: &DirectoryTable,
    what: &str,
) -> Result<(), StepError> {
    let kind = "select c.relkind in ('r', 'p', 'm') from pg_catalog.pg_class c \
                join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace \
                where n.nspname operator(pg_catalog.=) $1 and c.relname operator(pg_catalog.=) $2";
    let names: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&table.schema, &table.table];
    let found = client.query_opt(kind, &names).await.at(what)?;
    match found.map(|row| row.get::<_, bool>(0)) {
        Some(true) => Ok(()),
        Some(false) => Err(StepError::refused(
            "directory.kind",
            format!("{what}: it is not a table"),
            "name a table or a materialized view, or export the directory as CSV and import that",
        )),
        None => Err(StepError::refused(
            "directory.missing",
            format!("{what}: there is no such table"),
            "check schema and name; they are as the catalog has them, without quotes",
        )),
    }
}

/// What has been read, as far as the limits allow.
struct BoundedDirectory<'a> {
    directory: Directory,
    bytes: usize,
    what: &'a str,
}

async fn fetch(
    client: &Connected,
    table: &DirectoryTable,
    what: &str,
) -> Result<Directory, StepError> {
    let sql = format!("fetch {BATCH} from shardwright_directory");
    let mut read = BoundedDirectory {
        directory: Directory {
            columns: table.columns(),
            rows: Vec::new(),
        },
        bytes: 0,
        what,
    };
    loop {
        let before = read.directory.rows.len();
        let messages = client.simple_query_raw(&sql).await.at(what)?;
        pin_mut!(messages);
        while let Some(message) = messages.try_next().await.at(what)? {
            if let SimpleQueryMessage::Row(row) = message {
                read.take(&row)?;
            }
        }
        if read.directory.rows.len() - before < BATCH {
            return Ok(read.directory);
        }
    }
}

impl BoundedDirectory<'_> {
    fn take(&mut self, row: &SimpleQueryRow) -> Result<(), StepError> {
        let values = (0..row.len()).map(|at| row.get(at));
        let values: Vec<Option<&str>> = values.collect();
        let long = |value: &&str| value.chars().nth(LONGEST_VALUE).is_some();
        if values.iter().flatten().any(long) {
            let message = format!(
                "{}: a value has more than {LONGEST_VALUE} characters",
                self.what
            );
            return Err(refused("directory.value", message));
        }
        self.bytes += values.iter().map(|value| written(*value)).sum::<usize>();
        let values = values.into_iter().map(|value| value.map(str::to_owned));
        self.directory.rows.push(values.collect());
        if self.directory.rows.len() > MOST_ROWS || self.bytes > MOST_BYTES {
            let message = format!(
                "{}: it has more than {MOST_ROWS} rows or {MOST_BYTES} bytes",
                self.what
            );
            return Err(refused("directory.rows", message));
        }
        Ok(())
    }
}

fn refused(code: &'static str, message: String) -> StepError {
    let hint = "group the keys, or export the directory as CSV and import that";
    StepError::refused(code, message, hint)
}

/// What a value takes in JSON, at most: bytes.
fn written(value: Option<&str>) -> usize {
    let byte = |byte: u8| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    let inside = |text: &str| text.bytes().map(byte).sum::<usize>() + 3;
    value.map_or(5, inside)
}
