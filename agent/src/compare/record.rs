//! What a comparison has found so far, on the copy's shard, so that another process can go on with it.
//!
//! A chunk's result commits with the rows that differ in it and with their marks as dirty, under the
//! epoch: so a difference that nobody repairs is met again inside the cutover.
//! Another run's number begins anew. The marks of dirty keys go only when every chunk of the run was
//! equal, and only those that are older than the oldest point of them.

use std::collections::BTreeMap;

use connect::Connected;
use plans::names::Direction;
use plans::step::verify::{DifferenceKind, RowDifference, TableVerified};
use tokio_postgres::Row;

use super::{ChunkScope, RowDifferences, RowsDigest, canonical};
use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::shard::apply_progress;
use crate::shard::epoch::{self, EpochToken};

/// A chunk of the run.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRecord {
    pub(crate) relation: String,
    ordinal: i32,
    pub(crate) part: ChunkScope,
    /// The point at which it was compared last.
    pub(crate) at: Option<Lsn>,
    pub(crate) rows: i64,
    pub(crate) different: i64,
}

/// Sums of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTotals {
    pub(crate) chunks: i64,
    pub(crate) rows: i64,
    pub(crate) different: i64,
    /// The oldest point that a chunk was compared at.
    pub(crate) oldest: Option<Lsn>,
}

/// Where the rows of each table lie, as [`crate::postgres::catalog::storage`] says.
pub(crate) type TableStorage = BTreeMap<String, String>;

/// The records of one direction of a migration, written by its owner.
pub(crate) struct ComparisonRecords<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a EpochToken,
    pub(crate) direction: Direction,
}

