//! Finds PostgreSQL's programs.
//!
//! If `SHARDWRIGHT_PG_BIN` is set, only its folders are searched. Otherwise the folders below `/usr/lib/postgresql` are
//! searched, then `PATH`. A folder has programs of one major version. To use several versions, set several folders,
//! separated as in `PATH`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::ClusterError;

/// The variable with the folders to search.
const VARIABLE: &str = "SHARDWRIGHT_PG_BIN";
/// The folder in which Debian's packages have a folder for each major version.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";
/// The oldest major version that is supported.
const OLDEST_MAJOR: u32 = 15;
const SERVER: WantedPrograms = WantedPrograms {
    what: "server programs",
    programs: &["postgres", "initdb", "pg_ctl"],
};
const DUMP: WantedPrograms = WantedPrograms {
    what: "client programs",
    programs: &["pg_dump"],
};
const BACKUP: WantedPrograms = WantedPrograms {
    what: "client programs",
    programs: &["pg_basebackup"],
};

/// A folder with PostgreSQL's programs of one version. A folder need not have every program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    dir: PathBuf,
    major: u32,
}

/// The programs that a folder must have. The version is that of the first program.
#[derive(Debug, Clone, Copy)]
struct WantedPrograms {
    what: &'static str,
    programs: &'static [&'static str],
}

impl Binaries {
    /// Finds the server programs of version `major`, or of the newest installed version.
    ///
    /// # Errors
    /// [`ClusterError::BinariesMissing`] lists the searched folders. Version 14 and older versions are ignored.
    pub fn find(major: Option<u32>) -> Result<Self, ClusterError> {
        Self::search(SERVER, major)
    }

    /// Finds `pg_dump` of version `major`. The folder need not have server programs.
    ///
    /// # Errors
    /// [`ClusterError::BinariesMissing`] lists the searched folders.
    pub fn for_dump(major: u32) -> Result<Self, ClusterError> {
        Self::search(DUMP, Some(major))
    }

    /// Finds `pg_basebackup` of version `major`.
    ///
    /// # Errors
    /// [`ClusterError::BinariesMissing`] lists the searched folders.
    pub fn for_backup(major: u32) -> Result<Self, ClusterError> {
        Self::search(BACKUP, Some(major))
    }

    /// Finds `pg_basebackup` of version `major` or, if there is none, a newer one. A newer one copies an older server, but
    /// the connection that it writes for the standby has parameters that the older server does not know.
    ///
    /// # Errors
    /// Those of [`Binaries::for_backup`].
    pub(crate) fn for_backup_without_connection(major: u32) -> Result<Self, ClusterError> {
        Self::for_backup(major).or_else(|missing| match Self::search(BACKUP, None) {
            Ok(newest) if newest.major > major => Ok(newest),
            Ok(_) | Err(_) => Err(missing),
        })
    }

    fn search(wanted: WantedPrograms, major: Option<u32>) -> Result<Self, ClusterError> {
        let folders = folders_to_search();
        let has_wanted_version =
            |it: &Self| major.map_or(it.major >= OLDEST_MAJOR, |wanted| it.major == wanted);
        let probed = folders.iter().filter_map(|dir| Self::probe(dir, wanted));
        let mut found = probed.filter(has_wanted_version);
        let found = match major {
            // A program in `PATH` may be a script that starts slowly, so it is run last.
            Some(_) => found.next(),
            None => found.reduce(|best, it| if it.major > best.major { it } else { best }),
        };
        found.ok_or_else(|| ClusterError::BinariesMissing {
            what: wanted.what,
            version: major.map_or_else(|| format!("{OLDEST_MAJOR} or newer"), |m| m.to_string()),
            searched: match std::env::var(VARIABLE) {
                Ok(dirs) => format!("{dirs} (from {VARIABLE})"),
                Err(_) => format!("{DEBIAN_FOLDER}/*/bin and PATH"),
            },
        })
    }

