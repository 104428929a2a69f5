//! Old messages before the present reader; and what a reader leaves aside, which makes it the old one of the next release.

use super::recorded::{Exchange, newest};
use super::shape::lost;
use orchestrator::api::LeadershipHealth;
use orchestrator::store::CleanupRecord;
use plans::request::Options;
use plans::shard_map::MapSettings;
use plans::throttle::Throttle;
use plans::wire::{Claim, CutoverAnswer, CutoverCall, Heartbeat, HeartbeatReply, Report, Work};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;

/// Reads a document, and writes again what was understood of it.
type Reader = fn(&Value) -> Result<Value, String>;

fn read<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let read = T::deserialize(value).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(read).unwrap())
}

/// Who reads what was asked, and what was answered.
fn readers(name: &str) -> (Option<Reader>, Option<Reader>) {
    match name.split('.').next().unwrap() {
        "claim" => (Some(read::<Claim>), Some(read::<Work>)),
        "heartbeat" => (Some(read::<Heartbeat>), Some(read::<HeartbeatReply>)),
        "report" => (Some(read::<Report>), None),
        "cutover" => (Some(read::<CutoverCall>), Some(read::<CutoverAnswer>)),
        "cleanup" => (Some(read::<Vec<CleanupRecord>>), None),
        "health" => (None, Some(read::<LeadershipHealth>)),
        other => panic!("nothing reads {other}"),
    }
}

/// Each document with its reader and its name.
fn documents() -> Vec<(String, Reader, Value)> {
    let mut all = Vec::new();
    for (
        name,
        Exchange {
            asked, answered, ..
        },
    ) in newest().exchanges()
    {
        let (asks, answers) = readers(&name);
        for (reader, value, side) in [(asks, asked, "asked"), (answers, answered, "answered")] {
            if let (Some(reader), false) = (reader, value.is_null()) {
                all.push((format!("{name} {side}"), reader, value));
            }
        }
    }
    all
}

#[test]
fn every_old_message_is_read_with_everything_in_it() {
    let documents = documents();
    assert!(documents.len() > 100, "{}", documents.len());
    for (name, reader, old) in documents {
        let read = reader(&old).unwrap_or_else(|error| panic!("{name}: {error}"));
        let lost = lost(&old, &read);
        assert!(lost.is_empty(), "{name}: {}", lost.join("; "));
    }
}

#[test]
fn every_kind_of_message_was_recorded() {
    let names: BTreeSet<String> = newest().exchanges().into_keys().collect();
    for part in [
        "claim.step.cutover",
        "claim.inspect.survey",
        "heartbeat.idle",
        "heartbeat.hold.end_hold",
        "report.copy.done",
        "report.copy.interrupted",
        "report.cutover.failed",
        "report.made.reshaped",
        "report.made.rewind",
        "report.inspected.survey",
        "cutover.begin.forward.begun",
        "cutover.seal.forward.granted",
        "cutover.flip.forward.flipped",
        "cutover.begin.reverse.begun",
        "cutover.made.release.released",
        "cutover.made.cancel.asked",
        "cutover.made.flip.refused",
        "cleanup.recorded",
    ] {
        assert!(names.contains(part), "{part}");
    }
    let beats = newest().exchanges().into_iter();
    let beats = beats.filter(|(name, _)| name.starts_with("heartbeat."));
    let told = beats.flat_map(|(_, beat)| beat.answered["directives"].as_array().unwrap().clone());
    let actions: BTreeSet<String> = told.map(|one| one["action"].to_string()).collect();
    let all = ["continue", "end_hold", "pause", "release"].map(|action| format!("{action:?}"));
    assert_eq!(actions, BTreeSet::from(all));
    for kind in plans::step::FORWARD {
        assert!(
            names.contains(&format!("claim.step.{}", kind.name())),
            "{kind:?}"
        );
    }
}

/// Where a reader takes no field that it does not know: what is asked for is never left aside silently.
/// A controller sends such a field only where it is used, so an old agent refuses only what it could not do.
const STRICT: [&str; 8] = [
    "key",
    "keys",
    "mapped",
    "options",
    "owned",
    "settings",
    "throttle",
    "under_way",
];
/// Values of any form by name: a new name is no field.
const FREE: [&str; 4] = ["outputs", "output", "result", "storage"];
/// The same: tables with their keys.
const TABLES: &str = ".inspection.tables";

/// The places of a document's objects; elements of an array share one.
fn places(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|inner| places(inner, place, found)),
        Value::Object(fields) => {
            found.insert(place.to_owned());
            for (name, inner) in fields {
                places(inner, &format!("{place}.{name}"), found);
            }
        }
        _ => {}
    }
}

/// Adds a field to the objects at `wanted`.
fn add(value: &mut Value, place: &str, wanted: &str) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|inner| add(inner, place, wanted)),
        Value::Object(fields) => {
            for (name, inner) in fields.iter_mut() {
                add(inner, &format!("{place}.{name}"), wanted);
            }
            if place == wanted {
                fields.insert("added_later".to_owned(), Value::Bool(true));
            }
        }
        _ => {}
    }
}

#[test]
fn a_reader_leaves_aside_what_it_does_not_know() {
    let (mut refused, mut left) = (BTreeSet::new(), 0);
    for (name, reader, old) in documents() {
        let mut found = BTreeSet::new();
        places(&old, "", &mut found);
        for place in found {
            let mut inside = place.split('.');
            if inside.any(|part| FREE.contains(&part)) || place == TABLES {
                continue;
            }
            let mut newer = old.clone();
            add(&mut newer, "", &place);
            let read = reader(&newer);
            let lost = read.map_or_else(|error| vec![error], |read| lost(&old, &read));
            if lost.is_empty() {
                left += 1;
            } else if !place.split('.').any(|part| STRICT.contains(&part)) {
                refused.insert((name.clone(), place, lost.join("; ")));
            }
        }
    }
    assert!(left > 300, "{left}");
    assert!(refused.is_empty(), "{refused:?}");
}

/// The fields of all objects that are called so.
fn fields_of(value: &Value, name: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|inner| fields_of(inner, name, found)),
        Value::Object(fields) => {
            for (key, inner) in fields {
                if let (true, Value::Object(inner)) = (key == name, inner) {
                    found.extend(inner.keys().cloned());
                }
                fields_of(inner, name, found);
            }
        }
        _ => {}
    }
}

#[test]
fn what_is_not_used_is_not_sent_to_a_reader_that_would_refuse_it() {
    let documents = documents();
    let usual = serde_json::Result::<Value>::unwrap;
    for (name, usual) in [
        ("options", usual(serde_json::to_value(Options::default()))),
        (
            "settings",
            usual(serde_json::to_value(MapSettings::default())),
        ),
        ("throttle", usual(serde_json::to_value(Throttle::default()))),
    ] {
        let mut known = BTreeSet::new();
        for (_, _, old) in &documents {
            fields_of(old, name, &mut known);
        }
        assert!(!known.is_empty(), "no {name}");
        let sent: BTreeSet<String> = usual.as_object().unwrap().keys().cloned().collect();
        let new: Vec<_> = sent.difference(&known).collect();
        assert!(
            new.is_empty(),
            "{name} sends {new:?}, which the last release does not know"
        );
    }
}
