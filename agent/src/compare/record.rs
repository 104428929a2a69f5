//! The records of a comparison on the downstream shard, with which another process can continue it.
//!
//! One transaction, which proves the epoch, records the result of a chunk and the rows that differ in it, and marks
//! these rows as dirty. So a difference that is not repaired is found again inside the cutover. A run with another
//! number starts from the beginning. At the end of a run in which every chunk was equal, the marks of dirty keys are
//! deleted that are older than the oldest point at which a chunk was compared.

use std::collections::BTreeMap;

use connect::Connected;
use plans::failure::StepCode;
use plans::names::Direction;
use plans::step::verify::{DifferenceKind, RowDifference, TableVerified};
use tokio_postgres::Row;

use super::{ChunkScope, RowDifferences, RowsDigest, canonical_key};
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
    /// The point at which the chunk was compared last.
    pub(crate) at: Option<Lsn>,
    pub(crate) rows: i64,
    pub(crate) different: i64,
}

/// The sums over the chunks of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTotals {
    pub(crate) chunks: i64,
    pub(crate) rows: i64,
    pub(crate) different: i64,
    /// The oldest point at which a chunk was compared.
    pub(crate) oldest: Option<Lsn>,
}

/// The storage of each table's rows, as [`crate::postgres::catalog::storage`] returns it.
pub(crate) type TableStorage = BTreeMap<String, String>;

/// The records of the comparisons of a migration in one direction.
pub(crate) struct ComparisonRecords<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a EpochToken,
    pub(crate) direction: Direction,
}

impl ComparisonRecords<'_> {
    fn intent(&self) -> String {
        format!("shard {}: recording a comparison", self.client.name())
    }

    fn id(&self) -> (&str, String) {
        (self.token.migration.as_str(), self.direction.to_string())
    }

    /// Begins or continues run `number` over tables with this fingerprint and this storage of rows. Returns true if
    /// the run has already ended.
    pub(crate) async fn begin_run(
        &self,
        number: i64,
        fingerprint: &str,
        storage: &TableStorage,
    ) -> Result<bool, StepError> {
        let (id, direction) = self.id();
        let storage = serde_json::json!(storage).to_string();
        epoch::begin(self.client, self.token).await?;
        let recorded = self
            .client
            .query_opt(
                "select run = $3 and fingerprint = $4 and storage = $5, finished_at is not null
                 from shardwright.verification where migration = $1 and direction = $2",
                &[&id, &direction, &number, &fingerprint, &storage],
            )
            .await
            .at(self.intent())?;
        let (is_same_run, has_ended) =
            recorded.map_or((false, false), |row| (row.get(0), row.get(1)));
        if !is_same_run {
            self.delete_records().await?;
            self.client
                .execute(
                    "insert into shardwright.verification (migration, direction, run, fingerprint, storage)
                     values ($1, $2, $3, $4, $5)",
                    &[&id, &direction, &number, &fingerprint, &storage],
                )
                .await
                .at(self.intent())?;
        }
        epoch::commit(self.client, &self.intent()).await?;
        Ok(is_same_run && has_ended)
    }

    /// Returns the storage of the rows that the last run compared; it is empty if no run has ended.
    pub(crate) async fn last_storage(&self) -> Result<TableStorage, StepError> {
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
        // An unreadable record counts as different storage: the rows are compared again.
        Ok(text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    async fn delete_records(&self) -> Result<(), StepError> {
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
                .at(self.intent())?;
        }
        Ok(())
    }

    /// Records the chunks of a table.
    pub(crate) async fn record_chunks(
        &self,
        relation: &str,
        parts: &[ChunkScope],
    ) -> Result<(), StepError> {
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
            .at(self.intent())?;
        epoch::commit(self.client, &self.intent()).await
    }

    /// Returns the chunks of the run, table by table.
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
            .at(self.intent())?;
        rows.iter().map(chunk_record).collect()
    }

    /// Records the result of a chunk that was compared at the position `at`.
    pub(crate) async fn record_result(
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
            .at(self.intent())?;
        if chunk.different > 0 || found.different() > 0 {
            self.record_differences(chunk, at, &found.named).await?;
        }
        epoch::commit(self.client, &self.intent()).await
    }

    /// Returns, for each table, the number of compared rows and one digest of all of them, which does not depend on
    /// the chunks.
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
            .at(self.intent())?;
        let table = |row: &Row| TableVerified {
            table: row.get(0),
            rows: row.get(1),
            digest: row.get(2),
        };
        Ok(rows.iter().map(table).collect())
    }

    async fn record_differences(
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
            .at(self.intent())?;
        // Columns are sent as JSON: their number differs between rows.
        let rows: Vec<String> = named.iter().map(difference_json).collect();
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
            .at(self.intent())?;
        let mut marks: Vec<(String, String)> = named
            .iter()
            .map(|row| (relation.clone(), canonical_key(&row.key)))
            .collect();
        // The keys are sorted as the stream sorts them, so that the two do not deadlock.
        marks.sort_unstable();
        apply_progress::mark_dirty(self.client, self.token, &marks, at).await
    }

    /// Returns the keys of a relation whose rows differ, as [`canonical_key`] writes them.
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
            .at(self.intent())?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Marks the differing chunks as not compared, and adds `repaired` rows to the number of repaired rows.
    pub(crate) async fn reset_differing_chunks(&self, repaired: i64) -> Result<(), StepError> {
        let (id, direction) = self.id();
        epoch::begin(self.client, self.token).await?;
        self.client
            .execute(
                "update shardwright.verified set compared_at = null
                 where migration = $1 and direction = $2 and missing + extra + changed > 0",
                &[&id, &direction],
            )
            .await
            .at(self.intent())?;
        self.client
            .execute(
                "update shardwright.verification set repaired = repaired + $3
                 where migration = $1 and direction = $2",
                &[&id, &direction, &repaired],
            )
            .await
            .at(self.intent())?;
        epoch::commit(self.client, &self.intent()).await
    }

    /// Ends the run, and returns the number of repaired rows. If all chunks are equal, deletes the dirty keys whose
    /// last change is older than the oldest point, because the run has compared them.
    pub(crate) async fn end_run(&self, totals: RunTotals) -> Result<i64, StepError> {
        let (id, direction) = self.id();
        epoch::begin(self.client, self.token).await?;
        if let (0, Some(oldest)) = (totals.different, totals.oldest) {
            self.client
                .execute(
                    "delete from shardwright.dirty where migration = $1 and lsn < $2",
                    &[&id, &oldest],
                )
                .await
                .at(self.intent())?;
        }
        let row = self
            .client
            .query_one(
                "update shardwright.verification set finished_at = pg_catalog.now()
                 where migration = $1 and direction = $2 returning repaired",
                &[&id, &direction],
            )
            .await
            .at(self.intent())?;
        epoch::commit(self.client, &self.intent()).await?;
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

fn chunk_record(row: &Row) -> Result<ChunkRecord, StepError> {
    let part: String = row.get(2);
    let part = serde_json::from_str(&part).map_err(|_| {
        StepError::refused(
            StepCode::VerifyRecords,
            "the record of a chunk to compare is unreadable",
            "start the comparison again with `shardwright verify`",
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

fn difference_json(row: &RowDifference) -> String {
    let none = Vec::new();
    let (kind, columns) = match &row.kind {
        DifferenceKind::Missing => ("missing", &none),
        DifferenceKind::Extra => ("extra", &none),
        DifferenceKind::Changed { columns } => ("changed", columns),
    };
    serde_json::json!({ "key": canonical_key(&row.key), "kind": kind, "columns": columns })
        .to_string()
}
