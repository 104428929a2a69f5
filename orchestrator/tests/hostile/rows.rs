//! Where the rows of a case are: on both shards during the hold, and each on one of them afterwards.

use crate::case::Case;
use crate::course::Course;
use plans::sql::{quote_ident, quote_literal};
use plans::table::TableName;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);

/// Digests of rows, sorted, of each table.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// The rows of all tables that the case lists; of a table that is missing, none.
pub(crate) async fn read(course: &Course<'_>, shard: &str) -> Rows {
    let case = course.case;
    let keyed = case.keyed().into_iter().map(|(table, _)| table);
    let tables = keyed.chain(case.through()).chain(case.reference());
    let session = course.fleet.session(shard).await;
    let mut rows = Rows::new();
    for table in tables {
        let there = "select pg_catalog.to_regclass($1) is not null";
        let there = session.query_one(there, &[&table.sql()]).await.unwrap();
        let mut digests = Vec::new();
        if there.get(0) {
            // The conversion to text is the type's own, whatever columns are called.
            let digest = "pg_catalog.md5(row(shardwright_row.*)::pg_catalog.text)";
            let query = format!(
                "select array(select {digest} from {} shardwright_row order by 1)",
                table.sql()
            );
            digests = session.query_one(&query, &[]).await.unwrap().get(0);
        }
        rows.insert(table.to_string(), digests);
    }
    session.close().await;
    rows
}

/// Waits until the source has all rows of the model, and the target those of the moved keys.
pub(crate) async fn in_step(course: &Course<'_>) {
    let expected = read(course, &course.model).await;
    let begun = Instant::now();
    loop {
        let source = read(course, &course.source).await;
        if source == expected {
            break;
        }
        let differs = || first_difference(&source, &expected);
        assert!(
            begun.elapsed() < LIMIT,
            "the source did not follow: {}",
            differs()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The first table whose rows differ, with their numbers.
fn first_difference(found: &Rows, expected: &Rows) -> String {
    let differs = expected
        .iter()
        .find(|(table, rows)| found.get(*table) != Some(rows));
    let Some((table, rows)) = differs else {
        return "no table of the case".to_owned();
    };
    let there = found.get(table).map_or(&[][..], Vec::as_slice);
    let missing = rows.iter().filter(|row| !there.contains(row)).count();
    format!(
        "{table} has {} rows in the place of {}, {missing} are missing or others",
        there.len(),
        rows.len()
    )
}

/// Each row is on the side that owns it, and on no other.
pub(crate) async fn moved(course: &Course<'_>, already: &Rows) {
    let case = course.case;
    let expected = read(course, &course.model).await;
    let (source, target) = (
        read(course, &course.source).await,
        read(course, &course.target).await,
    );
    let reference: Vec<String> = case.reference().iter().map(ToString::to_string).collect();
    for (table, rows) in &expected {
        if reference.contains(table) {
            assert_eq!(
                (&source[table], &target[table]),
                (rows, rows),
                "reference table {table}"
            );
            continue;
        }
        let (mut all, mut wanted) = (source[table].clone(), rows.clone());
        all.extend(target[table].iter().cloned());
        wanted.extend(already[table].iter().cloned());
        all.sort();
        wanted.sort();
        assert!(
            all == wanted,
            "{table}: {} rows and {} rows are not the {} of before",
            source[table].len(),
            target[table].len(),
            wanted.len()
        );
    }
    for (table, columns) in case.keyed() {
        for (shard, wrong) in [(&course.source, "not"), (&course.target, "")] {
            let count = misplaced(case, &table, &columns, wrong);
            let count = course.fleet.number(shard, &count).await;
            assert_eq!(count, 0, "{shard} has rows of {table} that are not its own");
        }
    }
}

/// Counts rows on the wrong side of the cut; those before it, or `not`.
fn misplaced(case: &Case, table: &TableName, columns: &[String], not: &str) -> String {
    let values = case.at.as_array().cloned();
    let values = values.unwrap_or_else(|| vec![case.at.clone()]);
    let typed = |text: &str, kind: &str| {
        let collate = if ["text", "varchar"].contains(&kind) {
            " collate \"C\""
        } else {
            ""
        };
        format!("{text}::{kind}{collate}")
    };
    let key = columns
        .iter()
        .zip(&case.key)
        .map(|(column, kind)| typed(&quote_ident(column), kind));
    let cut = values.iter().zip(&case.key).map(|(value, kind)| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        typed(&quote_literal(&text), kind)
    });
    format!(
        "select count(*) from {} where {not} (row({}) < row({}))",
        table.sql(),
        key.collect::<Vec<_>>().join(", "),
        cut.collect::<Vec<_>>().join(", ")
    )
}
