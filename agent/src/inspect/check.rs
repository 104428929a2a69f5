//! One part of the check of a map on one shard; reads only. A partitioned table is read as a whole.

use connect::Connected;
use plans::fleet::ShardRef;
use plans::inspection::check::{
    CheckFinding, CheckSubject, CheckTask, Checked, KeyRows, ObservedGuard, ObservedReference,
    ObservedSequence, ObservedTable, SAMPLE, StrayRows,
};
use plans::key::{Key, KeyType, accept};
use plans::key_set::{KeyRange, KeySet};
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableKey, TableName};
use tokio_postgres::Row;

use super::{count, keys, reference};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::user_code::CodeProver;
use crate::shard::{released_keys_check, sequences};

/// Looks at one part.
///
/// # Errors
/// When the shard cannot be reached or read, or the map's tables cannot be tied to its key.
pub(super) async fn run(task: &CheckTask) -> Result<Checked, StepError> {
    let client = super::session(&task.shard, "check").await?;
    let shard = task.shard.name.as_str();
    if task.subject != CheckSubject::Guards {
        let sql = "set default_transaction_read_only = on";
        client
            .batch_execute(sql)
            .await
            .at(format_args!("shard {shard}"))?;
    }
    let tables = tied(&client, task).await?;
    match &task.subject {
        CheckSubject::Rows { .. } | CheckSubject::Reference | CheckSubject::Present { .. } => {
            let references = &task.settings.reference;
            begin_reading(&client, &task.shard, &tables, references).await?;
        }
        CheckSubject::Schema | CheckSubject::Guards | CheckSubject::Sequences => {}
    }
    let seen = match &task.subject {
        CheckSubject::Rows { table } => {
            CheckFinding::Rows(rows(&client, task, &tables, table).await?)
        }
        CheckSubject::Schema => CheckFinding::Schema {
            tables: schema(&client, task).await?,
        },
        CheckSubject::Reference => CheckFinding::Reference {
            tables: references(&client, task).await?,
        },
        CheckSubject::Guards => CheckFinding::Guards {
            broken: guards(&client, task, &tables).await?,
        },
        CheckSubject::Sequences => CheckFinding::Sequences {
            sequences: issued(&client, &tables).await?,
        },
        CheckSubject::Present { keys } => CheckFinding::Present {
            keys: present(&client, task, &tables, keys).await?,
        },
    };
    Ok(Checked {
        shard: task.shard.name.clone(),
        finding: seen,
    })
}

/// Begins a transaction in which rows of these tables, and of reference tables, can be read, as far as they are there:
/// that runs no code that is not trusted.
async fn begin_reading(
    client: &Connected,
    shard: &ShardRef,
    tables: &[MovingTable],
    references: &[String],
) -> Result<(), StepError> {
    let shard = super::shard(shard)?;
    let there = catalog::tables(client).await?;
    let references = references.iter().map(|name| TableName::parse(name));
    let references = references.map(|name| MovingTable::bare(name, TableKey::Reference));
    let tables = tables.iter().cloned().chain(references);
    let tables: Vec<MovingTable> = tables.filter(|t| there.contains_key(&t.table)).collect();
    CodeProver::open(&shard).await?.begin(client, &tables).await
}

/// The map's tables that are on the shard, parents before children.
async fn tied(client: &Connected, task: &CheckTask) -> Result<Vec<MovingTable>, StepError> {
    let shard = task.shard.name.as_str();
    let there = catalog::tables(client).await?;
    let foreign_keys = catalog::foreign_keys(client).await?;
    let (tied, untied) = keys::resolve(&task.settings, &task.key, &foreign_keys);
    if let Some(unknown) = untied
        .into_iter()
        .find(|unknown| there.contains_key(&unknown.table))
    {
        return Err(StepError::refused(
            "check.untied",
            format!(
                "shard {shard}, table {}: {}",
                unknown.table, unknown.problem
            ),
            unknown.remedy,
        ));
    }
    let here = tied
        .into_iter()
        .filter(|(table, _)| there.contains_key(table));
    Ok(here
        .map(|(table, key)| MovingTable::bare(table, key))
        .collect())
}

async fn rows(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
    name: &TableName,
) -> Result<StrayRows, StepError> {
    let mut seen = StrayRows {
        table: name.to_string(),
        ..StrayRows::default()
    };
    let Some(table) = tables.iter().find(|table| &table.table == name) else {
        return Ok(seen);
    };
    let what = format!(
        "shard {}: looking for rows of others in {name}",
        task.shard.name
    );
    let own = table.predicate(&task.owned.union(&task.moving_keys), "t");
    let keyed = match &table.key {
        TableKey::Through(through) => format!("not ({})", keys::refers_to_none(through, "t")),
        TableKey::Columns(_) | TableKey::Reference => "true".to_owned(),
    };
    let others = format!(
        "select t.*, ({}) is true as shardwright_mapped from {} t where ({own}) is not true and {keyed}",
        table.predicate(&task.mapped, "t"),
        name.sql()
    );
    let row = client
        .query_one(
            &format!(
                "select count(*) filter (where t.shardwright_mapped), count(*) filter (where not t.shardwright_mapped) from ({others}) t"
            ),
            &[],
        )
        .await
        .at(&what)?;
    (seen.stray, seen.unmapped) = (count(row.get(0)), count(row.get(1)));
    if seen.stray > 0 {
        seen.stray_keys = sample(client, task, table, &others, true).await.at(&what)?;
    }
    if seen.unmapped > 0 {
        seen.unmapped_keys = sample(client, task, table, &others, false)
            .await
            .at(&what)?;
    }
    if let TableKey::Through(through) = &table.key {
        let joined = keys::join_condition(through, "p", "t");
        let sql = format!(
            "select count(*) from {} t where {keyed} and not exists (select from {} p where {joined})",
            name.sql(),
            through.parent.sql()
        );
        seen.orphans = count(client.query_one(&sql, &[]).await.at(&what)?.get(0));
    }
    Ok(seen)
}