impl ComparisonRecords<'_> {
    fn what(&self) -> String {
        format!("shard {}: recording a comparison", self.client.name())
    }

    fn id(&self) -> (&str, String) {
        (self.token.migration.as_str(), self.direction.to_string())
    }

    /// Takes up run `number` over tables of this fingerprint, whose rows lie as `storage` says; true when it has ended
    /// already.
    pub(crate) async fn begin(
        &self,
        number: i64,
        fingerprint: &str,
        storage: &TableStorage,
    ) -> Result<bool, StepError> {
        let (id, direction) = self.id();
        let storage = serde_json::json!(storage).to_string();
        epoch::begin(self.client, self.token).await?;
        let known = self
            .client
            .query_opt(
                "select run = $3 and fingerprint = $4 and storage = $5, finished_at is not null
                 from shardwright.verification where migration = $1 and direction = $2",
                &[&id, &direction, &number, &fingerprint, &storage],
            )
            .await
            .at(self.what())?;
        let (same, ended) = known.map_or((false, false), |row| (row.get(0), row.get(1)));
        if !same {
            self.clear().await?;
            self.client
                .execute(
                    "insert into shardwright.verification (migration, direction, run, fingerprint, storage)
                     values ($1, $2, $3, $4, $5)",
                    &[&id, &direction, &number, &fingerprint, &storage],
                )
                .await
                .at(self.what())?;
        }
        epoch::commit(self.client, &self.what()).await?;
        Ok(same && ended)
    }

    /// Where the rows lay that the last run compared; nothing where none has ended.
    pub(crate) async fn storage(&self) -> Result<TableStorage, StepError> {
        let (id, direction) = self.id();
        let row = self
            .client
            .query_opt(
                "select storage from shardwright.verification
                 where migration = $1 and direction = $2 and finished_at is not null",
                &[&id, &direction],
            )
            .await
            .at(format_args!(
                "shard {}: reading a comparison",
                self.client.name()
            ))?;
        let text: Option<String> = row.map(|row| row.get(0));
        // What cannot be read compares as different: the rows are compared again.
        Ok(text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    async fn clear(&self) -> Result<(), StepError> {
        let (id, direction) = self.id();
        for table in ["verification", "verified", "difference"] {
            self.client
                .execute(
                    &format!(
                        "delete from shardwright.{table} where migration = $1 and direction = $2"
                    ),
                    &[&id, &direction],
                )
                .await
                .at(self.what())?;
        }
        Ok(())
    }

    /// Writes down how a table is cut.
    pub(crate) async fn plan(&self, relation: &str, parts: &[ChunkScope]) -> Result<(), StepError> {
        let (id, direction) = self.id();
        let texts: Vec<String> = parts
            .iter()
            .map(|part| serde_json::json!(part).to_string())
            .collect();
        epoch::begin(self.client, self.token).await?;
        self.client
            .execute(
                "insert into shardwright.verified (migration, direction, relation, ordinal, part)
                 select $1, $2, $3, ordinal::int4, part
                 from pg_catalog.unnest($4::text[]) with ordinality as cut (part, ordinal)",
                &[&id, &direction, &relation, &texts],
            )
            .await
            .at(self.what())?;
        epoch::commit(self.client, &self.what()).await
    }

    /// The chunks of the run, table by table.
    pub(crate) async fn chunks(&self) -> Result<Vec<ChunkRecord>, StepError> {
        let (id, direction) = self.id();
        let rows = self
            .client
            .query(
                "select relation, ordinal, part, compared_at, rows, missing + extra + changed
                 from shardwright.verified where migration = $1 and direction = $2
                 order by relation, ordinal",
                &[&id, &direction],
            )
            .await
            .at(self.what())?;
        rows.iter().map(chunk).collect()
    }

    /// A chunk was compared at `at`.
    pub(crate) async fn compared(
        &self,
        chunk: &ChunkRecord,
        at: Lsn,
        digest: &RowsDigest,
        found: &RowDifferences,
    ) -> Result<(), StepError> {
        let (id, direction) = self.id();
        epoch::begin(self.client, self.token).await?;
        self.client
            .execute(
                "update shardwright.verified
                 set compared_at = $5, rows = $6, missing = $7, extra = $8, changed = $9,
                     sums = $10::text[]::numeric[]
                 where migration = $1 and direction = $2 and relation = $3 and ordinal = $4",
                &[
                    &id,
                    &direction,
                    &chunk.relation,
                    &chunk.ordinal,
                    &at,
                    &digest.rows,
                    &found.missing,
                    &found.extra,
                    &found.changed,
                    &digest.sums(),
                ],
            )
            .await
            .at(self.what())?;
        if chunk.different > 0 || found.different() > 0 {
            self.name_rows(chunk, at, &found.named).await?;
        }
        epoch::commit(self.client, &self.what()).await
    }

    /// What was compared of each table: its rows, and one digest of all of them, however it was cut.
    pub(crate) async fn digests(&self) -> Result<Vec<TableVerified>, StepError> {
        let (id, direction) = self.id();
        let rows = self
            .client
            .query(
                "select relation, sum(rows)::bigint, case when count(sums) = count(*) then left(encode(
                     sha256(convert_to(sum(sums[1])::text || ':' || sum(sums[2])::text, 'UTF8')), 'hex'), 32) end
                 from shardwright.verified where migration = $1 and direction = $2
                 group by relation order by relation",
                &[&id, &direction],
            )
            .await
            .at(self.what())?;
        let table = |row: &Row| TableVerified {
            table: row.get(0),
            rows: row.get(1),
            digest: row.get(2),
        };
        Ok(rows.iter().map(table).collect())
    }

    async fn name_rows(
        &self,
        chunk: &ChunkRecord,
        at: Lsn,
        named: &[RowDifference],
    ) -> Result<(), StepError> {
        let (id, direction) = self.id();
        let relation = &chunk.relation;
        self.client
            .execute(
                "delete from shardwright.difference
                 where migration = $1 and direction = $2 and relation = $3 and ordinal = $4",
                &[&id, &direction, relation, &chunk.ordinal],
            )
            .await
            .at(self.what())?;
        // Columns go as JSON: their number is not the same for every row.
        let rows: Vec<String> = named.iter().map(record).collect();
        self.client
            .execute(
                "insert into shardwright.difference (migration, direction, relation, ordinal, key, digest, kind, columns)
                 select $1, $2, $3, $4, r.row ->> 'key',
                        pg_catalog.sha256(pg_catalog.convert_to(r.row ->> 'key', 'UTF8')), r.row ->> 'kind',
                        array(select pg_catalog.jsonb_array_elements_text(r.row -> 'columns'))
                 from (select row::jsonb from pg_catalog.unnest($5::text[]) as given (row)) as r
                 on conflict (migration, direction, relation, digest) do nothing",
                &[&id, &direction, relation, &chunk.ordinal, &rows],
            )
            .await
            .at(self.what())?;
        let mut marks: Vec<(String, String)> = named
            .iter()
            .map(|row| (relation.clone(), canonical(&row.key)))
            .collect();
        // In the order in which the stream marks them: neither waits for the other in a circle.
        marks.sort_unstable();
        apply_progress::mark_dirty(self.client, self.token, &marks, at).await
    }

    /// Keys of a relation that differ, as [`canonical`] writes them.
    pub(crate) async fn different_keys(&self, relation: &str) -> Result<Vec<String>, StepError> {
        let (id, direction) = self.id();
        let rows = self
            .client
            .query(
                "select key from shardwright.difference
                 where migration = $1 and direction = $2 and relation = $3 order by key",
                &[&id, &direction, &relation],
            )
            .await
            .at(self.what())?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Chunks that differ are to be compared again; `repaired` rows were written meanwhile.
    pub(crate) async fn again(&self, repaired: i64) -> Result<(), StepError> {
        let (id, direction) = self.id();
        epoch::begin(self.client, self.token).await?;
        self.client
            .execute(
                "update shardwright.verified set compared_at = null
                 where migration = $1 and direction = $2 and missing + extra + changed > 0",
                &[&id, &direction],
            )
            .await
            .at(self.what())?;
        self.client
            .execute(
                "update shardwright.verification set repaired = repaired + $3
                 where migration = $1 and direction = $2",
                &[&id, &direction, &repaired],
            )
            .await
            .at(self.what())?;
        epoch::commit(self.client, &self.what()).await
    }

    /// Ends the run: keys whose last change lies before the oldest point have been compared, if all is equal.
    pub(crate) async fn end(&self, sums: RunTotals) -> Result<i64, StepError> {
        let (id, direction) = self.id();
        epoch::begin(self.client, self.token).await?;
        if let (0, Some(oldest)) = (sums.different, sums.oldest) {
            self.client
                .execute(
                    "delete from shardwright.dirty where migration = $1 and lsn < $2",
                    &[&id, &oldest],
                )
                .await
                .at(self.what())?;
        }
        let row = self
            .client
            .query_one(
                "update shardwright.verification set finished_at = pg_catalog.now()
                 where migration = $1 and direction = $2 returning repaired",
                &[&id, &direction],
            )
            .await
            .at(self.what())?;
        epoch::commit(self.client, &self.what()).await?;
        Ok(row.get(0))
    }
}

