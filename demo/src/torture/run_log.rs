//! A log of the events in a run, in a file of the run's folder.

use crate::error::DemoError;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The file. Each line begins with the seconds since the run began.
#[derive(Debug)]
pub(super) struct RunLog {
    begun: Instant,
    file: Mutex<File>,
}

impl RunLog {
    pub(super) fn begin(dir: &Path) -> Result<Self, DemoError> {
        let file = File::create(dir.join("story.log"));
        Ok(Self {
            begun: Instant::now(),
            file: Mutex::new(file.map_err(DemoError::io("write the log of the run's events"))?),
        })
    }

    pub(super) fn write(&self, text: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = self.begun.elapsed().as_secs_f64();
        if let Err(error) = writeln!(file, "{seconds:7.2} {text}") {
            tracing::warn!(%error, "event not logged");
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
