//! Reading of one version of a map. Most versions are built from the version in force, which is cached.

use super::PgStore;
use super::map_cache;
use super::mappings::{self, MappingFilter};
use super::rows::unknown_word_error;
use crate::store::StoreError;
use crate::store::pieces::mappings_of;
use chrono::{DateTime, Utc};
use plans::id::{MapName, MapVersion, MigrationId};
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, ShardMap, Strategy};
use sqlx::PgConnection;
use sqlx::types::Json;
use std::sync::Arc;

/// A version of a map without its mappings.
#[derive(sqlx::FromRow)]
pub(super) struct StoredMap {
    strategy: String,
    key_types: Vec<String>,
    buckets: i32,
    version: i64,
    created_at: DateTime<Utc>,
    migration: Option<String>,
    settings: Json<MapSettings>,
}

impl StoredMap {
    fn version_mark(&self) -> map_cache::VersionMark {
        (self.version, self.created_at)
    }

    /// Returns the map with this version and these settings from the cache, if it is there.
    pub(super) fn cached(&self, store: &PgStore, name: &MapName) -> Option<Arc<ShardMap>> {
        store
            .map_cache
            .map(name, self.version_mark(), &self.settings)
    }

    fn bucket_count(&self) -> u32 {
        u32::try_from(self.buckets).unwrap_or_default()
    }

    fn strategy(&self) -> Result<Strategy, StoreError> {
        Strategy::parse(&self.strategy)
            .ok_or_else(|| unknown_word_error("strategy", &self.strategy))
    }

    fn map(
        self,
        name: &MapName,
        incarnation: &str,
        mappings: Vec<Mapping>,
    ) -> Result<ShardMap, StoreError> {
        let types = self.key_types.iter();
        let types = types
            .map(|name| KeyType::parse(name).ok_or_else(|| unknown_word_error("key type", name)));
        let key: Result<Vec<KeyType>, StoreError> = types.collect();
        let map = ShardMap {
            name: name.clone(),
            strategy: self.strategy()?,
            key: key?,
            buckets: self.bucket_count(),
            version: MapVersion(self.version),
            incarnation: incarnation.to_owned(),
            migration: self.migration.map(MigrationId),
            settings: self.settings.0,
            mappings,
        };
        match map.strategy {
            // The exceptions give the virtual shards their final form.
            Strategy::Hash => map.validated().map_err(|error| StoreError::Unavailable {
                source: Box::new(error),
            }),
            Strategy::Range | Strategy::List => Ok(map),
        }
    }
}

/// Returns the version in force. All callers share one value while it is in force. If the cache has an earlier version,
/// only the differences are read.
pub(super) async fn map_in_force(
    store: &PgStore,
    session: &mut PgConnection,
    name: &MapName,
) -> Result<Option<Arc<ShardMap>>, StoreError> {
    let Some(row) = version_row(session, name, None).await? else {
        return Ok(None);
    };
    if let Some(cached) = row.cached(store, name) {
        return Ok(Some(cached));
    }
    let mark = row.version_mark();
    let strategy = row.strategy()?;
    let buckets = row.bucket_count();
    let cached = map_cache::mappings_from_cache(store, session, name, row.version, buckets).await?;
    let mappings = match cached {
        Some(mappings) => mappings,
        None => mappings_of(
            strategy,
            buckets,
            mappings::select_pieces(session, name, MappingFilter::All).await?,
        ),
    };
    let map = Arc::new(row.map(name, &store.incarnation, mappings)?);
    store.map_cache.put(mark, &map);
    Ok(Some(map))
}

/// Reads the version in force with the mappings that determine the owner of `keys`; possibly with more.
pub(super) async fn map_of_keys(
    store: &PgStore,
    session: &mut PgConnection,
    name: &MapName,
    keys: &KeySet,
) -> Result<Option<ShardMap>, StoreError> {
    let Some(row) = version_row(session, name, None).await? else {
        return Ok(None);
    };
    let strategy = row.strategy()?;
    // Another map has few mappings, and a flip may join the moved ranges with their neighbours.
    if strategy != Strategy::List {
        let map = map_in_force(store, session, name).await?;
        return Ok(map.map(Arc::unwrap_or_clone));
    }
    let pieces = mappings::select_pieces(session, name, MappingFilter::Keys(keys)).await?;
    let mappings = mappings_of(strategy, row.bucket_count(), pieces);
    row.map(name, &store.incarnation, mappings).map(Some)
}

/// Returns a version. If it is not the version in force, it is built from this one if the differences are few.
pub(super) async fn map_at(
    store: &PgStore,
    session: &mut PgConnection,
    name: &MapName,
    version: MapVersion,
) -> Result<Option<Arc<ShardMap>>, StoreError> {
    let Some(row) = version_row(session, name, Some(version)).await? else {
        return Ok(None);
    };
    if let Some(cached) = row.cached(store, name) {
        return Ok(Some(cached));
    }
    let Some(in_force) = map_in_force(store, session, name).await? else {
        return Ok(None);
    };
    if in_force.version == version {
        return Ok(Some(in_force));
    }
    let (strategy, buckets, mark) = (row.strategy()?, row.bucket_count(), row.version_mark());
    let built = map_cache::mappings_before(session, &in_force, version.0, buckets).await?;
    let mappings = match built {
        Some(mappings) => mappings,
        None => {
            let filter = MappingFilter::Version(version);
            let pieces = mappings::select_pieces(session, name, filter).await?;
            mappings_of(strategy, buckets, pieces)
        }
    };
    let map = Arc::new(row.map(name, &store.incarnation, mappings)?);
    store.map_cache.put_earlier(mark, &map);
    Ok(Some(map))
}

/// Reads the row of the version `version`, or of the version in force, without mappings.
pub(super) async fn version_row(
    session: &mut PgConnection,
    name: &MapName,
    version: Option<MapVersion>,
) -> Result<Option<StoredMap>, StoreError> {
    let version = version.map(|version| version.0);
    let row: Option<StoredMap> = sqlx::query_as(
        "select v.strategy, v.key_types, v.buckets, v.version, v.created_at, v.migration, s.settings \
         from map m join map_version v on v.map = m.name join map_settings s on s.map = m.name \
         where m.name = $1 and m.removed_at is null \
             and v.version between m.first_version and coalesce($2, v.version) \
         order by v.version desc, s.revision desc limit 1",
    )
    .bind(name.as_str())
    .bind(version)
    .fetch_optional(session)
    .await?;
    Ok(row.filter(|row| version.is_none_or(|version| version == row.version)))
}
