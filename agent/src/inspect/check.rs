//! Reads one part of a map check (`shardwright map check`) on one shard, and changes nothing. A partitioned table is
//! read as a whole.

use connect::Connected;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::inspection::check::{
    CheckSubject, CheckTask, CheckTaskResult, KeyRows, MAX_SAMPLE_KEYS, ObservedGuard,
    ObservedReference, ObservedSequence, ObservedTable, StrayRows, SubjectResult,
};
use plans::key::{Key, KeyType, accept};
use plans::key_set::{KeyRange, KeySet};
use plans::shard_map::MapSettings;
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableKey, TableName};
use tokio_postgres::Row;

use super::{keys, reference, row_count};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::user_code::CodeProver;
use crate::shard::{released_keys_check, sequences};

/// Reads the part of the check that the task names.
///
/// # Errors
/// If the shard cannot be reached or read, or if a table of the map that exists on the shard has no known relation to
/// the shard key.
pub(super) async fn run(task: &CheckTask) -> Result<CheckTaskResult, StepError> {
    let client = super::session(&task.shard, "check").await?;
    let shard = task.shard.name.as_str();
    if task.subject != CheckSubject::Guards {
        let sql = "set default_transaction_read_only = on";
        client
            .batch_execute(sql)
            .await
            .at(format_args!("shard {shard}"))?;
    }
    let tables = keyed_tables(&client, task).await?;
    match &task.subject {
        CheckSubject::Rows { .. }
        | CheckSubject::WholeTables
        | CheckSubject::Reference
        | CheckSubject::Present { .. } => {
            let references = &task.settings.reference;
            begin_reading(&client, &task.shard, &tables, references).await?;
        }
        CheckSubject::Schema | CheckSubject::Guards | CheckSubject::Sequences => {}
    }
    let result = match &task.subject {
        CheckSubject::Rows { table } => {
            SubjectResult::Rows(count_misplaced_rows(&client, task, &tables, table).await?)
        }
        CheckSubject::WholeTables => SubjectResult::WholeTables {
            tables: count_misplaced_whole_tables(&client, task, &tables).await?,
        },
        CheckSubject::Schema => SubjectResult::Schema {
            tables: read_schema(&client, task).await?,
        },
        CheckSubject::Reference => SubjectResult::Reference {
            tables: digest_reference_tables(&client, task).await?,
        },
        CheckSubject::Guards => SubjectResult::Guards {
            broken: find_broken_guards(&client, task, &tables).await?,
        },
        CheckSubject::Sequences => SubjectResult::Sequences {
            sequences: read_sequences(&client, &tables).await?,
        },
        CheckSubject::Present { keys } => SubjectResult::Present {
            keys: find_present_keys(&client, task, &tables, keys).await?,
        },
    };
    Ok(CheckTaskResult {
        shard: task.shard.name.clone(),
        result,
    })
}

/// Begins a transaction in which the agent may read the rows of these tables and of the reference tables. Tables that
/// the shard lacks are skipped. In the transaction no untrusted code of the tables' owners runs (`user_code`).
pub(super) async fn begin_reading(
    client: &Connected,
    shard: &ShardRef,
    tables: &[MovingTable],
    references: &[String],
) -> Result<(), StepError> {
    let shard = super::shard(shard)?;
    let references = references.iter().map(|name| TableName::parse(name));
    let references = references.map(|name| MovingTable::bare(name, TableKey::Reference));
    let tables = tables.iter().cloned().chain(references);
    let mut tables: Vec<MovingTable> = tables.collect();
    let existing = catalog::existing(client, tables.iter().map(|table| &table.table)).await?;
    tables.retain(|table| existing.contains(&table.table));
    CodeProver::open(&shard).await?.begin(client, &tables).await
}

/// Returns the map's tables that exist on the shard, parents before children.
async fn keyed_tables(client: &Connected, task: &CheckTask) -> Result<Vec<MovingTable>, StepError> {
    let keys_of_map = task.mapped.union(&task.moving_keys);
    existing_tables(client, &task.settings, &task.key, &keys_of_map).await
}

/// Returns the tables of a map with these settings, key types and keys that exist on the shard, parents before children.
pub(super) async fn existing_tables(
    client: &Connected,
    settings: &MapSettings,
    types: &[KeyType],
    keys_of_map: &KeySet,
) -> Result<Vec<MovingTable>, StepError> {
    let shard = client.name();
    let existing = catalog::tables(client).await?;
    let foreign_keys = catalog::foreign_keys(client).await?;
    let tables_of_map = keys::TablesOfMap {
        settings,
        types,
        existing: &existing,
        keys: keys_of_map,
    };
    let (keyed, unkeyed) = keys::resolve(tables_of_map, &foreign_keys);
    if let Some(unkeyed_table) = unkeyed
        .into_iter()
        .find(|unkeyed_table| existing.contains_key(&unkeyed_table.table))
    {
        return Err(StepError::refused(
            StepCode::CheckUntied,
            format!(
                "shard {shard}, table {}: {}",
                unkeyed_table.table, unkeyed_table.problem
            ),
            unkeyed_table.remedy,
        ));
    }
    let existing_keyed = keyed
        .into_iter()
        .filter(|(table, _)| existing.contains_key(table));
    Ok(existing_keyed
        .map(|(table, key)| MovingTable::bare(table, key))
        .collect())
}

