//! Mappings as rows: each row is valid from one version of its map until another.
//!
//! The rows are written and read in bulk, as arrays, because a list map can have a million of them.

use super::rows::missing_error;
use crate::store::StoreError;
use crate::store::pieces::{MapDelta, MapPiece};
use futures::TryStreamExt;
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::key::Key;
use plans::key_set::{KeySet, Span};
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres};
use std::collections::BTreeMap;

/// The maximum number of rows that one statement writes.
const ROWS_AT_ONCE: usize = 20_000;

/// Which mappings of a map are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum MappingFilter<'a> {
    /// All mappings in force.
    All,
    /// The mappings of this version.
    Version(MapVersion),
    /// The mappings in force that determine the owner of these keys.
    Keys(&'a KeySet),
}

/// The lower and upper ends of spans as two arrays, in the order of the spans.
pub(super) struct SpanEnds {
    pub(super) lower: Vec<Option<Vec<u8>>>,
    pub(super) upper: Vec<Option<Vec<u8>>>,
}

impl FromIterator<Span> for SpanEnds {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let (lower, upper) = spans.into_iter().unzip();
        Self { lower, upper }
    }
}

impl SpanEnds {
    pub(super) fn of(keys: &KeySet) -> Self {
        keys.spans().into_iter().collect()
    }
}

/// Reads the pieces of a map in no particular order. The keys of a list map are grouped by owner.
pub(super) async fn select_pieces(
    session: &mut PgConnection,
    map: &MapName,
    filter: MappingFilter<'_>,
) -> Result<Vec<MapPiece>, StoreError> {
    let names = shard_names(session).await?;
    let owner = |number: i32| {
        let name = names.get(&number).cloned();
        name.ok_or_else(|| missing_error("shard", &number.to_string()))
    };
    let mut rows = mapping_query(map, filter).fetch(session);
    let mut listed: BTreeMap<i32, Vec<Key>> = BTreeMap::new();
    let mut pieces = Vec::new();
    while let Some((number, Json(keys))) = rows.try_next().await? {
        match keys {
            KeySet::List(keys) => listed.entry(number).or_default().extend(keys),
            KeySet::Range(_) | KeySet::Hash(_) => {
                let shard = owner(number)?;
                pieces.push(MapPiece { keys, shard });
            }
        }
    }
    for (number, keys) in listed {
        let (keys, shard) = (KeySet::list(keys), owner(number)?);
        pieces.push(MapPiece { keys, shard });
    }
    Ok(pieces)
}

/// Reads the delta from version `number` to the version in force.
pub(super) async fn delta_since(
    session: &mut PgConnection,
    map: &MapName,
    number: i64,
) -> Result<MapDelta, StoreError> {
    let names = shard_names(session).await?;
    let rows: Vec<(i32, Json<KeySet>, bool)> = sqlx::query_as(
        "select shard, keys, true from mapping where map = $1 and since > $2 and until is null \
         union all \
         select shard, keys, false from mapping where map = $1 and until > $2 and since <= $2",
    )
    .bind(map.as_str())
    .bind(number)
    .fetch_all(session)
    .await?;
    let mut delta = MapDelta::default();
    for (shard, Json(keys), is_added) in rows {
        let name = names.get(&shard).cloned();
        let shard = name.ok_or_else(|| missing_error("shard", &shard.to_string()))?;
        let pieces = if is_added {
            &mut delta.added
        } else {
            &mut delta.removed
        };
        pieces.push(MapPiece { keys, shard });
    }
    Ok(delta)
}

type MappingQuery<'q> = QueryAs<'q, Postgres, (i32, Json<KeySet>), PgArguments>;

fn mapping_query<'q>(map: &'q MapName, filter: MappingFilter<'_>) -> MappingQuery<'q> {
    match filter {
        MappingFilter::All => {
            sqlx::query_as("select shard, keys from mapping where map = $1 and until is null")
                .bind(map.as_str())
        }
        MappingFilter::Version(version) => sqlx::query_as(
            "select shard, keys from mapping \
             where map = $1 and since <= $2 and (until is null or until > $2)",
        )
        .bind(map.as_str())
        .bind(version.0),
        MappingFilter::Keys(keys) => {
            let ends = SpanEnds::of(keys);
            // One index lookup per key. Without `lateral` the plan would depend on the planner's estimate of the
            // table's size.
            sqlx::query_as(
                "select m.shard, m.keys from unnest($2::bytea[], $3::bytea[]) as c (l, u), \
                 lateral (select shard, keys from mapping where map = $1 and until is null \
                     and span = key_span(c.l, c.u) limit 1) m",
            )
            .bind(map.as_str())
            .bind(ends.lower)
            .bind(ends.upper)
        }
    }
}

/// Returns the name of every shard that was ever registered, by number.
async fn shard_names(session: &mut PgConnection) -> Result<BTreeMap<i32, ShardName>, StoreError> {
    let rows: Vec<(i32, String)> = sqlx::query_as("select number, name from shard")
        .fetch_all(session)
        .await?;
    let named = rows.into_iter();
    Ok(named
        .map(|(number, name)| (number, ShardName(name)))
        .collect())
}

