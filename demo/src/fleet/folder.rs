//! The folder of a run, below the system's temporary one.

use crate::error::DemoError;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The run's own files.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// It stays when the run ends.
    pub(super) keep: AtomicBool,
}

impl Folder {
    /// A new folder, which is removed with this value unless it is kept.
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
