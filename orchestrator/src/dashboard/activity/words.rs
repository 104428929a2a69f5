//! Says in words what a line of the audit trail records: what was done, to which object.
//!
//! A command is recorded as its method and path. This module knows the routes of the commands; for any other route the
//! words are the method and the path.

use crate::controller::Command;

/// What a line records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActivityWords {
    /// What the actor did, as in `aborted`.
    pub(super) past: String,
    /// What the actor was refused to do, as in `abort`.
    pub(super) infinitive: String,
    /// The object.
    pub(super) object: ActivityObject,
}

/// The object of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActivityObject {
    None,
    Migration(String),
    Operation(String),
    Map(String),
    Shard(String),
    Token(String),
    Agent(String),
    /// Another object, or a name of one that is not linked.
    Other(String),
}

/// The kind of object that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActivityKind {
    Migrations,
    Maps,
    Shards,
    Tokens,
    Agents,
    Other,
}

impl ActivityKind {
    /// All kinds.
    pub(super) const ALL: [Self; 6] = [
        Self::Migrations,
        Self::Maps,
        Self::Shards,
        Self::Tokens,
        Self::Agents,
        Self::Other,
    ];

    /// Returns the name in URLs and on pages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Migrations => "migrations",
            Self::Maps => "maps",
            Self::Shards => "shards",
            Self::Tokens => "tokens",
            Self::Agents => "agents",
            Self::Other => "other",
        }
    }
}

impl ActivityObject {
    /// Returns the kind of the object.
    pub(super) fn kind(&self) -> ActivityKind {
        match self {
            Self::Migration(_) | Self::Operation(_) => ActivityKind::Migrations,
            Self::Map(_) => ActivityKind::Maps,
            Self::Shard(_) => ActivityKind::Shards,
            Self::Token(_) => ActivityKind::Tokens,
            Self::Agent(_) => ActivityKind::Agents,
            Self::None | Self::Other(_) => ActivityKind::Other,
        }
    }

    /// Returns the URL of the object's page, if it has one.
    pub(super) fn href(&self) -> Option<String> {
        match self {
            Self::Migration(id) if !id.is_empty() => Some(format!("/migrations/{id}")),
            Self::Operation(id) => Some(format!("/operations/{id}")),
            Self::Map(name) if !name.is_empty() => Some(format!("/maps/{name}")),
            Self::Shard(name) if !name.is_empty() => Some(format!("/shards/{name}")),
            Self::Token(_) => Some("/tokens".to_owned()),
            Self::Agent(_) => Some("/agents".to_owned()),
            Self::None | Self::Migration(_) | Self::Map(_) | Self::Shard(_) | Self::Other(_) => {
                None
            }
        }
    }

    /// Returns the kind and the name, as in `map tenants`.
    pub(super) fn text(&self) -> String {
        let (kind, name) = match self {
            Self::None => return String::new(),
            Self::Other(text) => return text.clone(),
            Self::Migration(id) => ("migration", id),
            Self::Operation(id) => ("operation", id),
            Self::Map(name) => ("map", name),
            Self::Shard(name) => ("shard", name),
            Self::Token(name) => ("token", name),
            Self::Agent(name) => ("agent", name),
        };
        match name.is_empty() {
            true => format!("a{} {kind}", if kind == "agent" { "n" } else { "" }),
            false => format!("{kind} {name}"),
        }
    }

    /// Reads an object of the form `shard a`.
    fn parse(text: &str) -> Self {
        let named = |name: &str| name.to_owned();
        match text.split_once(' ') {
            Some(("migration", id)) => Self::Migration(named(id)),
            Some(("operation", id)) => Self::Operation(named(id)),
            Some(("map", name)) => Self::Map(named(name)),
            Some(("shard", name)) => Self::Shard(named(name)),
            Some(("token", name)) => Self::Token(named(name)),
            Some(("agent", name)) => Self::Agent(named(name)),
            Some(_) | None => Self::Other(text.to_owned()),
        }
    }
}

