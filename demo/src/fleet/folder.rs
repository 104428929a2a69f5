//! The folder of a run, below the system's temporary folder.

use crate::error::DemoError;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The files of a run.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// True to keep the folder after the run.
    pub(super) keep: AtomicBool,
}

impl Folder {
    /// Creates a folder. Dropping the value removes it, unless it is to be kept.
    pub(super) fn create(name: &str, keep: bool) -> Result<Self, DemoError> {
        let name = format!(
            "shardwright-{name}-{}-{:04x}",
            std::process::id(),
            rand::random::<u16>()
        );
        let path = std::env::temp_dir().join(name);
        let failed = || DemoError::io(format!("create {}", path.display()));
        std::fs::create_dir(&path).map_err(failed())?;
        std::fs::create_dir(path.join("tmp")).map_err(failed())?;
        let keep = AtomicBool::new(keep);
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.keep.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "folder not removed");
        }
    }
}
