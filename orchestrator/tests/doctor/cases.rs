//! Cases as files: one in YAML for each.

use serde::de::DeserializeOwned;
use std::path::Path;

/// All cases of a folder by name.
pub(crate) fn read<T: DeserializeOwned>(folder: &Path) -> Vec<(String, T)> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut cases: Vec<(String, T)> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let case = serde_saphyr::from_str(&text);
            let case = case.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (name, case)
        })
        .collect();
    cases.sort_by(|(a, _), (b, _)| a.cmp(b));
    cases
}