async fn sample(
    client: &Connected,
    task: &CheckTask,
    table: &MovingTable,
    others: &str,
    mapped: bool,
) -> Result<Vec<KeyRows>, tokio_postgres::Error> {
    let condition = if mapped {
        "t.shardwright_mapped"
    } else {
        "not t.shardwright_mapped"
    };
    counted(client, &task.key, table, &format!("({others})"), condition).await
}

/// Rows by key of what `from` (called `t`) has under `condition`, the first keys in text order.
async fn counted(
    client: &Connected,
    types: &[KeyType],
    table: &MovingTable,
    from: &str,
    condition: &str,
) -> Result<Vec<KeyRows>, tokio_postgres::Error> {
    let columns: Vec<String> = keys::expressions(&table.key, "t")
        .iter()
        .map(|column| format!("{column}::pg_catalog.text"))
        .collect();
    let places: Vec<String> = (1..=columns.len()).map(|at| at.to_string()).collect();
    let places = places.join(", ");
    let rows = client
        .query(
            &format!(
                "select {}, count(*) from {from} t where {condition} group by {places} order by {places} limit {SAMPLE}",
                columns.join(", ")
            ),
            &[],
        )
        .await?;
    Ok(rows
        .iter()
        .filter_map(|row| {
            Some(KeyRows {
                key: key(row, types)?,
                rows: count(row.get(types.len())),
            })
        })
        .collect())
}

fn key(row: &Row, types: &[KeyType]) -> Option<Key> {
    let values: Option<Vec<Key>> = types
        .iter()
        .enumerate()
        .map(|(at, kind)| kind.read(row.get::<_, Option<&str>>(at)?))
        .collect();
    accept(types, &Key::Row(values?)).ok()
}

/// A set of exactly these keys, whatever kind of sets the map has.
pub(super) fn exactly(keys: &[Key]) -> KeySet {
    if keys.iter().all(|key| key.values().len() == 1) {
        return KeySet::list(keys.iter().cloned());
    }
    let alone = |key: &Key| KeyRange {
        from: Some(key.clone()),
        to: key.successor(),
    };
    KeySet::Range(keys.iter().map(alone).collect()).normal()
}

async fn present(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
    keys: &[Key],
) -> Result<Vec<KeyRows>, StepError> {
    let wanted = exactly(keys);
    let mut found: Vec<KeyRows> = Vec::new();
    for table in tables {
        let predicate = table.predicate(&wanted, "t");
        let rows = counted(client, &task.key, table, &table.table.sql(), &predicate)
            .await
            .at(format_args!(
                "shard {}: looking for keys in {}",
                task.shard.name, table.table
            ))?;
        for seen in rows {
            match found.iter_mut().find(|known| known.key == seen.key) {
                Some(known) => known.rows += seen.rows,
                None => found.push(seen),
            }
        }
    }
    Ok(found)
}

async fn schema(client: &Connected, task: &CheckTask) -> Result<Vec<ObservedTable>, StepError> {
    let settings = &task.settings;
    let names = settings.tables.keys().chain(settings.through.keys());
    let names = names.chain(&settings.reference);
    let names: Vec<TableName> = names.map(|name| TableName::parse(name)).collect();
    let facts = catalog::facts(client, &names).await?;
    Ok(facts
        .into_iter()
        .map(|(table, facts)| ObservedTable {
            table: table.to_string(),
            facts,
        })
        .collect())
}

async fn references(
    client: &Connected,
    task: &CheckTask,
) -> Result<Vec<ObservedReference>, StepError> {
    let mut seen = Vec::new();
    for name in &task.settings.reference {
        let table = TableName::parse(name);
        if let Some(rows) = reference::digest(client, &table).await? {
            seen.push(ObservedReference {
                table: table.to_string(),
                rows: count(rows.count),
                digest: rows.digest,
            });
        }
    }
    Ok(seen)
}

async fn guards(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
) -> Result<Vec<ObservedGuard>, StepError> {
    let mut broken = Vec::new();
    let Some(keys) = released_keys_check::read_keys(client, &task.map).await? else {
        return Ok(broken);
    };
    for table in tables
        .iter()
        .filter(|table| table.has_key() && !keys.is_empty())
    {
        let problems = released_keys_check::find_problems(client, &task.map, &keys, table).await?;
        if !problems.is_empty() {
            broken.push(ObservedGuard {
                table: table.table.clone(),
                problem: problems.join("; "),
                keys: keys.clone(),
            });
        }
    }
    Ok(broken)
}

/// Every sequence behind the tables' columns, as it stands.
async fn issued(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<ObservedSequence>, StepError> {
    let mut seen = Vec::new();
    for (name, _, _) in sequences::list_used_by(client, tables).await? {
        seen.push(sequence(client, &name).await?);
    }
    Ok(seen)
}

/// One sequence as it stands.
pub(super) async fn sequence(
    client: &Connected,
    name: &str,
) -> Result<ObservedSequence, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            &format!(
                "select s.last_value, s.is_called, q.seqincrement, q.seqmin, q.seqmax
                 from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {}::pg_catalog.regclass",
                quote_literal(name)
            ),
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading sequence {name}"))?;
    Ok(ObservedSequence {
        name: name.to_owned(),
        last: row.get(0),
        called: row.get(1),
        increment: row.get(2),
        min: row.get(3),
        max: row.get(4),
    })
}
