//! Shards: registered, changed and removed. The store never contains a password.

use super::identify::ExpectedShard;
use super::{ControlError, Controller, clock};
use crate::store::{AuditRecord, NewShard, ShardRecord, ShardUpdate, StoreError};
use connect::Dsn;
use plans::id::ShardName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A change of a shard. Fields that are missing do not change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShardChange {
    /// Labels to set; the value null removes a label.
    pub labels: BTreeMap<String, Option<String>>,
    /// The capacity: how much load the shard should carry, relative to the other shards; 1 to 1000000.
    pub capacity: Option<u32>,
    /// How many bytes of rows the shard can hold; 0: no limit.
    pub space: Option<u64>,
    /// A new connection string. It must lead to the same database, unless `replaced` is true.
    pub dsn: Option<String>,
    /// True if the shard is another database from now on, or was restored. The connection string may then lead to that
    /// database. Requires a reason.
    pub replaced: bool,
    /// The reason, for the audit trail.
    pub reason: Option<String>,
}

impl Controller {
    /// Registers a shard, after an agent has reported the database to which its connection string leads.
    ///
    /// # Errors
    /// [`ControlError::UnreadableDsn`], [`ControlError::InlinePassword`], an empty field, a name that exists already, a
    /// database that the agent cannot reach, or a database that belongs to another shard.
    pub async fn add_shard(
        &self,
        new: &NewShard,
        actor: &str,
    ) -> Result<ShardRecord, ControlError> {
        check_new_shard(new)?;
        self.refuse_known_shard(&new.name).await?;
        let found = self.identify_new(new).await?;
        let mut shard = self.inner.store.add_shard(new).await?;
        if let Some(found) = found {
            self.note_database(shard.number, &found).await?;
            shard.identity = Some(found.identity);
        }
        self.audit(
            actor,
            "shard.added",
            format!("shard {}", shard.name),
            json!({ "identity": shard.identity }),
        )
        .await?;
        self.announce();
        Ok(shard)
    }

    /// Fails if a shard has this name.
    pub(super) async fn refuse_known_shard(&self, name: &ShardName) -> Result<(), ControlError> {
        match self.inner.store.shard(name).await? {
            None => Ok(()),
            Some(known) => Err(StoreError::Exists {
                what: "shard",
                name: known.name.to_string(),
            }
            .into()),
        }
    }

    /// Changes the properties of a shard.
    ///
    /// # Errors
    /// The errors of [`Controller::add_shard`], or an unknown shard.
    pub async fn change_shard(
        &self,
        name: &ShardName,
        change: ShardChange,
        actor: &str,
    ) -> Result<ShardRecord, ControlError> {
        let known = self.shard(name).await?;
        check_shard_change(name, &change)?;
        let mut data = json!({
            "labels": change.labels, "capacity": change.capacity, "space": change.space, "reason": change.reason,
            "dsn": change.dsn,
            "parameters": change.dsn.as_deref().map(|dsn| changed_parameters(&known.dsn, dsn)),
        });
        if change.dsn.is_some() || change.replaced {
            let wanted = ExpectedShard {
                known: &known,
                dsn: change.dsn.as_deref().unwrap_or(&known.dsn),
                replaced: change.replaced,
            };
            if let Some(found) = self.identify_changed(wanted).await? {
                // The identity is written before the connection string: until both are written, agents find another
                // database than the registered one, and refuse to work in it.
                self.note_database(known.number, &found).await?;
                data["identity"] = json!(found.identity);
                data["identity_before"] = json!(known.identity);
            }
        }
        let mut labels = known.labels;
        for (label, value) in change.labels {
            match value {
                Some(value) => labels.insert(label, value),
                None => labels.remove(&label),
            };
        }
        let update = ShardUpdate {
            name: name.clone(),
            labels,
            capacity: change.capacity.unwrap_or(known.capacity),
            space: change.space.or(known.space).filter(|space| *space > 0),
            dsn: change.dsn,
        };
        let changed = self.inner.store.update_shard(&update).await?;
        self.audit(actor, "shard.changed", format!("shard {name}"), data)
            .await?;
        self.announce();
        Ok(changed)
    }

