//! The figures of a shard's server as texts, the same on its page and on the command line.

use super::figures::{count, file_size, millis};
use crate::controller::ShardActivity;
use crate::store::ShardRecord;
use plans::inspection::inventory::{ActiveSlot, ActiveStandby, ActivityPart, DatabaseFigures};

/// The text of a value that the agent's role may not read.
const NEEDS_ROLE: &str = "not readable: needs pg_read_all_stats";
/// The text of a value that no probe has read.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// A value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerValue {
    pub(crate) text: String,
    /// False if the text says why the value is not known.
    pub(crate) is_known: bool,
}

impl ServerValue {
    fn known(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_known: true,
        }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self {
            text: why.into(),
            is_known: false,
        }
    }

    /// Creates a value of a standby, whose values can be hidden from the agent's role.
    fn of_standby(standby: &ActiveStandby, text: Option<String>) -> Self {
        match text {
            _ if !standby.is_readable() => Self::unknown(NEEDS_ROLE),
            Some(text) => Self::known(text),
            None => Self::unknown(NOT_MEASURED),
        }
    }
}

impl From<Option<String>> for ServerValue {
    fn from(text: Option<String>) -> Self {
        text.map_or_else(|| Self::unknown(NOT_MEASURED), Self::known)
    }
}

/// A standby as texts.
#[derive(Debug)]
pub(crate) struct StandbyTexts {
    pub(crate) name: String,
    state: ServerValue,
    /// Whether commits wait for the standby.
    synchronous: ServerValue,
    /// The log that it has not replayed yet.
    lag_bytes: ServerValue,
    /// How long ago the log that it replayed last was written.
    lag_time: ServerValue,
    /// Why the other values are hidden, if the agent's role may not read them.
    pub(crate) hidden: Option<&'static str>,
}

impl StandbyTexts {
    /// Returns the names and the values of the columns after the name.
    pub(crate) fn columns(&self) -> [(&'static str, &ServerValue); 4] {
        [
            ("State", &self.state),
            ("Commits wait for it", &self.synchronous),
            ("Not replayed yet", &self.lag_bytes),
            ("Lag", &self.lag_time),
        ]
    }
}

/// A replication slot as texts.
#[derive(Debug)]
pub(crate) struct SlotTexts {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) in_use: &'static str,
    pub(crate) scope: SlotScope,
    /// The database of a logical slot, if the agent reports it.
    pub(crate) database: Option<String>,
    /// The log that the server keeps for it.
    pub(crate) retained: ServerValue,
}

/// To what of the server a replication slot belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotScope {
    /// To the database of the shard.
    Shard,
    /// To the whole server: it is physical.
    Server,
    /// To another database of the server.
    OtherDatabase,
    /// The agent does not report it.
    Unknown,
}

/// What the last probe read of the server of a shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerFigures<'a> {
    pub(crate) shard: &'a ShardRecord,
    pub(crate) database: Option<&'a DatabaseFigures>,
    pub(crate) activity: Option<&'a ShardActivity>,
}

impl ServerFigures<'_> {
    /// Returns names and values.
    pub(crate) fn totals(self) -> Vec<(&'static str, ServerValue)> {
        let activity = self.activity;
        let rate = |read: fn(&ShardActivity) -> Option<f64>, unit| {
            let rate = read(activity?)?;
            Some(rate_text(rate, unit))
        };
        let values = [
            ("Size on disk", self.size()),
            (
                "Rows, estimated",
                activity.and_then(|it| it.now.row_count.map(whole)),
            ),
            ("Rows written", rate(|it| it.written_per_second, "write")),
            ("Rows read", rate(|it| it.read_per_second, "read")),
            ("Transactions", rate(|it| it.commits_per_second, "commit")),
            (
                "Connections",
                activity.map(|it| {
                    let (now, most) = (it.now.connections, it.now.max_connections);
                    format!("{} of {}", whole(now.into()), whole(most.into()))
                }),
            ),
            ("Tables", activity.map(|it| whole(it.now.table_count))),
        ];
        values.map(|(name, value)| (name, value.into())).into()
    }

    fn size(self) -> Option<String> {
        let size = file_size(self.database?.bytes);
        Some(match self.shard.space {
            Some(space) => format!("{size} of {}", file_size(space)),
            None => size,
        })
    }

    /// Returns the standbys; `Err` with the reason if they are not known.
    pub(crate) fn standbys(self) -> Result<Vec<StandbyTexts>, String> {
        let activity = self.read_part(ActivityPart::Standbys)?;
        Ok(activity.now.standbys.iter().map(standby_texts).collect())
    }

    /// Returns the replication slots; `Err` with the reason if they are not known.
    pub(crate) fn slots(self) -> Result<Vec<SlotTexts>, String> {
        let activity = self.read_part(ActivityPart::Slots)?;
        let own = activity.now.database.as_deref();
        let slots = activity.now.slots.iter();
        Ok(slots.map(|slot| slot_texts(slot, own)).collect())
    }

    /// Returns the activity if this part of it was read, otherwise the reason why not.
    pub(crate) fn read_part(&self, part: ActivityPart) -> Result<&ShardActivity, String> {
        let activity = self.activity.ok_or(NOT_MEASURED)?;
        match activity.now.reason_unreadable(part) {
            None => Ok(activity),
            Some(reason) => Err(format!("not readable: {reason}")),
        }
    }
}

