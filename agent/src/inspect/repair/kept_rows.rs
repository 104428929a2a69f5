//! Writes the rows that a repair deletes to files, and keeps the files for some time.
//!
//! Each repair has a folder with one file in PostgreSQL's COPY text format for each table. The file `rows.json` lists
//! the table of each file, and the psql command that restores it. Because the files contain rows, only the agent's user
//! may read them.

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

/// The folder for the files of all repairs, inside the agent's folder.
const REPAIRS_FOLDER: &str = "deleted-rows";

/// The name of the file that describes the other files.
const CONTENTS_FILE: &str = "rows.json";

/// The files of one repair.
pub(super) struct KeptRows {
    folder: PathBuf,
    shard: ShardName,
    tables: Vec<Value>,
    is_finished: bool,
}

impl Drop for KeptRows {
    /// Removes the files if the repair failed before they were complete: then it has deleted no row.
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            let folder = self.folder.display();
            tracing::warn!(%folder, %error, "the files of a failed repair could not be removed");
        }
    }
}

impl KeptRows {
    /// Creates a new folder for one repair in the agent's folder.
    pub(super) fn create(agent: &Path, shard: &ShardName) -> Result<Self, StepError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.map_or(0, |since| since.as_secs());
        let folder_name = format!("{seconds}-{}", uuid::Uuid::new_v4());
        let folder = agent.join(REPAIRS_FOLDER).join(folder_name);
        let result = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        result.at(format_args!("creating folder {}", folder.display()))?;
        Ok(Self {
            folder,
            shard: shard.clone(),
            tables: Vec::new(),
            is_finished: false,
        })
    }

    /// Writes the rows `t` of a table that satisfy the predicate. The rows are on disk when the function returns.
    pub(super) async fn write(
        &mut self,
        client: &Connected,
        table: &TableName,
        columns: &[String],
        predicate: &str,
    ) -> Result<(), StepError> {
        let name = format!("{}.copy", self.tables.len() + 1);
        let path = self.folder.join(&name);
        let action = format!(
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
        let mut file = create_private_file(&path).at(&action)?;
        let rows = client.copy_out(&sql).await.at(&action)?;
        let mut rows = std::pin::pin!(rows);
        while let Some(part) = rows.try_next().await.at(&action)? {
            file.write_all(&part).await.at(&action)?;
        }
        file.sync_all().await.at(&action)?;
        self.tables.push(json!({
            "file": name,
            "table": table,
            "restore": format!("\\copy {} ({list}) from '{name}'", table.sql()),
        }));
        Ok(())
    }

    /// Writes the file that describes the others. Returns the folder, for the journal.
    pub(super) async fn finish(mut self, owner: &ShardName) -> Result<String, StepError> {
        let path = self.folder.join(CONTENTS_FILE);
        let action = format!("writing {}", path.display());
        let contents = json!({
            "deleted_from": self.shard,
            "owner": owner,
            "tables": self.tables,
        });
        let mut file = create_private_file(&path).at(&action)?;
        let text = format!("{contents:#}\n");
        file.write_all(text.as_bytes()).await.at(&action)?;
        file.sync_all().await.at(&action)?;
        // The directory entries are flushed too, so that the files survive a crash of the host before the rows are
        // deleted.
        // The folder of the repair, the folder of all repairs, and the agent's folder.
        for folder in self.folder.ancestors().take(3) {
            let folder = File::open(folder).await.at(&action)?;
            folder.sync_all().await.at(&action)?;
        }
        self.is_finished = true;
        Ok(self.folder.display().to_string())
    }
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    Ok(File::from_std(file))
}

/// Removes the files of repairs that are older than `keep`.
pub(crate) fn delete_expired(agent: &Path, keep: Duration) {
    let Ok(repairs) = std::fs::read_dir(agent.join(REPAIRS_FOLDER)) else {
        return;
    };
    let now = SystemTime::now();
    for repair in repairs.flatten() {
        let age = repair.metadata().and_then(|metadata| metadata.modified());
        let age = age.ok().and_then(|at| now.duration_since(at).ok());
        if age.is_none_or(|age| age <= keep) {
            continue;
        }
        let path = repair.path();
        match std::fs::remove_dir_all(&path) {
            Ok(()) => {
                tracing::info!(folder = %path.display(), "removed the files of an old repair")
            }
            Err(error) => {
                tracing::warn!(folder = %path.display(), %error, "the files of an old repair could not be removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_repair_with_complete_files_leaves_files() {
        let agent = std::env::temp_dir().join(format!("shardwright-kept-{}", uuid::Uuid::new_v4()));
        let (shard, owner) = (ShardName::from("a"), ShardName::from("b"));
        drop(KeptRows::create(&agent, &shard).expect("a folder"));
        let repairs = || {
            std::fs::read_dir(agent.join(REPAIRS_FOLDER))
                .expect("read")
                .count()
        };
        assert_eq!(repairs(), 0);
        let complete = KeptRows::create(&agent, &shard).expect("a folder");
        complete.finish(&owner).await.expect("written");
        assert_eq!(repairs(), 1);
        std::fs::remove_dir_all(&agent).expect("removed");
    }
}
