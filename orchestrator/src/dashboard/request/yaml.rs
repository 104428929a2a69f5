//! Writes a request as YAML, in the order in which a person would write it, without options that have their default.

use plans::key::Key;
use plans::key_set::KeyRange;
use plans::request::{Measure, MoveEntry, Options, Part, Request, Tables};
use plans::shard_map::Selection;
use serde_json::Value;
use std::fmt::Write;

/// Returns the text of a request.
pub(super) fn text(request: &Request) -> String {
    let mut out = format!(
        "operation: {}\nmap: {}\n",
        request.operation(),
        scalar(request.map().as_str())
    );
    // Writing to a String cannot fail.
    let _ = write_body(&mut out, request);
    let (tables, ignore) = request.tables();
    let _ = write_tables(&mut out, tables, ignore);
    write_options(&mut out, request.options());
    out
}

fn write_body(out: &mut String, request: &Request) -> std::fmt::Result {
    match request {
        Request::Split(split) => {
            writeln!(out, "source: {}", scalar(split.source.as_str()))?;
            if let Some(even) = &split.even {
                writeln!(out, "even: {}", measure(even))?;
            }
            writeln!(out, "into:")?;
            split.into.iter().try_for_each(|part| write_part(out, part))
        }
        Request::Merge(merge) => {
            writeln!(
                out,
                "sources: {}",
                names(merge.sources.iter().map(|s| s.as_str()))
            )?;
            writeln!(out, "into: {}", scalar(merge.into.as_str()))
        }
        Request::Move(moves) => {
            writeln!(out, "moves:")?;
            moves
                .moves
                .iter()
                .try_for_each(|entry| write_move(out, entry))
        }
        Request::Isolate(isolate) => {
            writeln!(out, "key: {}", key(&isolate.key))?;
            writeln!(out, "target: {}", scalar(isolate.target.as_str()))
        }
        Request::Drain(drain) => {
            writeln!(out, "source: {}", scalar(drain.source.as_str()))?;
            if !drain.targets.is_empty() {
                writeln!(
                    out,
                    "targets: {}",
                    names(drain.targets.iter().map(|s| s.as_str()))
                )?;
            }
            writeln!(out, "by: {}", measure(&drain.by))?;
            writeln!(out, "drop_tables: {}", drain.drop_tables)
        }
        Request::Rebalance(rebalance) => {
            writeln!(out, "by: {}", measure(&rebalance.by))?;
            if !rebalance.onto.is_empty() {
                writeln!(
                    out,
                    "onto: {}",
                    names(rebalance.onto.iter().map(|s| s.as_str()))
                )?;
            }
            writeln!(out, "threshold_percent: {}", rebalance.threshold_percent)?;
            if let Some(most) = rebalance.max_bytes {
                writeln!(out, "max_bytes: {most}")?;
            }
            if rebalance.by == Measure::Writes {
                writeln!(out, "watch_seconds: {}", rebalance.watch_seconds)?;
            }
            Ok(())
        }
    }
}

fn write_part(out: &mut String, part: &Part) -> std::fmt::Result {
    writeln!(out, "  - shard: {}", scalar(part.shard.as_str()))?;
    if let Some(keys) = &part.keys {
        writeln!(out, "    keys: {}", selection(keys))?;
    }
    if let Some(share) = part.share {
        writeln!(out, "    share: {share}")?;
    }
    Ok(())
}

fn write_move(out: &mut String, entry: &MoveEntry) -> std::fmt::Result {
    writeln!(out, "  - source: {}", scalar(entry.source.as_str()))?;
    writeln!(out, "    target: {}", scalar(entry.target.as_str()))?;
    if let Some(keys) = &entry.keys {
        writeln!(out, "    keys: {}", selection(keys))?;
    }
    if let Some(mode) = entry.mode {
        writeln!(out, "    mode: {}", mode.name())?;
    }
    Ok(())
}

fn write_tables(out: &mut String, tables: &Tables, ignore: &[String]) -> std::fmt::Result {
    if !tables.is_empty() {
        writeln!(out, "tables:")?;
    }
    for (table, columns) in tables {
        let columns = columns.0.iter().map(String::as_str);
        let columns = match columns.len() {
            1 => columns.map(scalar).collect(),
            _ => names(columns),
        };
        writeln!(out, "  {}: {columns}", scalar(table))?;
    }
    if !ignore.is_empty() {
        writeln!(out, "ignore: {}", names(ignore.iter().map(String::as_str)))?;
    }
    Ok(())
}