    /// Returns the full path of a program, for example `pg_dump`.
    pub fn path(&self, program: &str) -> PathBuf {
        self.dir.join(program)
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the major version, for example 15.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Returns the folder with its version if it has all wanted programs.
    fn probe(dir: &Path, wanted: WantedPrograms) -> Option<Self> {
        if !wanted.programs.iter().all(|it| dir.join(it).is_file()) {
            return None;
        }
        Some(Self {
            dir: dir.to_owned(),
            major: read_major(&dir.join(wanted.programs.first()?))?,
        })
    }
}

/// A program file and its modification time when its version was read.
type KnownProgram = (PathBuf, SystemTime);

/// Returns the major version that a program reports.
///
/// The program is run once, and again if its file has changed. A script that selects a program, such as Debian's
/// pg_wrapper, is run each time.
fn read_major(program: &Path) -> Option<u32> {
    static KNOWN: Mutex<BTreeMap<KnownProgram, u32>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = if is_script(program) {
        None
    } else {
        let changed = std::fs::metadata(program).and_then(|file| file.modified());
        Some((program.to_owned(), changed.ok()?))
    };
    if let Some(major) = key.as_ref().and_then(|key| known().get(key).copied()) {
        return Some(major);
    }
    let output = Command::new(program).arg("--version").output().ok()?;
    let major = parse_major(&String::from_utf8_lossy(&output.stdout))?;
    if let Some(key) = key {
        known().insert(key, major);
    }
    Some(major)
}

/// Returns whether the file is a script (it begins with `#!`).
fn is_script(program: &Path) -> bool {
    let mut begin = [0; 2];
    let file = std::fs::File::open(program);
    file.and_then(|mut file| file.read_exact(&mut begin))
        .is_ok_and(|()| &begin == b"#!")
}

/// Returns the folders to search, in their order.
fn folders_to_search() -> Vec<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(dirs) => std::env::split_paths(&dirs).collect(),
        None => debian_folders().into_iter().chain(search_path()).collect(),
    }
}

fn debian_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(DEBIAN_FOLDER)
        .into_iter()
        .flatten()
        .flatten();
    entries.map(|entry| entry.path().join("bin")).collect()
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Parses `15` from `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` and 19 from `.. 19devel`.
fn parse_major(version: &str) -> Option<u32> {
    let number = version.split("PostgreSQL) ").nth(1)?;
    let digits = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    number[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_chooses_the_program_is_run_each_time() {
        let folder = std::env::temp_dir().join(format!("cluster-script-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        // The script is not written by the test: another test could start a process while the file is open for writing,
        // and the script could then not be executed.
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pg_wrapper");
        std::os::unix::fs::symlink(script, folder.join("pg_dump")).expect("a link");
        let chosen = folder.join("chosen");
        let majors = ["15.9", "17.2"].map(|version| {
            std::fs::write(&chosen, version).expect("written");
            Binaries::probe(&folder, DUMP).map(|found| found.major)
        });
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(majors, [Some(15), Some(17)]);
    }

    #[test]
    fn the_major_version_is_read_from_every_form() {
        let parse = parse_major;
        assert_eq!(
            parse("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"),
            Some(15)
        );
        assert_eq!(parse("postgres (PostgreSQL) 19devel\n"), Some(19));
        assert_eq!(parse("something else"), None);
    }

    #[test]
    fn programs_for_a_dump_have_the_requested_version() {
        let newest = Binaries::find(None).expect("found");
        if newest.path("pg_dump").is_file() {
            let dump = Binaries::for_dump(newest.major()).expect("found");
            assert_eq!((dump.major(), dump.dir()), (newest.major(), newest.dir()));
        }
        let error = Binaries::for_dump(7).expect_err("version 7 is not installed");
        assert!(error.to_string().contains("7 client programs"), "{error}");
    }

    #[test]
    fn the_error_names_the_version_that_is_not_installed() {
        let error = Binaries::find(Some(7)).expect_err("version 7 is not installed");
        assert!(
            error.to_string().contains("postgresql 7 server programs"),
            "{error}"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("SHARDWRIGHT_PG_BIN"))
        );
    }
}