fn words(past: &str, infinitive: &str, object: ActivityObject) -> ActivityWords {
    ActivityWords {
        past: past.to_owned(),
        infinitive: infinitive.to_owned(),
        object,
    }
}

/// Returns true if the object of a line is the method and the path of a call.
pub(super) fn is_call(action: &str) -> bool {
    matches!(action, "order" | "agent.refused")
}

/// Returns the words of a line.
pub(super) fn words_of(action: &str, object: &str) -> ActivityWords {
    if !is_call(action) {
        let object = ActivityObject::parse(object);
        let past = change(action).unwrap_or(action);
        return words(past, past, object);
    }
    let (method, path) = object.split_once(' ').unwrap_or(("", object));
    let api_path = path.strip_prefix("/api/v1").unwrap_or(path);
    let segments: Vec<&str> = api_path.trim_matches('/').split('/').collect();
    let known = of_migration(&segments).or_else(|| of_fleet(method, &segments));
    known.unwrap_or_else(|| {
        words(
            "sent",
            "send",
            ActivityObject::Other(format!("{method} {path}")),
        )
    })
}

/// Returns what a change did that is not a command's line.
fn change(action: &str) -> Option<&'static str> {
    Some(match action {
        "map.created" => "created",
        "map.removed" | "shard.removed" | "agent.removed" => "removed",
        "map.edited" => "changed the owners of keys in",
        "map.set" => "changed the settings of",
        "map.mended" => "repaired a defect of",
        "agent.claimed" => "claimed a step of",
        "token.created" => "created",
        "token.revoked" => "revoked",
        "shard.added" => "registered",
        "shard.changed" => "changed",
        "standby.slot_recorded" => "recorded the slot of a standby on",
        "fleet.found" => "found a contradiction on",
        "fleet.closed" => "closed keys that belong to other shards on",
        "fleet.accepted" => "accepted the server of",
        "fleet.reconciled" => "added lost flips to the",
        "fleet.swept" => "removed leftover objects from the",
        "rules.overridden" => "overrode a rule for",
        _ => return None,
    })
}

/// Returns the words of a command on a migration or an operation, or of a submission.
fn of_migration(segments: &[&str]) -> Option<ActivityWords> {
    let object = |noun: &str, id: &str| match noun {
        "migrations" => ActivityObject::Migration(id.to_owned()),
        _ => ActivityObject::Operation(id.to_owned()),
    };
    let other = |text: &str| ActivityObject::Other(text.to_owned());
    match segments {
        ["migrations" | "operations"] => Some(words(
            "submitted",
            "submit",
            ActivityObject::Migration(String::new()),
        )),
        ["plans"] | ["migrations", "plan"] => Some(words("made", "make", other("a plan"))),
        ["migrations", id, "limits"] => Some(words(
            "changed a limit of",
            "change a limit of",
            object("migrations", id),
        )),
        ["migrations", id, "verify"] => Some(words(
            "compared the rows of",
            "compare the rows of",
            object("migrations", id),
        )),
        [noun @ ("migrations" | "operations"), id, command] => {
            let (past, infinitive) = command_words(Command::parse(command)?);
            Some(words(past, infinitive, object(noun, id)))
        }
        _ => None,
    }
}

fn command_words(command: Command) -> (&'static str, &'static str) {
    match command {
        Command::Approve => ("approved the cutover of", "approve the cutover of"),
        Command::ApproveCancel => (
            "permitted the end of transactions for",
            "permit the end of transactions for",
        ),
        Command::Overrule => ("overruled the hooks of", "overrule the hooks of"),
        Command::Pause => ("paused", "pause"),
        Command::Resume => ("resumed", "resume"),
        Command::Retry => ("retried", "retry"),
        Command::Abort => ("aborted", "abort"),
        Command::Rollback => ("rolled back", "roll back"),
        Command::Finish => ("finished", "finish"),
    }
}

