//! libpq's connection services: named sets of parameters in a file.
//!
//! As in libpq, the file that `PGSERVICEFILE` names is read first, or else `~/.pg_service.conf`; then `pg_service.conf`
//! in the folder `PGSYSCONFDIR`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Why a service's parameters could not be read. No message contains a value, because it may be a password.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No file defines the service.
    #[error("service {name:?} is not defined in {places}")]
    Unknown {
        /// The name of the service.
        name: String,
        /// The files that were read.
        places: String,
    },
    /// The file could not be read as UTF-8 text.
    #[error("service file {} could not be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A line is neither empty nor a comment nor `key=value`.
    #[error("line {line} of the service file {} is not key=value", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
}

/// Returns the parameters of the service `name`.
pub(crate) fn service(
    name: &str,
    environment: &Environment,
) -> Result<BTreeMap<String, String>, ServiceError> {
    let own = match environment.get("PGSERVICEFILE") {
        Some(path) => Some(PathBuf::from(path)),
        None => environment
            .path_below_home(".pg_service.conf")
            .filter(|path| path.exists()),
    };
    let shared = environment
        .get("PGSYSCONFDIR")
        .map(|folder| Path::new(folder).join("pg_service.conf"))
        .filter(|path| path.exists());
    let mut places = Vec::new();
    for path in [own, shared].into_iter().flatten() {
        if let Some(found) = read(&path, name)? {
            return Ok(found);
        }
        places.push(path.display().to_string());
    }
    let places = match places.is_empty() {
        true => "any service file, there is none".to_owned(),
        false => places.join(" or "),
    };
    Err(ServiceError::Unknown {
        name: name.to_owned(),
        places,
    })
}

fn read(path: &Path, name: &str) -> Result<Option<BTreeMap<String, String>>, ServiceError> {
    let text = std::fs::read_to_string(path).map_err(|source| ServiceError::File {
        path: path.to_owned(),
        source,
    })?;
    let mut found: Option<BTreeMap<String, String>> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[') {
            if found.is_some() {
                break; // the next service
            }
            let this = heading.strip_suffix(']') == Some(name);
            found = this.then(BTreeMap::new);
        } else if let Some(values) = &mut found {
            let (key, value) = line.split_once('=').ok_or_else(|| ServiceError::Line {
                path: path.to_owned(),
                line: number + 1,
            })?;
            // If a key occurs twice, the first one is used, as in libpq.
            values
                .entry(key.trim().to_owned())
                .or_insert_with(|| value.trim().to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_what_stands_below_its_heading() {
        let path = std::env::temp_dir().join(format!("service-{}.conf", std::process::id()));
        let text = "# ours\n[other]\nhost=o\n\n[shop]\nhost = db\nport=6543\nhost=second\n[third]\nuser=t\n";
        std::fs::write(&path, text).expect("written");
        let environment = Environment::of([("PGSERVICEFILE", path.display().to_string())]);
        let found = service("shop", &environment).expect("found");
        let unknown = service("nowhere", &environment).expect_err("unknown");
        std::fs::remove_file(&path).expect("removed");
        let pairs: Vec<String> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(pairs, ["host=db", "port=6543"]);
        assert!(unknown.to_string().contains("nowhere"), "{unknown}");
    }
}
