//! Copies, compares and changes the sample as the steps do, with a savepoint for each table.

use bytes::Bytes;
use connect::Connected;
use plans::table::MovingTable;
use tokio_postgres::Error;

use super::failure::{self, TrialEnd};
use super::sample::{self, RowSample};
use super::savepoint::ROLL_BACK;
use super::{RunningTrial, changes, count};
use crate::compare::{self, ChunkScope, MovingRows};
use crate::error::StepError;
use crate::stream::apply::Applier;

impl RunningTrial<'_> {
    /// Copies the sample of each table. The trial first copies it while all other tables are empty, because the copy
    /// has no order of tables; later it copies all samples together.
    pub(super) async fn copy_samples(&mut self) -> Result<(), TrialEnd> {
        let sizes = sample::sizes(&self.source_session, self.tables).await?;
        for (index, (table, size)) in self.tables.iter().zip(&sizes).enumerate() {
            let mut sample = RowSample::default();
            if size.pages > 0 {
                let predicate = table.predicate(&self.task.keys, "t");
                // This query is not part of a step, so a failure of the query does not mean that the move would fail.
                sample.row_ids =
                    sample::row_ids(&self.source_session, table, size, &predicate).await?;
                self.copy_single_sample(index, &mut sample).await?;
            }
            self.samples.push(sample);
        }
        for index in 0..self.tables.len() {
            if self.samples[index].rows > 0 {
                let pieces = self.read_sample(index, &self.samples[index]).await?;
                let written =
                    sample::write(self.target_session(), &self.copies[index], pieces).await;
                written.map_err(|error| self.target_rows_failure(index, &error))?;
            }
        }
        Ok(())
    }

    /// Copies the sample of a table while all other tables are empty, and rolls the copy back. A failure is recorded.
    async fn copy_single_sample(
        &mut self,
        index: usize,
        sample: &mut RowSample,
    ) -> Result<(), TrialEnd> {
        let pieces = self.read_sample(index, sample).await?;
        let bytes = pieces.iter().map(|piece| count(piece.len())).sum();
        self.set_savepoint().await?;
        match sample::write(self.target_session(), &self.copies[index], pieces).await {
            Ok(rows) => {
                (sample.rows, sample.bytes) = (rows, bytes);
                let differs = self.generates_other_values(index, sample).await;
                self.execute_on_both(ROLL_BACK).await?;
                if differs {
                    *sample = RowSample::default();
                    self.add_failure(failure::generated_value_difference(
                        self.target_name(),
                        &self.tables[index],
                    ))?;
                }
                Ok(())
            }
            Err(error) => {
                sample.row_ids.clear();
                self.roll_back_to_savepoint(self.target_rows_failure(index, &error))
                    .await
            }
        }
    }

    /// Returns true if the target generates other values than the source, according to the digests. If a table cannot
    /// be digested, the comparison reports this later.
    async fn generates_other_values(&self, index: usize, sample: &RowSample) -> bool {
        let table = &self.tables[index];
        if !table.columns.iter().any(|column| column.generated) {
            return false;
        }
        let (source_session, target_session) = self.sessions();
        let source_sample = MovingRows::matching(table, sample.condition());
        let copy = MovingRows::matching(&self.copies[index], "true".to_owned());
        let digests = tokio::try_join!(
            compare::digest(source_session, &source_sample, &ChunkScope::Whole),
            compare::digest(target_session, &copy, &ChunkScope::Whole)
        );
        digests.is_ok_and(|(source, target)| source != target)
    }

    fn sessions(&self) -> (&Connected, &Connected) {
        let source_session = &self.source_session;
        let target_session = self.target_session();
        (source_session, target_session)
    }

    async fn read_sample(&self, index: usize, sample: &RowSample) -> Result<Vec<Bytes>, TrialEnd> {
        let table = &self.tables[index];
        let pieces = sample::read(&self.source_session, table, &sample.row_ids).await;
        pieces.map_err(|error| failure::rows_failure(&self.source.name, table, &error))
    }

    fn target_rows_failure(&self, index: usize, error: &Error) -> TrialEnd {
        failure::rows_failure(self.target_name(), &self.tables[index], error)
    }

    /// Compares the sample: both sides must find it by its keys, and have the same rows.
    pub(super) async fn compare_rows(&mut self) -> Result<(), TrialEnd> {
        for (index, table) in self.tables.iter().enumerate() {
            if self.samples[index].rows == 0 {
                continue;
            }
            self.set_savepoint().await?;
            let copy = &self.copies[index];
            match self
                .is_sample_equal(table, copy, &self.samples[index])
                .await
            {
                Ok(true) => self.release_savepoint().await?,
                Ok(false) => {
                    let differs = failure::row_difference(self.target_name(), table);
                    self.roll_back_to_savepoint(differs).await?;
                }
                Err(error) => {
                    let trial_end =
                        failure::step_failure(self.target_name(), table, "verify", error);
                    self.roll_back_to_savepoint(trial_end).await?;
                }
            }
        }
        Ok(())
    }

    async fn is_sample_equal(
        &self,
        table: &MovingTable,
        copy: &MovingTable,
        sample: &RowSample,
    ) -> Result<bool, StepError> {
        let (source_session, target_session) = self.sessions();
        let source_sample = MovingRows::matching(table, sample.condition());
        let copy = MovingRows::matching(copy, "true".to_owned());
        let (source_digest, target_digest) = tokio::try_join!(
            compare::digest(source_session, &source_sample, &ChunkScope::Whole),
            compare::digest(target_session, &copy, &ChunkScope::Whole)
        )?;
        let keys = compare::read_keys(target_session, &copy, sample::FIRST_ROWS).await?;
        let (source_hashes, target_hashes) = tokio::try_join!(
            compare::hashes_by_key(source_session, &source_sample, &keys),
            compare::hashes_by_key(target_session, &copy, &keys)
        )?;
        Ok(source_digest == target_digest
            && source_hashes == target_hashes
            && source_hashes.len() == keys.len())
    }

    /// Applies changes to rows of the sample; afterwards the rows are the same as before.
    pub(super) async fn change_rows(&mut self) -> Result<(), TrialEnd> {
        let (tables, target) = (self.tables, self.target_name());
        let with_rows = tables
            .iter()
            .enumerate()
            .filter(|(index, table)| table.has_key() && self.samples[*index].rows > 0);
        let with_rows: Vec<(&MovingTable, MovingTable)> = with_rows
            .map(|(index, table)| (table, self.copies[index].clone()))
            .collect();
        let copies: Vec<MovingTable> = with_rows.iter().map(|(_, copy)| copy.clone()).collect();
        let mut applier = Applier::prepare(self.target_session(), &copies).await?;
        for (index, (table, copy)) in with_rows.iter().enumerate() {
            self.set_savepoint().await?;
            match changes::run(&mut self.executor, &mut applier, index, copy).await {
                Ok(()) => self.release_savepoint().await?,
                Err(error) => {
                    let trial_end = failure::step_failure(target, table, "catch_up", error);
                    self.roll_back_to_savepoint(trial_end).await?;
                }
            }
        }
        Ok(())
    }
}
