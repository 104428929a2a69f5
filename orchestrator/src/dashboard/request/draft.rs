//! Makes a request from the fields of the form. What the form does not show is taken from the request before.

use super::fields::{RequestFields, parse_buckets, parse_key, parse_keys, parse_number};
use super::options;
use plans::id::MapName;
use plans::request::{
    Drain, Isolate, Measure, Merge, Mode, MoveEntry, MoveOperation, Options, Part, Rebalance,
    Request, Split, Tables,
};
use plans::shard_map::{KeyColumns, Selection, ShardMap, Strategy};

/// The maximum number of rows of a form.
pub(super) const MAX_ROWS: usize = 64;

/// What a request is made from.
pub(super) struct RequestDraft<'a> {
    pub(super) fields: &'a RequestFields,
    /// The map of the request, if it exists.
    pub(super) map: Option<&'a ShardMap>,
    /// The request before the change.
    pub(super) base: Option<&'a Request>,
}

/// What every operation has.
struct CommonParts {
    map: MapName,
    tables: Tables,
    ignore: Vec<String>,
    options: Options,
}

impl RequestDraft<'_> {
    /// Returns the request. It is not checked: the text that is written from it is.
    ///
    /// # Errors
    /// The text names the field that cannot be read.
    pub(super) fn request(&self) -> Result<Request, String> {
        let common = self.common()?;
        Ok(match self.fields.get("operation").unwrap_or_default() {
            "split" => Request::Split(self.split(common)?),
            "merge" => Request::Merge(self.merge(common)),
            "move" => Request::Move(self.move_operation(common)?),
            "isolate" => Request::Isolate(self.isolate(common)),
            "drain" => Request::Drain(self.drain(common)),
            "rebalance" => Request::Rebalance(self.rebalance(common)?),
            other => return Err(format!("there is no operation {other:?}")),
        })
    }

    fn split(&self, common: CommonParts) -> Result<Split, String> {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        let even = self.measure("even", self.base_even());
        Ok(Split {
            map,
            source: self.fields.shard("source"),
            into: self.parts(even.is_some())?,
            even,
            tables,
            ignore,
            options,
        })
    }

    fn merge(&self, common: CommonParts) -> Merge {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        Merge {
            map,
            sources: self.fields.shards("sources"),
            into: self.fields.shard("into"),
            tables,
            ignore,
            options,
        }
    }

    fn move_operation(&self, common: CommonParts) -> Result<MoveOperation, String> {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        Ok(MoveOperation {
            map,
            moves: self.moves()?,
            tables,
            ignore,
            options,
        })
    }

    fn isolate(&self, common: CommonParts) -> Isolate {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        Isolate {
            map,
            key: parse_key(self.fields.get("key").unwrap_or_default(), self.types()),
            target: self.fields.shard("target"),
            tables,
            ignore,
            options,
        }
    }

    fn drain(&self, common: CommonParts) -> Drain {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        Drain {
            map,
            source: self.fields.shard("source"),
            targets: self.fields.shards("targets"),
            by: self.measure("by", self.base_by()).unwrap_or(Measure::Rows),
            drop_tables: self.fields.has("drop_tables"),
            tables,
            ignore,
            options,
        }
    }

    fn rebalance(&self, common: CommonParts) -> Result<Rebalance, String> {
        let CommonParts {
            map,
            tables,
            ignore,
            options,
        } = common;
        let number = |name: &str, default: u32| {
            let text = self.fields.get(name);
            text.map_or(Ok(default), |text| parse_number(name, text))
        };
        let max_bytes = self.fields.get("max_bytes");
        let max_bytes = max_bytes.map(|text| parse_number("max_bytes", text));
        Ok(Rebalance {
            map,
            by: self.measure("by", self.base_by()).unwrap_or(Measure::Rows),
            onto: self.fields.shards("onto"),
            threshold_percent: number("threshold_percent", 10)?,
            max_bytes: max_bytes.transpose()?,
            watch_seconds: number("watch_seconds", 10)?,
            tables,
            ignore,
            options,
        })
    }

    fn types(&self) -> &[plans::key::KeyType] {
        self.map.map_or(&[], |map| &map.key)
    }

    fn common(&self) -> Result<CommonParts, String> {
        let (tables, ignore) = self.base.map_or_else(Default::default, |base| {
            let (tables, ignore) = base.tables();
            (tables.clone(), ignore.to_vec())
        });
        let fields = self.fields;
        let options = self
            .base
            .map(|base| base.options().clone())
            .unwrap_or_default();
        Ok(CommonParts {
            map: MapName::from(fields.get("map").unwrap_or_default()),
            tables: match fields.has("tables") {
                true => parse_tables(fields.raw("tables"))?,
                false => tables,
            },
            ignore: match fields.has("ignore") {
                true => fields
                    .shards("ignore")
                    .into_iter()
                    .map(|name| name.0)
                    .collect(),
                false => ignore,
            },
            options: options::with_fields(&options, fields)?,
        })
    }

    /// Returns the chosen measure. A query, which the form does not show, is kept.
    fn measure(&self, name: &str, base: Option<&Measure>) -> Option<Measure> {
        match self.fields.get(name)? {
            "rows" => Some(Measure::Rows),
            "bytes" => Some(Measure::Bytes),
            "writes" => Some(Measure::Writes),
            _ => base.cloned(),
        }
    }

    fn base_even(&self) -> Option<&Measure> {
        let Some(Request::Split(split)) = self.base else {
            return None;
        };
        split.even.as_ref()
    }

    fn base_by(&self) -> Option<&Measure> {
        if let Some(Request::Drain(drain)) = self.base {
            return Some(&drain.by);
        }
        let Some(Request::Rebalance(rebalance)) = self.base else {
            return None;
        };
        Some(&rebalance.by)
    }

    /// Returns the keys of part or move `row` before the change.
    fn base_keys(&self, row: usize) -> Option<&Selection> {
        if let Some(Request::Split(split)) = self.base {
            return split.into.get(row)?.keys.as_ref();
        }
        let Some(Request::Move(moves)) = self.base else {
            return None;
        };
        moves.moves.get(row)?.keys.as_ref()
    }

    /// Returns the parts of a split: the rows of the form, or the two parts that a link with a split point names.
    fn parts(&self, is_even: bool) -> Result<Vec<Part>, String> {
        if let Some(at) = self.fields.get("at") {
            let (source, target) = (self.fields.shard("source"), self.fields.shard("target"));
            let [lower, upper] = self.halves(at)?;
            let shards = match self.moves_lower() {
                true => [target, source],
                false => [source, target],
            };
            let parts = shards.into_iter().zip([lower, upper]);
            let part = |(shard, keys)| Part {
                shard,
                keys: Some(keys),
                share: None,
            };
            return Ok(parts.map(part).collect());
        }
        let mut parts = Vec::new();
        for row in 0..MAX_ROWS {
            let Some(shard) = self.fields.of_row("shard", row) else {
                continue;
            };
            let share = self.fields.of_row("share", row);
            parts.push(Part {
                shard: shard.into(),
                keys: match is_even {
                    true => None,
                    false => Some(
                        self.selection(Some(row), self.base_keys(row))?
                            .unwrap_or_default(),
                    ),
                },
                share: share.map(|text| parse_number("share", text)).transpose()?,
            });
        }
        Ok(parts)
    }

    fn moves(&self) -> Result<Vec<MoveEntry>, String> {
        if let (Some(source), Some(target)) = (self.fields.get("source"), self.fields.get("target"))
        {
            let keys = match self.fields.get("at") {
                Some(at) => {
                    let [lower, upper] = self.halves(at)?;
                    Some(if self.moves_lower() { lower } else { upper })
                }
                None => self.selection(None, None)?,
            };
            let entry = MoveEntry {
                source: source.into(),
                target: target.into(),
                keys,
                mode: None,
            };
            return Ok(vec![entry]);
        }
        let mut moves = Vec::new();
        for row in 0..MAX_ROWS {
            let Some(source) = self.fields.of_row("source", row) else {
                continue;
            };
            moves.push(MoveEntry {
                source: source.into(),
                target: self.fields.of_row("target", row).unwrap_or_default().into(),
                keys: self.selection(Some(row), self.base_keys(row))?,
                mode: match self.fields.of_row("mode", row) {
                    Some("online") => Some(Mode::Online),
                    Some("offline") => Some(Mode::Offline),
                    Some(_) | None => None,
                },
            });
        }
        Ok(moves)
    }

    fn moves_lower(&self) -> bool {
        self.fields.get("side") == Some("lower")
    }

    /// Returns the two parts of the named keys before and after the split point.
    fn halves(&self, at: &str) -> Result<[Selection; 2], String> {
        let whole = self.selection(None, None)?.unwrap_or_default();
        if self.strategy() == Strategy::Hash {
            let at: u32 = parse_number("at", at)?;
            let of = self.map.map_or(0, |map| map.buckets);
            let range = whole.buckets.and_then(|ranges| ranges.first().cloned());
            let (from, to) = range.map_or((0, of), |range| (range.from, range.to));
            let part = |from, to| Selection {
                buckets: Some(vec![plans::key_set::BucketRange { from, to }]),
                ..Selection::default()
            };
            return Ok([part(from, at), part(at, to)]);
        }
        let at = Some(parse_key(at, self.types()));
        Ok([
            Selection {
                from: whole.from,
                to: at.clone(),
                ..Selection::default()
            },
            Selection {
                from: at,
                to: whole.to,
                ..Selection::default()
            },
        ])
    }

    fn strategy(&self) -> Strategy {
        self.map.map_or(Strategy::Range, |map| map.strategy)
    }

    /// Returns the keys of a row, or those of the whole form; `None` if no key is named. Keys that the form cannot show
    /// are kept from `base`.
    fn selection(
        &self,
        row: Option<usize>,
        base: Option<&Selection>,
    ) -> Result<Option<Selection>, String> {
        let field = |name: &str| match row {
            Some(row) => self.fields.of_row(name, row),
            None => self.fields.get(name),
        };
        if field("kept").is_some() {
            return Ok(base.cloned());
        }
        let types = self.types();
        let selection = match self.strategy() {
            Strategy::Range => Selection {
                from: field("from").map(|text| parse_key(text, types)),
                to: field("to").map(|text| parse_key(text, types)),
                ..Selection::default()
            },
            Strategy::Hash | Strategy::List => Selection {
                buckets: field("buckets").map(parse_buckets).transpose()?,
                values: field("values").map(|text| parse_keys(text, types)),
                ..Selection::default()
            },
        };
        Ok(Some(selection).filter(|selection| *selection != Selection::default()))
    }
}

/// Parses lines such as `orders: tenant_id`.
fn parse_tables(text: &str) -> Result<Tables, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (table, columns) = line.rsplit_once(':').ok_or_else(|| {
                format!("{line:?} is not a table and its key column, such as orders: tenant_id")
            })?;
            let columns = columns.split(',').map(|column| column.trim().to_owned());
            Ok((table.trim().to_owned(), KeyColumns(columns.collect())))
        })
        .collect()
}
