//! The form of a request: the fields of its operation, filled in from the request, with the shards, keys and tables of
//! the map to choose from.

use super::RequestChoice;
use super::fields::key_input;
use super::options::{self, OptionField};
use super::yaml;
use askama::Template;
use plans::key::Key;
use plans::request::{Measure, Request};
use plans::shard_map::{Selection, ShardMap, Strategy};

/// The maximum number of shards and keys to choose from.
const MAX_SHARDS: usize = 500;
const MAX_BOUNDS: usize = 100;

/// The fields.
#[derive(Template)]
#[template(path = "request/fields.html")]
pub(super) struct RequestFormView {
    /// Whether the fields are not shown, because the request is shown as YAML.
    is_hidden: bool,
    operation: &'static str,
    map: String,
    /// The kind of the map: range, hash or list.
    strategy: &'static str,
    shards: Vec<String>,
    /// Bounds and keys of the map, to choose from.
    bounds: Vec<String>,
    body: RequestBody,
    tables: TablesField,
    ignore: String,
    options: Vec<OptionField>,
    /// Options that only YAML can have, if the request has some.
    other_options: Vec<&'static str>,
}

/// The fields of an operation.
enum RequestBody {
    Split {
        source: String,
        even: Vec<RequestChoice>,
        is_even: bool,
        rows: Vec<FormRow>,
    },
    Merge {
        sources: String,
        into: String,
    },
    Move {
        rows: Vec<FormRow>,
    },
    Isolate {
        key: String,
        target: String,
    },
    Drain {
        source: String,
        targets: String,
        by: Vec<RequestChoice>,
        drop_tables: bool,
    },
    Rebalance {
        by: Vec<RequestChoice>,
        onto: String,
        threshold_percent: u32,
        max_bytes: String,
        watch_seconds: u32,
    },
}

/// A part of a split, or a move.
struct FormRow {
    source: String,
    target: String,
    keys: KeysInput,
    share: String,
    /// The mode of a move: empty, online or offline.
    mode: &'static str,
}

/// Keys as the form shows them.
#[derive(Default)]
struct KeysInput {
    from: String,
    to: String,
    buckets: String,
    values: String,
    /// Keys that the form cannot show, as YAML.
    kept: String,
}

/// Where the tables come from.
enum TablesField {
    /// The settings of the map list them.
    OfMap(String),
    /// The request lists them: one line for each.
    Listed(String),
}

impl RequestFormView {
    /// Fills in the form. `map` is the map of the request, if it exists.
    pub(super) fn new(request: &Request, map: Option<&ShardMap>, fleet: &[String]) -> Self {
        let strategy = map.map_or(Strategy::Range, |map| map.strategy);
        let (tables, ignore) = request.tables();
        let listed = tables
            .iter()
            .map(|(table, columns)| format!("{table}: {}", columns.0.join(", ")));
        let listed: Vec<String> = listed.collect();
        let of_map = map.map(|map| &map.settings).filter(|settings| {
            listed.is_empty() && (!settings.tables.is_empty() || !settings.keyed_by.is_column())
        });
        Self {
            is_hidden: false,
            operation: request.operation(),
            map: request.map().to_string(),
            strategy: strategy.name(),
            shards: fleet.iter().take(MAX_SHARDS).cloned().collect(),
            bounds: map.map_or_else(Vec::new, bounds),
            body: body(request, strategy),
            tables: match of_map {
                Some(settings) => {
                    let names = settings.tables.keys().chain(settings.through.keys());
                    let names: Vec<String> = names.cloned().collect();
                    TablesField::OfMap(names.join(", "))
                }
                None => TablesField::Listed(listed.join("\n")),
            },
            ignore: ignore.join(", "),
            options: options::fields(request.options()),
            other_options: other_options(request),
        }
    }

    /// Hides the fields if `is_hidden` is true.
    pub(super) fn hidden(mut self, is_hidden: bool) -> Self {
        self.is_hidden = is_hidden;
        self
    }

    /// Returns how many options differ from their defaults.
    fn changed_options(&self) -> usize {
        self.options
            .iter()
            .filter(|option| !option.is_default())
            .count()
            + self.other_options.len()
    }
}

fn other_options(request: &Request) -> Vec<&'static str> {
    let options = request.options();
    let set = [
        ("throttle", options.throttle != Default::default()),
        ("override_rules", options.override_rules.is_some()),
        ("ignore_standbys", !options.ignore_standbys.is_empty()),
    ];
    set.into_iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| name)
        .collect()
}