impl RunTotals {
    pub(crate) fn of(chunks: &[ChunkRecord]) -> Self {
        Self {
            chunks: i64::try_from(chunks.len()).unwrap_or(i64::MAX),
            rows: chunks.iter().map(|chunk| chunk.rows).sum(),
            different: chunks.iter().map(|chunk| chunk.different).sum(),
            oldest: chunks.iter().filter_map(|chunk| chunk.at).min(),
        }
    }
}

fn chunk(row: &Row) -> Result<ChunkRecord, StepError> {
    let part: String = row.get(2);
    let part = serde_json::from_str(&part).map_err(|_| {
        StepError::refused(
            "verify.records",
            "the record of a chunk to compare is unreadable",
            "order the comparison again with `shardwright verify`",
        )
    })?;
    Ok(ChunkRecord {
        relation: row.get(0),
        ordinal: row.get(1),
        part,
        at: row.get(3),
        rows: row.get(4),
        different: row.get(5),
    })
}

fn record(row: &RowDifference) -> String {
    let none = Vec::new();
    let (kind, columns) = match &row.kind {
        DifferenceKind::Missing => ("missing", &none),
        DifferenceKind::Extra => ("extra", &none),
        DifferenceKind::Changed { columns } => ("changed", columns),
    };
    serde_json::json!({ "key": canonical(&row.key), "kind": kind, "columns": columns }).to_string()
}
