//! The files of a release.

use crate::fixture::Database;
use serde::Deserialize;
use serde_json::Value;
use sqlx::{Connection, PgConnection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What was asked and answered once.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Exchange {
    pub(super) path: String,
    pub(super) asked: Value,
    pub(super) answered: Value,
}

#[derive(Debug, Clone)]
pub(super) struct Release {
    folder: PathBuf,
}

/// Every release, the oldest first.
pub(super) fn releases() -> Vec<Release> {
    let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compat");
    let entries = std::fs::read_dir(compat).unwrap();
    let mut found: Vec<(Vec<u32>, Release)> = entries
        .filter_map(|entry| {
            let folder = entry.unwrap().path();
            let parts = folder.file_name()?.to_str()?.split('.').map(str::parse);
            Some((parts.collect::<Result<_, _>>().ok()?, Release { folder }))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "no release was recorded");
    found.into_iter().map(|(_, release)| release).collect()
}

/// The release whose programs work together with the present ones.
pub(super) fn newest() -> Release {
    releases().pop().unwrap()
}

impl Release {
    fn read(&self, name: &str) -> String {
        let file = self.folder.join(name);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"))
    }

    fn texts(&self, part: &str) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(self.folder.join(part)).unwrap();
        let named = entries.map(|entry| {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let text = self.read(&format!("{part}/{file}"));
            (file.trim_end_matches(".json").to_owned(), text)
        });
        named.collect()
    }

    /// By name: `claim.step.copy`, `report.copy.done`.
    pub(super) fn exchanges(&self) -> BTreeMap<String, Exchange> {
        let texts = self.texts("wire").into_iter();
        let read = texts.map(|(name, text)| (name, serde_json::from_str(&text).unwrap()));
        read.collect()
    }

    /// By operation.
    pub(super) fn plans(&self) -> BTreeMap<String, String> {
        self.texts("plans")
    }

    /// Ids of the store's migrations, by what became of them.
    pub(super) fn migrations(&self) -> BTreeMap<String, String> {
        serde_json::from_str(&self.read("migrations.json")).unwrap()
    }

    /// A database with the control store as it was dumped.
    pub(super) async fn restored(&self) -> Database {
        let database = Database::new().await;
        let mut session = PgConnection::connect(&database.address()).await.unwrap();
        // The dump changes settings of the session, which ends here.
        let dump = sqlx::AssertSqlSafe(self.read("store.sql"));
        sqlx::raw_sql(dump).execute(&mut session).await.unwrap();
        session.close().await.unwrap();
        database
    }
}
