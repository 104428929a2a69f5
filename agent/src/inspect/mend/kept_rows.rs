//! Rows that a repair deletes are written to files first, and kept for some time.
//!
//! One folder for each repair: a file in PostgreSQL's COPY text format for each table, and `rows.json`, which says of
//! which table each is and by which statement psql puts it back. The files hold rows: nobody but the agent's user may
//! read them.

use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use connect::Connected;
use futures::TryStreamExt;
use plans::id::ShardName;
use plans::sql::quote_ident;
use plans::table::TableName;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::error::{StepError, WithIntent};

/// The folder, inside an agent's own, that holds the rows of all its repairs.
const FOLDER: &str = "deleted-rows";

/// The file that says what the others are.
const CONTENTS: &str = "rows.json";

/// The files of one repair.
pub(super) struct KeptRows {
    folder: PathBuf,
    shard: ShardName,
    tables: Vec<Value>,
    closed: bool,
}

impl Drop for KeptRows {
    /// A repair that was refused, or failed, before its files were whole has deleted nothing: no row stays in a file.
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            let folder = self.folder.display();
            tracing::warn!(%folder, %error, "the files of a repair that did nothing could not be removed");
        }
    }
}

impl KeptRows {
    /// A folder of its own in the agent's.
    pub(super) fn create(agent: &Path, shard: &ShardName) -> Result<Self, StepError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.map_or(0, |since| since.as_secs());
        let named = format!("{seconds}-{}", uuid::Uuid::new_v4());
        let folder = agent.join(FOLDER).join(named);
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.at(format_args!("creating folder {}", folder.display()))?;
        Ok(Self {
            folder,
            shard: shard.clone(),
            tables: Vec::new(),
            closed: false,
        })
    }

    /// Writes the rows of a table that fulfil the predicate over `t`; they are on the disk when this returns.
    pub(super) async fn write(
        &mut self,
        client: &Connected,
        table: &TableName,
        columns: &[String],
        predicate: &str,
    ) -> Result<(), StepError> {
        let name = format!("{}.copy", self.tables.len() + 1);
        let path = self.folder.join(&name);
        let what = format!(
            "shard {}: writing the rows of {table} that are deleted to {}",
            self.shard,
            path.display()
        );
        let list: Vec<String> = columns.iter().map(|column| quote_ident(column)).collect();
        let list = list.join(", ");
        let sql = format!(
            "copy (select {list} from {} t where {predicate}) to stdout",
            table.sql()
        );
        let mut file = private(&path).at(&what)?;
        let rows = client.copy_out(&sql).await.at(&what)?;
        let mut rows = std::pin::pin!(rows);
        while let Some(part) = rows.try_next().await.at(&what)? {
            file.write_all(&part).await.at(&what)?;
        }
        file.sync_all().await.at(&what)?;
        self.tables.push(json!({
            "file": name,
            "table": table,
            "restore": format!("\\copy {} ({list}) from '{name}'", table.sql()),
        }));
        Ok(())
    }

    /// Says what the files are; the folder, for the journal.
    pub(super) async fn close(mut self, owner: &ShardName) -> Result<String, StepError> {
        let path = self.folder.join(CONTENTS);
        let what = format!("writing {}", path.display());
        let contents = json!({
            "deleted_from": self.shard,
            "owner": owner,
            "tables": self.tables,
        });
        let mut file = private(&path).at(&what)?;
        let text = format!("{contents:#}\n");
        file.write_all(text.as_bytes()).await.at(&what)?;
        file.sync_all().await.at(&what)?;
        // The entries too: rows are deleted only once their files outlive a crash of the host.
        for folder in self.folder.ancestors().take(3) {
            let folder = File::open(folder).await.at(&what)?;
            folder.sync_all().await.at(&what)?;
        }
        self.closed = true;
        Ok(self.folder.display().to_string())
    }
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    Ok(File::from_std(file))
}

/// Removes the rows of repairs that are older than `keep`.
pub(crate) fn clear(agent: &Path, keep: Duration) {
    let Ok(repairs) = std::fs::read_dir(agent.join(FOLDER)) else {
        return;
    };
    let now = SystemTime::now();
    for repair in repairs.flatten() {
        let age = repair.metadata().and_then(|known| known.modified());
        let age = age.ok().and_then(|at| now.duration_since(at).ok());
        if age.is_none_or(|age| age <= keep) {
            continue;
        }
        let path = repair.path();
        match std::fs::remove_dir_all(&path) {
            Ok(()) => {
                tracing::info!(folder = %path.display(), "deleted rows of a repair are kept no longer")
            }
            Err(error) => {
                tracing::warn!(folder = %path.display(), %error, "deleted rows of a repair could not be removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_repair_whose_files_are_whole_leaves_any() {
        let agent = std::env::temp_dir().join(format!("shardwright-kept-{}", uuid::Uuid::new_v4()));
        let (shard, owner) = (ShardName::from("a"), ShardName::from("b"));
        drop(KeptRows::create(&agent, &shard).expect("a folder"));
        let repairs = || std::fs::read_dir(agent.join(FOLDER)).expect("read").count();
        assert_eq!(repairs(), 0);
        let whole = KeptRows::create(&agent, &shard).expect("a folder");
        whole.close(&owner).await.expect("written");
        assert_eq!(repairs(), 1);
        std::fs::remove_dir_all(&agent).expect("removed");
    }
}