fn body(request: &Request, strategy: Strategy) -> RequestBody {
    let list = |shards: &[plans::id::ShardName]| {
        let names: Vec<&str> = shards.iter().map(|shard| shard.as_str()).collect();
        names.join(", ")
    };
    match request {
        Request::Split(split) => RequestBody::Split {
            source: split.source.to_string(),
            even: measures(split.even.as_ref(), true),
            is_even: split.even.is_some(),
            rows: split
                .into
                .iter()
                .map(|part| FormRow {
                    source: String::new(),
                    target: part.shard.to_string(),
                    keys: keys_input(part.keys.as_ref(), strategy),
                    share: part
                        .share
                        .map_or_else(String::new, |share| share.to_string()),
                    mode: "",
                })
                .chain([FormRow::empty()])
                .collect(),
        },
        Request::Merge(merge) => RequestBody::Merge {
            sources: list(&merge.sources),
            into: merge.into.to_string(),
        },
        Request::Move(moves) => RequestBody::Move {
            rows: moves
                .moves
                .iter()
                .map(|entry| FormRow {
                    source: entry.source.to_string(),
                    target: entry.target.to_string(),
                    keys: keys_input(entry.keys.as_ref(), strategy),
                    share: String::new(),
                    mode: entry.mode.map_or("", |mode| mode.name()),
                })
                .chain([FormRow::empty()])
                .collect(),
        },
        Request::Isolate(isolate) => RequestBody::Isolate {
            key: key_input(&isolate.key),
            target: isolate.target.to_string(),
        },
        Request::Drain(drain) => RequestBody::Drain {
            source: drain.source.to_string(),
            targets: list(&drain.targets),
            by: measures(Some(&drain.by), false),
            drop_tables: drain.drop_tables,
        },
        Request::Rebalance(rebalance) => RequestBody::Rebalance {
            by: measures(Some(&rebalance.by), false),
            onto: list(&rebalance.onto),
            threshold_percent: rebalance.threshold_percent,
            max_bytes: rebalance
                .max_bytes
                .map_or_else(String::new, |most| most.to_string()),
            watch_seconds: rebalance.watch_seconds,
        },
    }
}

impl FormRow {
    /// Returns the row for one more part or move.
    fn empty() -> Self {
        Self {
            source: String::new(),
            target: String::new(),
            keys: KeysInput::default(),
            share: String::new(),
            mode: "",
        }
    }
}

/// Returns the measures to choose from. A query is written as YAML.
fn measures(chosen: Option<&Measure>, is_optional: bool) -> Vec<RequestChoice> {
    let name = match chosen {
        None => "",
        Some(Measure::Rows) => "rows",
        Some(Measure::Bytes) => "bytes",
        Some(Measure::Writes) => "writes",
        Some(Measure::Query(_)) => "query",
    };
    let all = [
        ("", "at keys that I name"),
        ("rows", "rows"),
        ("bytes", "bytes"),
        ("writes", "writes"),
        ("query", "the query in the YAML"),
    ];
    let offered = all.into_iter().filter(|(value, _)| match *value {
        "" => is_optional,
        "query" => name == "query",
        _ => true,
    });
    offered
        .map(|(value, label)| RequestChoice {
            name: value.to_owned(),
            label: match (is_optional, value) {
                (true, "rows" | "bytes" | "writes") => format!("evenly by {label}"),
                (_, _) => label.to_owned(),
            },
            is_selected: value == name,
        })
        .collect()
}

fn keys_input(keys: Option<&Selection>, strategy: Strategy) -> KeysInput {
    let Some(keys) = keys else {
        return KeysInput::default();
    };
    let is_simple = keys.ranges.is_none()
        && keys.except.is_none()
        && match strategy {
            Strategy::Range => keys.buckets.is_none() && keys.values.is_none(),
            Strategy::Hash => keys.from.is_none() && keys.to.is_none(),
            Strategy::List => keys.from.is_none() && keys.to.is_none() && keys.buckets.is_none(),
        };
    if !is_simple {
        return KeysInput {
            kept: yaml::selection(keys),
            ..KeysInput::default()
        };
    }
    let text = |key: &Option<Key>| key.as_ref().map_or_else(String::new, key_input);
    let buckets = keys.buckets.iter().flatten();
    let buckets: Vec<String> = buckets
        .map(|range| format!("{}-{}", range.from, range.to))
        .collect();
    let values: Vec<String> = keys.values.iter().flatten().map(key_input).collect();
    KeysInput {
        from: text(&keys.from),
        to: text(&keys.to),
        buckets: buckets.join(", "),
        values: values.join(", "),
        kept: String::new(),
    }
}

/// Returns bounds of ranges, exceptions and keys of lists.
fn bounds(map: &ShardMap) -> Vec<String> {
    use plans::key_set::KeySet;
    let keys = map.mappings.iter().take(MAX_BOUNDS).flat_map(|mapping| {
        let keys: Vec<&Key> = match &mapping.keys {
            KeySet::Range(ranges) => ranges
                .iter()
                .filter_map(|range| range.to.as_ref())
                .collect(),
            KeySet::Hash(set) => set.except.iter().take(1).collect(),
            KeySet::List(keys) => keys.iter().take(MAX_BOUNDS).collect(),
        };
        keys
    });
    keys.take(MAX_BOUNDS).map(key_input).collect()
}
