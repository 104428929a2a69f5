//! A wall clock of its own for one server, which can be set while the server runs.
//!
//! A small library, which is preloaded into the server, replaces the functions that read the system's clock. The C
//! compiler of this machine builds it. The machine's own clock is never changed.

use super::Folder;
use crate::error::DemoError;
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("clock.c");
/// The variable with the file from which the library reads the number of seconds.
const VARIABLE: &str = "SHARDWRIGHT_CLOCK";

/// A clock. Dropping it removes its files, which a running server has already opened.
#[derive(Debug)]
pub(crate) struct Clock {
    folder: Folder,
    file: File,
}

impl Clock {
    /// Builds the library. The clock is correct at first.
    ///
    /// # Errors
    /// [`DemoError::NoClock`] with the output of the compiler.
    pub(crate) fn build() -> Result<Self, DemoError> {
        let folder = Folder::create("clock", false)?;
        let failed = |path: &Path| DemoError::io(format!("write {}", path.display()));
        let (source, offset) = (folder.path.join("clock.c"), folder.path.join("seconds"));
        std::fs::write(&source, SOURCE).map_err(failed(&source))?;
        let library = library(&folder);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
        let output = compiler.arg(&library).arg(&source).output();
        let output = output.map_err(DemoError::io("run the C compiler"))?;
        if !output.status.success() {
            return Err(DemoError::NoClock {
                output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            });
        }
        let file = File::create(&offset).map_err(failed(&offset))?;
        let clock = Self { folder, file };
        clock.set(0)?;
        // The server's account must be able to read the files, regardless of the umask.
        let modes = [
            (&clock.folder.path, 0o755),
            (&library, 0o755),
            (&offset, 0o644),
        ];
        for (path, mode) in modes {
            let mode = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).map_err(failed(path))?;
        }
        Ok(clock)
    }

    /// Sets the clock to this number of seconds ahead of the machine's, for all processes of the server.
    pub(crate) fn set(&self, seconds: i64) -> Result<(), DemoError> {
        let written = self.file.write_all_at(&seconds.to_ne_bytes(), 0);
        written.map_err(DemoError::io("set a server's clock"))
    }

    /// Returns the environment variables with which a server uses this clock.
    pub(super) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("LD_PRELOAD", library(&self.folder)),
            (VARIABLE, self.folder.path.join("seconds")),
        ]
    }
}

fn library(folder: &Folder) -> PathBuf {
    folder.path.join("clock.so")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    /// Returns by how many seconds the output of `date` is ahead of this process.
    fn seconds_ahead(clock: &Clock) -> i64 {
        let mut date = Command::new("date");
        let output = date.arg("+%s").envs(clock.variables()).output().unwrap();
        let shown: i64 = String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        shown - i64::try_from(now.as_secs()).unwrap()
    }

    #[test]
    fn a_process_with_the_library_reads_the_clock_that_was_set() {
        let clock = Clock::build().unwrap();
        let close = Duration::from_secs(60).as_secs().cast_signed();
        for seconds in [0, 3_600, -3_600] {
            clock.set(seconds).unwrap();
            let ahead = seconds_ahead(&clock);
            assert!(
                (ahead - seconds).abs() < close,
                "{ahead} instead of {seconds}"
            );
        }
    }
}