fn write_options(out: &mut String, options: &Options) {
    let object = |options: &Options| serde_json::to_value(options).unwrap_or_default();
    let (all, defaults) = (object(options), object(&Options::default()));
    let all = all.as_object().into_iter().flatten();
    let changed = all.filter(|(name, value)| defaults.get(name) != Some(value));
    let changed: Vec<String> = changed
        .map(|(name, value)| format!("  {name}: {}\n", flow(value)))
        .collect();
    if !changed.is_empty() {
        *out += "options:\n";
        *out += &changed.concat();
    }
}

/// Returns a value in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(values) => format!("[{}]", join(values.iter().map(flow))),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| format!("{}: {}", scalar(name), flow(value)));
            format!("{{ {} }}", join(fields))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn measure(measure: &Measure) -> String {
    flow(&serde_json::to_value(measure).unwrap_or_default())
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", join(names.map(scalar)))
}

/// Returns a text as YAML: plain if it cannot be mistaken for anything else, otherwise in quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char));
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match is_plain && !is_word.contains(&text.to_ascii_lowercase().as_str()) {
        true => text.to_owned(),
        false => Value::String(text.to_owned()).to_string(),
    }
}

/// Returns the keys in the syntax of a request, in one line.
pub(super) fn selection(keys: &Selection) -> String {
    let mut fields = Vec::new();
    for (name, end) in [("from", &keys.from), ("to", &keys.to)] {
        fields.extend(end.as_ref().map(|end| format!("{name}: {}", key(end))));
    }
    if let Some(ranges) = &keys.ranges {
        fields.push(format!("ranges: [{}]", join(ranges.iter().map(range))));
    }
    if let Some(buckets) = &keys.buckets {
        let buckets = buckets.iter();
        let buckets = buckets.map(|range| format!("{{ from: {}, to: {} }}", range.from, range.to));
        fields.push(format!("buckets: [{}]", join(buckets)));
    }
    for (name, list) in [("values", &keys.values), ("except", &keys.except)] {
        let list = list.as_ref();
        fields.extend(list.map(|list| format!("{name}: [{}]", join(list.iter().map(key)))));
    }
    match fields.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", fields.join(", ")),
    }
}

fn range(range: &KeyRange) -> String {
    selection(&Selection {
        from: range.from.clone(),
        to: range.to.clone(),
        ..Selection::default()
    })
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns a key as YAML: a number without quotes, other values in quotes, a composite key as a list.
pub(super) fn key(value: &Key) -> String {
    match value {
        Key::Int(value) => value.to_string(),
        Key::Row(values) => format!("[{}]", join(values.iter().map(key))),
        Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Date(_) | Key::Timestamp(_) => {
            Value::String(value.text()).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::key_set::KeySet;

    #[test]
    fn a_written_request_is_read_as_the_same_request() {
        let requests = [
            "operation: split\nmap: t\nsource: a\ninto:\n  - shard: a\n    keys: { to: \"x\\\"y\" }\n  - shard: \"1\"\n    keys: { from: \"x\\\"y\" }\ntables: { \"Orders\": [a, b], x.y: id }\nignore: [logs]\noptions: { mode: offline, hold: { seconds: 60 }, throttle: { rate_bytes_s: 4096 } }",
            "operation: split\nmap: t\nsource: a\neven: { query: \"select 1\" }\ninto: [{ shard: a, share: 3 }, { shard: b }]",
            "operation: merge\nmap: t\nsources: [a, b]\ninto: c",
            "operation: move\nmap: t\nmoves: [{ source: a, target: b, keys: { buckets: [{ from: 1, to: 2 }], values: [7], except: [8] }, mode: offline }, { source: b, target: a, keys: { ranges: [{ from: 1 }, { to: 0 }] } }]",
            "operation: isolate\nmap: t\nkey: [4, \"é\"]\ntarget: b",
            "operation: drain\nmap: t\nsource: a\ntargets: [b]\nby: bytes\ndrop_tables: true",
            "operation: rebalance\nmap: t\nby: writes\nonto: [c]\nthreshold_percent: 5\nmax_bytes: 100\nwatch_seconds: 30",
        ];
        for request in requests {
            let read = Request::parse(request).unwrap();
            let written = text(&read);
            let again = Request::parse(&written);
            assert_eq!(again.as_ref(), Ok(&read), "{written}");
        }
    }

    #[test]
    fn keys_are_written_as_requests_read_them() {
        let keys = |keys: KeySet| selection(&Selection::of(&keys));
        let above = KeySet::range(Some(Key::from("a\"b")), None);
        assert_eq!(keys(above), "{ from: \"a\\\"b\" }");
        assert_eq!(keys(KeySet::range(None, None)), "{}");
        assert_eq!(
            keys(KeySet::buckets(8, 2, 4)),
            "{ buckets: [{ from: 2, to: 4 }] }"
        );
        let row = Key::Row(vec![Key::Int(4), Key::from("é")]);
        assert_eq!(key(&row), "[4, \"é\"]");
    }
}