/// Counts the rows of a table that do not belong to the shard, and reads some of their keys.
async fn count_misplaced_rows(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
    name: &TableName,
) -> Result<StrayRows, StepError> {
    let mut stray_rows = StrayRows {
        table: name.to_string(),
        ..StrayRows::default()
    };
    let Some(table) = tables.iter().find(|table| &table.table == name) else {
        return Ok(stray_rows);
    };
    let action = format!(
        "shard {}: counting rows of {name} whose keys the shard does not own",
        task.shard.name
    );
    let owned_predicate = table.predicate(&task.owned.union(&task.moving_keys), "t");
    let key_condition = match &table.key {
        TableKey::Through(through) => {
            format!("not ({})", keys::keyless_row_condition(through, "t"))
        }
        TableKey::Columns(_) | TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => {
            "true".to_owned()
        }
    };
    let misplaced_rows = format!(
        "select t.*, ({}) is true as shardwright_mapped from {} t where ({owned_predicate}) is not true and {key_condition}",
        table.predicate(&task.mapped, "t"),
        name.sql()
    );
    let row = client
        .query_one(
            &format!(
                "select count(*) filter (where t.shardwright_mapped), count(*) filter (where not t.shardwright_mapped) from ({misplaced_rows}) t"
            ),
            &[],
        )
        .await
        .at(&action)?;
    (stray_rows.stray, stray_rows.unmapped) = (row_count(row.get(0)), row_count(row.get(1)));
    if task.has_surplus {
        (stray_rows.surplus, stray_rows.stray) = (stray_rows.stray, 0);
    }
    if stray_rows.stray > 0 {
        stray_rows.stray_keys = sample_keys(client, task, table, &misplaced_rows, true)
            .await
            .at(&action)?;
    }
    if stray_rows.unmapped > 0 {
        stray_rows.unmapped_keys = sample_keys(client, task, table, &misplaced_rows, false)
            .await
            .at(&action)?;
    }
    if let TableKey::Through(through) = &table.key {
        let parent_join = through.joins("p", "t");
        let sql = format!(
            "select count(*) from {} t where {key_condition} and not exists (select from {} p where {parent_join})",
            name.sql(),
            through.parent.sql()
        );
        stray_rows.orphans = row_count(client.query_one(&sql, &[]).await.at(&action)?.get(0));
    }
    Ok(stray_rows)
}

/// Counts the rows of schemas or groups that the shard does not own. Tables without such rows are not in the result.
async fn count_misplaced_whole_tables(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
) -> Result<Vec<StrayRows>, StepError> {
    let owned = task.owned.union(&task.moving_keys);
    let is_misplaced = |table: &&MovingTable| {
        let key = table.whole_key();
        key.is_some_and(|key| !owned.contains(&key))
    };
    let mut misplaced = Vec::new();
    for table in tables.iter().filter(is_misplaced) {
        let rows = count_misplaced_rows(client, task, tables, &table.table).await?;
        if rows
            != (StrayRows {
                table: rows.table.clone(),
                ..StrayRows::default()
            })
        {
            misplaced.push(rows);
        }
    }
    Ok(misplaced)
}

async fn sample_keys(
    client: &Connected,
    task: &CheckTask,
    table: &MovingTable,
    misplaced_rows: &str,
    mapped: bool,
) -> Result<Vec<KeyRows>, tokio_postgres::Error> {
    let condition = if mapped {
        "t.shardwright_mapped"
    } else {
        "not t.shardwright_mapped"
    };
    count_rows_by_key(
        client,
        &task.key,
        table,
        &format!("({misplaced_rows})"),
        condition,
    )
    .await
}

