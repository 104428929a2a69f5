//! Rows of the sample: copied, compared and changed as the steps do it, a savepoint for each table.

use bytes::Bytes;
use connect::Connected;
use plans::table::MovingTable;
use tokio_postgres::Error;

use super::failure::{self, TrialEnd};
use super::sample::{self, RowSample};
use super::savepoint::BACK;
use super::{RunningTrial, changes, count};
use crate::compare::{self, ChunkScope, MovingRows};
use crate::error::StepError;
use crate::stream::apply::Applier;

impl RunningTrial<'_> {
    /// Copies a sample of each table: first alone, for the copy keeps no order among tables, and then beside the others.
    pub(super) async fn copy(&mut self) -> Result<(), TrialEnd> {
        let sizes = sample::sizes(&self.here, self.tables).await?;
        for (at, (table, size)) in self.tables.iter().zip(&sizes).enumerate() {
            let mut sample = RowSample::default();
            if size.pages > 0 {
                let predicate = table.predicate(&self.task.keys, "t");
                // No statement of a step: where it fails, nothing is known of the move.
                sample.places = sample::places(&self.here, table, size, &predicate).await?;
                self.copy_alone(at, &mut sample).await?;
            }
            self.samples.push(sample);
        }
        for at in 0..self.tables.len() {
            if self.samples[at].rows > 0 {
                let pieces = self.read(at, &self.samples[at]).await?;
                let written = sample::write(self.there(), &self.copies[at], pieces).await;
                written.map_err(|error| self.rows_failed(at, &error))?;
            }
        }
        Ok(())
    }

    /// Copies the sample of a table while no other one has rows, and takes it back; what fails is noted.
    async fn copy_alone(&mut self, at: usize, sample: &mut RowSample) -> Result<(), TrialEnd> {
        let pieces = self.read(at, sample).await?;
        let bytes = pieces.iter().map(|piece| count(piece.len())).sum();
        self.savepoint().await?;
        match sample::write(self.there(), &self.copies[at], pieces).await {
            Ok(rows) => {
                (sample.rows, sample.bytes) = (rows, bytes);
                let differs = self.generates_others(at, sample).await;
                self.both(BACK).await?;
                if differs {
                    *sample = RowSample::default();
                    self.note(failure::generates(self.target(), &self.tables[at]))?;
                }
                Ok(())
            }
            Err(error) => {
                sample.places.clear();
                self.roll_back(self.rows_failed(at, &error)).await
            }
        }
    }

    /// Whether the target generates other values than the source has, as the digests tell; who cannot be digested is
    /// reported by the comparison.
    async fn generates_others(&self, at: usize, sample: &RowSample) -> bool {
        let table = &self.tables[at];
        if !table.columns.iter().any(|column| column.generated) {
            return false;
        }
        let (here, there) = self.sides();
        let own = MovingRows::of_rows(table, sample.condition());
        let copy = MovingRows::of_rows(&self.copies[at], "true".to_owned());
        let digests = tokio::try_join!(
            compare::digest(here, &own, &ChunkScope::Whole),
            compare::digest(there, &copy, &ChunkScope::Whole)
        );
        digests.is_ok_and(|(here, there)| here != there)
    }

    fn sides(&self) -> (&Connected, &Connected) {
        let here = &self.here;
        let there = self.there();
        (here, there)
    }

    async fn read(&self, at: usize, sample: &RowSample) -> Result<Vec<Bytes>, TrialEnd> {
        let table = &self.tables[at];
        let pieces = sample::read(&self.here, table, &sample.places).await;
        pieces.map_err(|error| failure::of_rows(&self.source.name, table, &error))
    }

    fn rows_failed(&self, at: usize, error: &Error) -> TrialEnd {
        failure::of_rows(self.target(), &self.tables[at], error)
    }

    /// Each side finds the sample by its keys, and has the same rows.
    pub(super) async fn compare_rows(&mut self) -> Result<(), TrialEnd> {
        for (at, table) in self.tables.iter().enumerate() {
            if self.samples[at].rows == 0 {
                continue;
            }
            self.savepoint().await?;
            let copy = &self.copies[at];
            match self.compared(table, copy, &self.samples[at]).await {
                Ok(true) => self.release().await?,
                Ok(false) => {
                    let differs = failure::differs(self.target(), table);
                    self.roll_back(differs).await?;
                }
                Err(error) => {
                    let failed = failure::of_step(self.target(), table, "verify", error);
                    self.roll_back(failed).await?;
                }
            }
        }
        Ok(())
    }

    async fn compared(
        &self,
        table: &MovingTable,
        copy: &MovingTable,
        sample: &RowSample,
    ) -> Result<bool, StepError> {
        let (here, there) = self.sides();
        let own = MovingRows::of_rows(table, sample.condition());
        let copy = MovingRows::of_rows(copy, "true".to_owned());
        let (first, second) = tokio::try_join!(
            compare::digest(here, &own, &ChunkScope::Whole),
            compare::digest(there, &copy, &ChunkScope::Whole)
        )?;
        let keys = compare::read_keys(there, &copy, sample::FIRST).await?;
        let (found, beside) = tokio::try_join!(
            compare::hashes_by_key(here, &own, &keys),
            compare::hashes_by_key(there, &copy, &keys)
        )?;
        Ok(first == second && found == beside && found.len() == keys.len())
    }

    /// Applies changes to rows of the sample, which come to nothing.
    pub(super) async fn change_rows(&mut self) -> Result<(), TrialEnd> {
        let (tables, target) = (self.tables, self.target());
        let with_rows = tables
            .iter()
            .enumerate()
            .filter(|(at, table)| table.has_key() && self.samples[*at].rows > 0);
        let with_rows: Vec<(&MovingTable, MovingTable)> = with_rows
            .map(|(at, table)| (table, self.copies[at].clone()))
            .collect();
        let copies: Vec<MovingTable> = with_rows.iter().map(|(_, copy)| copy.clone()).collect();
        let mut applier = Applier::prepare(self.there(), &copies).await?;
        for (at, (table, copy)) in with_rows.iter().enumerate() {
            self.savepoint().await?;
            match changes::run(&mut self.executor, &mut applier, at, copy).await {
                Ok(()) => self.release().await?,
                Err(error) => {
                    let failed = failure::of_step(target, table, "catch_up", error);
                    self.roll_back(failed).await?;
                }
            }
        }
        Ok(())
    }
}
