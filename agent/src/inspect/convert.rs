//! One task of a conversion, by which a map gets another strategy or another key (ADR 78).
//!
//! Order: [`ConversionPhase::Read`] enrols the conversion on the shard; [`ConversionPhase::Close`] creates the guard and
//! then reads the keys again; then the controller writes the version; [`ConversionPhase::Finish`] replaces the guard of
//! released keys, and only then removes the guard of the conversion. So a key always has a guard on the shards that do
//! not own it (I1). The second reading sees each key that a client wrote before the guard, because CREATE TRIGGER waits
//! for the transactions that write to the table, and the reading takes its snapshot afterwards.
//!
//! Only reading enrols. The other phases do nothing on a shard without the row of the conversion, so work of an agent that
//! is late cannot create a guard after the conversion has ended.

mod key_reading;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::Epoch;
use plans::inspection::convert::{
    ConversionPhase, ConvertTask, ConvertedShard, Division, MAX_CONVERTED_BYTES,
};
use plans::key_set::KeySet;
use plans::table::MovingTable;

use super::check;
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::guard::{self, GuardedRows};
use crate::shard::identity::{self, TimelineRule};
use crate::shard::register::Register;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::sidecar_schema;

pub(super) async fn run(task: &ConvertTask) -> Result<ConvertedShard, StepError> {
    let token = EpochToken {
        migration: task.conversion.clone(),
        epoch: Epoch(task.epoch),
        until: task.before,
    };
    let shard = Shard::new(&task.shard, &token.migration, token.epoch)?;
    let session = shard.session("convert").await?;
    let proof = identity::proof_sql(TimelineRule::Same);
    let proven = session.batch_execute(&proof).await;
    proven.at(format_args!(
        "shard {}: proving which database it is",
        shard.name
    ))?;
    let conversion = Conversion {
        task,
        token,
        session,
    };
    conversion.run().await
}

/// A conversion on one shard.
struct Conversion<'a> {
    task: &'a ConvertTask,
    token: EpochToken,
    session: Connected,
}

impl Conversion<'_> {
    async fn run(&self) -> Result<ConvertedShard, StepError> {
        match &self.task.phase {
            ConversionPhase::Read(reading) => {
                if reading.enrol {
                    let map = self.task.map.as_str();
                    sidecar_schema::enrol(&self.session, &self.token, "source", map).await?;
                    fail_point::hit("convert.enrolled").await?;
                }
                self.refuse_stray_rows(&reading.before, &reading.owned)
                    .await?;
                self.read(&reading.empty).await
            }
            ConversionPhase::Close { refused } => self.close(refused).await,
            ConversionPhase::Finish { refused, .. } => {
                if self.take_over().await? {
                    self.replace_released_keys(refused).await?;
                    fail_point::hit("convert.replaced").await?;
                    self.remove_own_guard().await?;
                }
                Ok(nothing_read())
            }
            ConversionPhase::Withdraw => {
                if self.take_over().await? {
                    self.remove_own_guard().await?;
                }
                Ok(nothing_read())
            }
        }
    }

    /// Takes the conversion over from older epochs. Returns false if the shard has no row of it.
    async fn take_over(&self) -> Result<bool, StepError> {
        if !epoch::is_enrolled(&self.session, &self.token).await? {
            return Ok(false);
        }
        epoch::take_over(&self.session, &self.token).await?;
        Ok(true)
    }

    /// Fails if the shard has rows of keys that it does not own before the conversion.
    async fn refuse_stray_rows(&self, before: &Division, owned: &KeySet) -> Result<(), StepError> {
        let tables = self.tables(before, owned).await?;
        self.begin_reading(before, &tables).await?;
        key_reading::refuse_stray_rows(&self.session, &tables, owned).await?;
        self.end_reading().await
    }

    async fn close(&self, refused: &KeySet) -> Result<ConvertedShard, StepError> {
        let (session, token) = (&self.session, &self.token);
        if !self.take_over().await? {
            return Err(StepError::refused(
                StepCode::ConvertEnded,
                format!(
                    "shard {}: conversion {} is not enrolled",
                    session.name(),
                    token.migration
                ),
                "run the conversion again",
            ));
        }
        let what = format!("shard {}: creating the register", session.name());
        let created = guard::create_register(session, &token.migration, Register::Closed).await;
        created.at(&what)?;
        let tables = self.tables(&self.task.division, refused).await?;
        let guarded = GuardedRows {
            keys: refused,
            tables: &tables,
        };
        guard::create(session, token, &self.task.map, guarded).await?;
        fail_point::hit("convert.guarded").await?;
        let read = self.read(&refused.empty_set()).await?;
        let found = read.keys.map(|keys| keys.intersection(refused));
        Ok(ConvertedShard {
            keys: found,
            ..read
        })
    }

    /// Replaces the guard of released keys by one for `refused`, and then drops the triggers of the conversion.
    async fn replace_released_keys(&self, refused: &KeySet) -> Result<(), StepError> {
        let ConversionPhase::Finish { version, .. } = &self.task.phase else {
            return Ok(());
        };
        let tables = self.tables(&self.task.division, refused).await?;
        let released = ReleasedKeys {
            token: &self.token,
            map: &self.task.map,
            keys: refused,
            tables: &tables,
            shard: self.session.name(),
        };
        released.replace(&self.session, *version).await
    }

    async fn remove_own_guard(&self) -> Result<(), StepError> {
        guard::drop_all(&self.session, &self.token).await?;
        sidecar_schema::remove_migration(&self.session, &self.token).await
    }

    /// Returns the tables of a division that exist on the shard.
    async fn tables(
        &self,
        division: &Division,
        keys: &KeySet,
    ) -> Result<Vec<MovingTable>, StepError> {
        let (settings, types) = (&division.settings, &division.key);
        check::existing_tables(&self.session, settings, types, keys).await
    }

    /// Reads the keys of all rows.
    async fn read(&self, empty: &KeySet) -> Result<ConvertedShard, StepError> {
        let division = &self.task.division;
        let tables = self.tables(division, empty).await?;
        self.begin_reading(division, &tables).await?;
        let keys = key_reading::keys_of(&self.session, &tables, &division.key).await?;
        self.end_reading().await?;
        let count = keys.len();
        let set = empty.of_keys(keys);
        let size = serde_json::to_vec(&set).map_or(usize::MAX, |json| json.len());
        if size > MAX_CONVERTED_BYTES {
            return Err(StepError::listed(
                StepCode::ConvertTooMany,
                format!(
                    "shard {}: the rows have {count} keys, which need {size} bytes; {MAX_CONVERTED_BYTES} are possible",
                    self.session.name()
                ),
            ));
        }
        Ok(ConvertedShard {
            count: u64::try_from(count).unwrap_or(u64::MAX),
            keys: Some(set),
        })
    }

    async fn begin_reading(
        &self,
        division: &Division,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let references = &division.settings.reference;
        check::begin_reading(&self.session, &self.task.shard, tables, references).await
    }

    async fn end_reading(&self) -> Result<(), StepError> {
        let what = format!("shard {}: reading keys", self.session.name());
        epoch::commit(&self.session, &what).await
    }
}

fn nothing_read() -> ConvertedShard {
    ConvertedShard {
        keys: None,
        count: 0,
    }
}