/// Counts rows by shard key: those of `from`, under the alias `t`, that satisfy `condition`. Returns the first keys in
/// the order of their text.
async fn count_rows_by_key(
    client: &Connected,
    types: &[KeyType],
    table: &MovingTable,
    from: &str,
    condition: &str,
) -> Result<Vec<KeyRows>, tokio_postgres::Error> {
    let columns: Vec<String> = keys::key_expressions(&table.key, "t")
        .iter()
        .map(|column| format!("{column}::pg_catalog.text"))
        .collect();
    let positions: Vec<String> = (1..=columns.len()).map(|index| index.to_string()).collect();
    let positions = positions.join(", ");
    let rows = client
        .query(
            &format!(
                "select {}, count(*) from {from} t where {condition} group by {positions} order by {positions} limit {MAX_SAMPLE_KEYS}",
                columns.join(", ")
            ),
            &[],
        )
        .await?;
    Ok(rows
        .iter()
        .filter_map(|row| {
            Some(KeyRows {
                key: parse_key(row, types)?,
                rows: row_count(row.get(types.len())),
            })
        })
        .collect())
}

pub(super) fn parse_key(row: &Row, types: &[KeyType]) -> Option<Key> {
    let values: Option<Vec<Key>> = types
        .iter()
        .enumerate()
        .map(|(index, kind)| kind.read(row.get::<_, Option<&str>>(index)?))
        .collect();
    accept(types, &Key::Row(values?)).ok()
}

/// Returns the set of exactly these keys: a list of single-column keys, or ranges of one composite key each.
pub(super) fn key_set_of(keys: &[Key]) -> KeySet {
    if keys.iter().all(|key| key.values().len() == 1) {
        return KeySet::list(keys.iter().cloned());
    }
    let single_key = |key: &Key| KeyRange {
        from: Some(key.clone()),
        to: key.successor(),
    };
    KeySet::Range(keys.iter().map(single_key).collect()).normal()
}

/// Returns those of `keys` that have rows on the shard.
async fn find_present_keys(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
    keys: &[Key],
) -> Result<Vec<KeyRows>, StepError> {
    let wanted_keys = key_set_of(keys);
    let mut sums: Vec<KeyRows> = Vec::new();
    for table in tables {
        let predicate = table.predicate(&wanted_keys, "t");
        let rows = count_rows_by_key(client, &task.key, table, &table.table.sql(), &predicate)
            .await
            .at(format_args!(
                "shard {}: looking for keys in {}",
                task.shard.name, table.table
            ))?;
        for key_rows in rows {
            match sums.iter_mut().find(|sum| sum.key == key_rows.key) {
                Some(sum) => sum.rows += key_rows.rows,
                None => sums.push(key_rows),
            }
        }
    }
    Ok(sums)
}

/// Reads the definitions of all tables that the map lists.
async fn read_schema(
    client: &Connected,
    task: &CheckTask,
) -> Result<Vec<ObservedTable>, StepError> {
    let settings = &task.settings;
    let tables = settings.tables.keys().chain(settings.through.keys());
    let tables = tables.chain(&settings.reference);
    let tables: Vec<TableName> = tables.map(|name| TableName::parse(name)).collect();
    let facts = catalog::facts(client, &tables, RetiredPartitions::OfOwner(&[])).await?;
    Ok(facts
        .into_iter()
        .map(|(table, facts)| ObservedTable {
            table: table.to_string(),
            facts,
        })
        .collect())
}

/// Computes the number of rows and the digest of each reference table that exists.
async fn digest_reference_tables(
    client: &Connected,
    task: &CheckTask,
) -> Result<Vec<ObservedReference>, StepError> {
    let mut result = Vec::new();
    for name in &task.settings.reference {
        let table = TableName::parse(name);
        if let Some(rows) = reference::digest(client, &table).await? {
            result.push(ObservedReference {
                table: table.to_string(),
                rows: row_count(rows.count),
                digest: rows.digest,
            });
        }
    }
    Ok(result)
}

/// Returns the guards of released keys that are missing or altered.
async fn find_broken_guards(
    client: &Connected,
    task: &CheckTask,
    tables: &[MovingTable],
) -> Result<Vec<ObservedGuard>, StepError> {
    let mut broken_guards = Vec::new();
    let Some(keys) = released_keys_check::read_keys(client, &task.map).await? else {
        return Ok(broken_guards);
    };
    for table in tables.iter().filter(|table| table.may_have_rows_of(&keys)) {
        let problems = released_keys_check::find_problems(client, &task.map, &keys, table).await?;
        if !problems.is_empty() {
            broken_guards.push(ObservedGuard {
                table: table.table.clone(),
                problem: problems.join("; "),
                keys: keys.clone(),
            });
        }
    }
    Ok(broken_guards)
}

/// Returns the state of every sequence that supplies values for columns of the tables.
async fn read_sequences(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<ObservedSequence>, StepError> {
    let mut result = Vec::new();
    for sequence in sequences::list_used_by(client, tables).await? {
        result.push(read_sequence(client, &sequence.name).await?);
    }
    Ok(result)
}

/// Returns the state of one sequence.
pub(super) async fn read_sequence(
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
