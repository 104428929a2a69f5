//! The report of a comparison, from its records on the downstream shard.

use connect::Connected;
use plans::names::Direction;
use plans::step::verify::{
    DifferenceKind, DifferenceReport, ROWS_NAMED, RowDifference, TableDifferences,
};
use tokio_postgres::Row;

use super::parse_key;
use crate::error::{StepError, WithIntent};

/// Reads the report of the last comparison in `direction` from the downstream shard; `None` if there is none.
pub(crate) async fn read_report(
    client: &Connected,
    migration: &str,
    direction: Direction,
) -> Result<Option<DifferenceReport>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the records of a comparison");
    let name = direction.to_string();
    let run = client
        .query_opt(
            "select run, repaired,
                    pg_catalog.to_char(started_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                    pg_catalog.to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),
                    (select pg_catalog.min(compared_at)::text from shardwright.verified c
                     where c.migration = v.migration and c.direction = v.direction),
                    (select pg_catalog.count(compared_at) from shardwright.verified c
                     where c.migration = v.migration and c.direction = v.direction),
                    (select pg_catalog.count(*) from shardwright.verified c
                     where c.migration = v.migration and c.direction = v.direction)
             from shardwright.verification v where migration = $1 and direction = $2",
            &[&migration, &name],
        )
        .await
        .at(&what)?;
    let Some(run) = run else { return Ok(None) };
    let rows = client
        .query(
            "select relation, pg_catalog.sum(rows)::int8, pg_catalog.sum(missing)::int8,
                    pg_catalog.sum(extra)::int8, pg_catalog.sum(changed)::int8
             from shardwright.verified where migration = $1 and direction = $2
             group by relation order by relation",
            &[&migration, &name],
        )
        .await
        .at(&what)?;
    let mut tables = Vec::with_capacity(rows.len());
    for row in rows {
        let table: String = row.get(0);
        let named = read_named_rows(client, migration, &name, &table)
            .await
            .at(&what)?;
        tables.push(TableDifferences {
            rows: row.get(1),
            missing: row.get(2),
            extra: row.get(3),
            changed: row.get(4),
            named,
            table,
        });
    }
    Ok(Some(DifferenceReport {
        direction,
        run: run.get(0),
        started_at: run.get(2),
        finished_at: run.get(3),
        at: run.get(4),
        repaired: run.get(1),
        chunks: run.get(5),
        chunks_total: run.get(6),
        tables,
    }))
}

/// Reads at most [`ROWS_NAMED`] differing rows of a table.
async fn read_named_rows(
    client: &Connected,
    migration: &str,
    direction: &str,
    table: &str,
) -> Result<Vec<RowDifference>, tokio_postgres::Error> {
    let limit = i64::try_from(ROWS_NAMED).unwrap_or(i64::MAX);
    let rows = client
        .query(
            "select key, kind, columns from shardwright.difference
             where migration = $1 and direction = $2 and relation = $3 order by ordinal, key limit $4",
            &[&migration, &direction, &table, &limit],
        )
        .await?;
    let difference = |row: &Row| {
        let kind: String = row.get(1);
        RowDifference {
            key: parse_key(row.get(0)),
            kind: match kind.as_str() {
                "missing" => DifferenceKind::Missing,
                "extra" => DifferenceKind::Extra,
                _ => DifferenceKind::Changed {
                    columns: row.get(2),
                },
            },
        }
    };
    Ok(rows.iter().map(difference).collect())
}