    /// Removes a shard that no current map names.
    ///
    /// # Errors
    /// The shard does not exist, or is in use.
    pub async fn remove_shard(
        &self,
        name: &ShardName,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<(), ControlError> {
        self.inner.store.remove_shard(name).await?;
        let data = json!({ "reason": reason });
        self.audit(actor, "shard.removed", format!("shard {name}"), data)
            .await?;
        self.announce();
        Ok(())
    }

    /// Returns a shard.
    ///
    /// # Errors
    /// The shard does not exist, or the store failed.
    pub async fn shard(&self, name: &ShardName) -> Result<ShardRecord, ControlError> {
        let found = self.inner.store.shard(name).await?;
        found.ok_or_else(|| ControlError::missing("shard", name.as_str()))
    }

    /// Adds a record to the audit trail.
    pub(super) async fn audit(
        &self,
        actor: &str,
        action: &str,
        object: String,
        data: Value,
    ) -> Result<(), ControlError> {
        let record = AuditRecord {
            at: clock(),
            actor: actor.to_owned(),
            action: action.to_owned(),
            object,
            data,
        };
        Ok(self.inner.store.add_audit(&record).await?)
    }
}

/// Checks the fields of a new shard, without a connection.
pub(crate) fn check_new_shard(new: &NewShard) -> Result<(), ControlError> {
    check_name("shard", new.name.as_str())?;
    check_dsn(&new.name, &new.dsn)?;
    check_capacity(new.capacity)
}

/// Checks the fields of a change of a shard, without a connection.
pub(crate) fn check_shard_change(
    name: &ShardName,
    change: &ShardChange,
) -> Result<(), ControlError> {
    if let Some(dsn) = &change.dsn {
        check_dsn(name, dsn)?;
    }
    let has_reason = change
        .reason
        .as_deref()
        .is_some_and(|reason| !reason.trim().is_empty());
    if change.replaced && !has_reason {
        return Err(invalid_error("`replaced` needs a reason"));
    }
    change.capacity.map_or(Ok(()), check_capacity)
}

/// Returns the parameters that differ between two connection strings.
fn changed_parameters(before: &str, after: &str) -> Vec<&'static str> {
    match (Dsn::parse(before), Dsn::parse(after)) {
        (Ok(before), Ok(after)) => before.differences(&after),
        (Err(_), _) | (_, Err(_)) => Vec::new(),
    }
}

/// Checks that a connection string can be read and contains no password.
pub(super) fn check_dsn(shard: &ShardName, dsn: &str) -> Result<(), ControlError> {
    if dsn.trim().is_empty() {
        return Err(invalid_error(&format!(
            "the connection string of shard {shard} is empty"
        )));
    }
    let read = Dsn::parse(dsn).map_err(|source| ControlError::UnreadableDsn {
        shard: shard.to_string(),
        source,
    })?;
    if read.has_inline_password() {
        return Err(ControlError::InlinePassword {
            shard: shard.to_string(),
        });
    }
    Ok(())
}

fn check_capacity(capacity: u32) -> Result<(), ControlError> {
    if (1..=1_000_000).contains(&capacity) {
        return Ok(());
    }
    Err(invalid_error(
        "the capacity of a shard is a number from 1 to 1000000",
    ))
}

/// Returns the error for a field without a usable value.
pub(super) fn invalid_error(what: &str) -> ControlError {
    ControlError::Invalid {
        what: what.to_owned(),
    }
}

/// Checks a name, which must be usable in URLs and messages.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), ControlError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    // In a URL path, a segment that consists only of dots refers to another folder.
    let more_than_dots = name.chars().any(|c| c != '.');
    if more_than_dots && name.len() <= 63 && name.chars().all(plain) {
        return Ok(());
    }
    Err(ControlError::Invalid {
        what: format!(
            "the {what} name {name:?} must have 1 to 63 letters, digits, '_', '-' or '.', and not only dots"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(dsn: &str) -> Result<(), ControlError> {
        check_dsn(&ShardName::from("c"), dsn)
    }

    #[test]
    fn a_password_must_be_a_reference() {
        for accepted in [
            "host=a user=b",
            "host=a password=${env:X}",
            "host=a password='${file:/a b}'",
            "postgres://u@h/d",
            "postgres://u:${file:/x}@h/d",
            "host=a passfile=/x",
        ] {
            assert!(checked(accepted).is_ok(), "{accepted}");
        }
        for bad in [
            "host=a password=x",
            "host=a password = 'x'",
            "host=a password=${env:X}y",
            "postgres://u:secret@h/d",
            "postgres://h/d?user=u&password=x",
        ] {
            let refused = checked(bad).unwrap_err();
            assert!(
                matches!(refused, ControlError::InlinePassword { .. }),
                "{bad}: {refused}"
            );
        }
    }

    #[test]
    fn an_unreadable_connection_string_is_refused_and_not_shown() {
        for bad in [
            "db1.secret:5432/shop",
            "host=a user='secret",
            "host=a password=${env:secret",
            "host=a password=${vault:secret}",
            "host=a port=secret",
            "postgres://u:${file:/secret@h/d",
            "postgres://h:secret/d",
        ] {
            let refused = checked(bad).unwrap_err();
            let message = refused.to_string();
            assert!(
                matches!(refused, ControlError::UnreadableDsn { .. }),
                "{bad}: {message}"
            );
            assert!(
                message.contains("shard c") && !message.contains("secret"),
                "{message}"
            );
        }
    }
}