fn standby_texts(standby: &ActiveStandby) -> StandbyTexts {
    let of = |text| ServerValue::of_standby(standby, text);
    // The server reports no time for a standby that has replayed everything for a while.
    let lag_time = match (standby.lag_ms, standby.lag_bytes) {
        (Some(ms), _) => Some(millis(i64::try_from(ms).unwrap_or(i64::MAX))),
        (None, Some(0)) => Some("none".to_owned()),
        (None, _) => None,
    };
    StandbyTexts {
        name: standby.name.clone(),
        state: of(standby.state.clone()),
        synchronous: of(Some(yes_or_no(standby.synchronous).to_owned())),
        lag_bytes: of(standby.lag_bytes.map(file_size)),
        lag_time: of(lag_time),
        hidden: (!standby.is_readable()).then_some(NEEDS_ROLE),
    }
}

/// Returns a slot as texts. `own` is the name of the shard's database.
fn slot_texts(slot: &ActiveSlot, own: Option<&str>) -> SlotTexts {
    let retained = slot.retained_bytes.map(file_size);
    SlotTexts {
        name: slot.name.clone(),
        kind: if slot.logical { "logical" } else { "physical" },
        in_use: yes_or_no(slot.active),
        scope: match (slot.logical, slot.database.as_deref()) {
            (false, _) => SlotScope::Server,
            (true, Some(database)) if own == Some(database) => SlotScope::Shard,
            (true, Some(_)) if own.is_some() => SlotScope::OtherDatabase,
            (true, _) => SlotScope::Unknown,
        },
        database: slot.database.clone(),
        retained: retained.map_or_else(|| ServerValue::unknown("none"), ServerValue::known),
    }
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn whole(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns a rate with its unit. A rate below one is not rounded to zero.
pub(crate) fn rate_text(per_second: f64, unit: &str) -> String {
    if per_second > 0.0 && per_second < 10.0 {
        return format!("{per_second:.1} {unit}s/s");
    }
    format!("{} {unit}s/s", count(per_second.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standby(state: Option<&str>, lag_bytes: Option<u64>, lag_ms: Option<u64>) -> StandbyTexts {
        standby_texts(&ActiveStandby {
            name: "s".to_owned(),
            state: state.map(str::to_owned),
            synchronous: false,
            lag_bytes,
            lag_ms,
        })
    }

    #[test]
    fn a_slow_rate_is_not_zero() {
        assert_eq!(rate_text(0.04, "row"), "0.0 rows/s");
        assert_eq!(rate_text(0.2, "row"), "0.2 rows/s");
        assert_eq!(rate_text(1234.4, "row"), "1\u{202f}234 rows/s");
        assert_eq!(rate_text(0.0, "row"), "0 rows/s");
    }

    #[test]
    fn a_hidden_standby_names_the_missing_role() {
        let hidden = standby(None, None, None);
        for value in [
            hidden.state,
            hidden.synchronous,
            hidden.lag_bytes,
            hidden.lag_time,
        ] {
            assert_eq!(value, ServerValue::unknown(NEEDS_ROLE));
        }
    }

    #[test]
    fn a_lag_without_a_time_is_none_only_if_nothing_is_missing() {
        let lag = |bytes, ms| standby(Some("streaming"), bytes, ms).lag_time;
        assert_eq!(lag(Some(0), None), ServerValue::known("none"));
        assert_eq!(lag(Some(9), Some(1_500)), ServerValue::known("1.5 s"));
        assert_eq!(lag(Some(9), None), ServerValue::unknown(NOT_MEASURED));
        assert_eq!(lag(None, None), ServerValue::unknown(NOT_MEASURED));
    }
}