/// Ends the mappings that `delta` removes with `version`, and writes those that it adds.
pub(super) async fn write_delta(
    session: &mut PgConnection,
    map: &MapName,
    version: MapVersion,
    delta: &MapDelta,
) -> Result<(), StoreError> {
    for piece in &delta.removed {
        for spans in piece.keys.spans().chunks(ROWS_AT_ONCE) {
            end_mappings(session, map, version, spans).await?;
        }
    }
    let mut rows = MappingColumns::default();
    for piece in &delta.added {
        let shard = piece.shard.as_str();
        for (span, keys) in piece.keys.spans().into_iter().zip(json_pieces(&piece.keys)) {
            rows.push(span, keys, shard);
            if rows.shards.len() == ROWS_AT_ONCE {
                std::mem::take(&mut rows)
                    .insert(session, map, version)
                    .await?;
            }
        }
    }
    rows.insert(session, map, version).await
}

async fn end_mappings(
    session: &mut PgConnection,
    map: &MapName,
    version: MapVersion,
    spans: &[Span],
) -> Result<(), StoreError> {
    let ends: SpanEnds = spans.iter().cloned().collect();
    let closed = sqlx::query(
        "update mapping m set until = $2 from unnest($3::bytea[], $4::bytea[]) as c (l, u), \
         lateral (select ctid from mapping where map = $1 and until is null \
             and span = key_span(c.l, c.u) limit 1) f where m.ctid = f.ctid",
    )
    .bind(map.as_str())
    .bind(version.0)
    .bind(ends.lower)
    .bind(ends.upper)
    .execute(session)
    .await?;
    if usize::try_from(closed.rows_affected()) == Ok(spans.len()) {
        return Ok(());
    }
    Err(StoreError::Unavailable {
        source: format!("map {map} is not as it was read: a mapping to be closed is not in force")
            .into(),
    })
}

/// Returns each piece of `keys` as a separate set, in JSON. An exception of a hash map is a listed key.
fn json_pieces(keys: &KeySet) -> Vec<serde_json::Value> {
    let none = serde_json::Value::Null;
    match keys {
        KeySet::List(keys) => keys
            .iter()
            .map(|key| serde_json::json!({ "list": [key] }))
            .collect(),
        KeySet::Hash(_) if keys.exception().is_some() => {
            let key = keys.exception();
            vec![serde_json::json!({ "list": [key] })]
        }
        KeySet::Range(_) | KeySet::Hash(_) => keys
            .pieces()
            .iter()
            .map(|piece| serde_json::to_value(piece).unwrap_or(none.clone()))
            .collect(),
    }
}

/// The columns of the mappings to write.
#[derive(Default)]
struct MappingColumns<'a> {
    lower: Vec<Option<Vec<u8>>>,
    upper: Vec<Option<Vec<u8>>>,
    keys: Vec<serde_json::Value>,
    shards: Vec<&'a str>,
}

impl<'a> MappingColumns<'a> {
    fn push(&mut self, (lower, upper): Span, keys: serde_json::Value, shard: &'a str) {
        self.lower.push(lower);
        self.upper.push(upper);
        self.keys.push(keys);
        self.shards.push(shard);
    }

    /// Inserts the rows. It also locks the owners, so that they stay registered until the transaction ends.
    async fn insert(
        self,
        session: &mut PgConnection,
        map: &MapName,
        version: MapVersion,
    ) -> Result<(), StoreError> {
        if self.shards.is_empty() {
            return Ok(());
        }
        let mut owners = self.shards.clone();
        owners.sort_unstable();
        owners.dedup();
        let inserted = sqlx::query(
            "with owner as materialized (select name, number from shard \
                 where name = any($7) and removed_at is null order by number for key share) \
             insert into mapping (map, since, span, keys, shard) \
             select $1, $2, key_span(c.l, c.u), c.keys, owner.number \
             from unnest($3::bytea[], $4::bytea[], $5::jsonb[], $6::text[]) as c (l, u, keys, shard) \
             join owner on owner.name = c.shard",
        )
        .bind(map.as_str())
        .bind(version.0)
        .bind(self.lower)
        .bind(self.upper)
        .bind(self.keys)
        .bind(&self.shards)
        .bind(&owners)
        .execute(&mut *session)
        .await?;
        if usize::try_from(inserted.rows_affected()) == Ok(self.shards.len()) {
            return Ok(());
        }
        let known = super::shards::lock_shards(session, &owners).await?;
        let unknown = owners
            .iter()
            .find(|name| !known.contains_key(&ShardName::from(**name)));
        Err(missing_error("shard", unknown.copied().unwrap_or_default()))
    }
}

/// Returns an unfinished migration that moves some of `keys`, if one exists.
pub(super) async fn migration_moving(
    session: &mut PgConnection,
    map: &MapName,
    keys: &KeySet,
) -> Result<Option<MigrationId>, StoreError> {
    let ends = SpanEnds::of(keys);
    let row: Option<(String,)> = sqlx::query_as(
        "select id from migration where map = $1 and finished_at is null \
         and spans && spans($2::bytea[], $3::bytea[]) order by created_at, id limit 1",
    )
    .bind(map.as_str())
    .bind(ends.lower)
    .bind(ends.upper)
    .fetch_optional(session)
    .await?;
    Ok(row.map(|(id,)| MigrationId(id)))
}