/// Returns the words of a command on the fleet: maps, shards, tokens, agents.
fn of_fleet(method: &str, segments: &[&str]) -> Option<ActivityWords> {
    let map = |name: &str| ActivityObject::Map(name.to_owned());
    let shard = |name: &str| ActivityObject::Shard(name.to_owned());
    let token = |name: &str| ActivityObject::Token(name.to_owned());
    let other = |text: &str| ActivityObject::Other(text.to_owned());
    let (past, infinitive, object) = match (method, segments) {
        ("POST", ["maps"]) => ("created", "create", map("")),
        ("DELETE", ["maps", name]) => ("removed", "remove", map(name)),
        (_, ["maps", name]) => ("changed", "change", map(name)),
        (_, ["maps", name, "load"]) => ("measured the load of", "measure the load of", map(name)),
        (_, ["maps", name, "check"]) => ("checked", "check", map(name)),
        (_, ["maps", name, ..]) => ("changed", "change", map(name)),
        ("POST", ["shards"]) => ("registered", "register", shard("")),
        ("DELETE", ["shards", name]) => ("removed", "remove", shard(name)),
        (_, ["shards", name, "directory"]) => (
            "read a directory table of",
            "read a directory table of",
            shard(name),
        ),
        (_, ["shards", name, ..]) => ("changed", "change", shard(name)),
        (_, ["standbys"]) => (
            "recorded the slot of",
            "record the slot of",
            other("a standby"),
        ),
        ("POST", ["tokens"]) => ("created", "create", token("")),
        (_, ["tokens", name, ..]) => ("revoked", "revoke", token(name)),
        ("DELETE", ["agents", name]) => (
            "removed",
            "remove",
            ActivityObject::Agent((*name).to_owned()),
        ),
        (_, ["fleet", "reconcile"]) => ("reconciled", "reconcile", other("the fleet")),
        (_, ["fleet", "cleanup"]) => (
            "removed leftover objects from",
            "remove leftover objects from",
            other("the shards"),
        ),
        (_, ["doctor"]) => ("examined", "examine", other("the shards")),
        (_, ["sign-in-codes"]) => ("created", "create", other("a sign-in link")),
        (_, ["sign-out"]) => ("signed out", "sign out", ActivityObject::None),
        _ => return None,
    };
    Some(words(past, infinitive, object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(action: &str, object: &str) -> String {
        let words = words_of(action, object);
        format!("{} {}", words.past, words.object.text())
    }

    #[test]
    fn commands_are_told_in_words() {
        for (object, expected) in [
            ("POST /api/v1/migrations/m1/abort", "aborted migration m1"),
            (
                "POST /migrations/m1/approve",
                "approved the cutover of migration m1",
            ),
            ("POST /operations/m1/finish", "finished operation m1"),
            ("POST /api/v1/operations", "submitted a migration"),
            ("POST /api/v1/tokens", "created a token"),
            ("POST /tokens/nora/revoke", "revoked token nora"),
            ("DELETE /api/v1/shards/a", "removed shard a"),
            ("PATCH /api/v1/maps/tenants", "changed map tenants"),
            ("POST /number/7", "sent POST /number/7"),
            (
                "POST /migrations/m1/dance",
                "sent POST /migrations/m1/dance",
            ),
        ] {
            assert_eq!(sentence("order", object), expected);
        }
    }

    #[test]
    fn changes_are_told_in_words() {
        assert_eq!(
            sentence("token.created", "token nora"),
            "created token nora"
        );
        assert_eq!(sentence("shard.added", "shard a"), "registered shard a");
        assert_eq!(sentence("new.kind", "thing x"), "new.kind thing x");
    }

    #[test]
    fn every_command_has_words() {
        for command in Command::ALL {
            let path = format!("POST /api/v1/migrations/m1/{command}");
            let words = words_of("order", &path);
            assert_eq!(
                words.object,
                ActivityObject::Migration("m1".to_owned()),
                "{command}"
            );
        }
    }
}
