//! Lists the unique indexes in which rows with different shard keys can conflict: those that do not contain the whole
//! key.

use connect::Connected;
use plans::survey::SurveyTask;
use plans::table::MovingTable;
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;

/// A unique index by which rows of two shards are compared.
#[derive(Debug)]
pub(super) struct ComparedIndex {
    pub(super) name: String,
    /// The indexed values as SQL expressions. Their texts are equal if the values are equal according to the index.
    pub(super) values: Vec<String>,
    /// The condition of a partial index.
    pub(super) condition: Option<String>,
    pub(super) nulls_conflict: bool,
}

/// Returns the indexes of a table in which moving rows may conflict with rows of the target. Refuses an index whose
/// values cannot be compared.
pub(super) async fn compared_indexes(
    client: &Connected,
    table: &MovingTable,
    task: &SurveyTask,
    findings: &mut Findings,
) -> Result<Vec<ComparedIndex>, StepError> {
    let shard = &task.source.name;
    let rows = client
        .query(
            "select c.relname::text, x.indnullsnotdistinct, pg_catalog.pg_get_expr(x.indpred, x.indrelid),
                    x.indisexclusion or not x.indimmediate,
                    array(select pg_catalog.pg_get_indexdef(x.indexrelid, k, false) from pg_catalog.generate_series(1, x.indnkeyatts) k order by k),
                    array(select coalesce(a.attname::text, '') from pg_catalog.generate_series(0, x.indnkeyatts - 1) k
                          left join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[k] order by k),
                    array(select case when t.typtype = 'e' then 'enum'
                                      when not coalesce(co.collisdeterministic, true) then 'collated'
                                      else t.typname::text end
                          from pg_catalog.pg_attribute a
                          join pg_catalog.pg_type t on t.oid = a.atttypid
                          left join pg_catalog.pg_collation co on co.oid = a.attcollation
                          where a.attrelid = x.indexrelid and a.attnum <= x.indnkeyatts order by a.attnum)
             from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indexrelid
             where x.indrelid = pg_catalog.to_regclass($1) and (x.indisunique or x.indisexclusion)
             order by 1",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: reading unique indexes of {}", table.table))?;
    let key = table.key_names();
    let mut found = Vec::new();
    for row in &rows {
        let columns: Vec<String> = row.get(5);
        let has_whole_key =
            !key.is_empty() && key.iter().all(|name| columns.iter().any(|c| c == name));
        if has_whole_key {
            continue;
        }
        match compared_index(row) {
            Some(index) => found.push(index),
            None => {
                let (name, target) = (row.get::<_, String>(0), &task.target.name);
                findings.add_refusal(
                    "target.clash_unknown",
                    format!("shard {target}, constraint {name} of {}", table.table),
                    "Shardwright cannot find out whether rows of both shards conflict in it",
                    format!("add the columns of the shard key to {name}, or drop it for the time of the move"),
                );
            }
        }
    }
    Ok(found)
}

fn compared_index(row: &Row) -> Option<ComparedIndex> {
    if row.get(3) {
        return None;
    }
    let (expressions, types): (Vec<String>, Vec<String>) = (row.get(4), row.get(6));
    let values: Option<Vec<String>> = expressions
        .iter()
        .zip(&types)
        .map(|(expression, kind)| canonical_text(expression, kind))
        .collect();
    Some(ComparedIndex {
        name: row.get(0),
        values: values?,
        condition: row.get(2),
        nulls_conflict: row.get(1),
    })
}

/// Returns an SQL expression whose text is the same for equal values. `None` for types for which there is no such text.
fn canonical_text(expression: &str, kind: &str) -> Option<String> {
    let exact = [
        "int2",
        "int4",
        "int8",
        "oid",
        "bool",
        "uuid",
        "bytea",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "name",
        "char",
        "text",
        "varchar",
        "bpchar",
        "enum",
        "inet",
        "macaddr",
    ];
    match kind {
        _ if exact.contains(&kind) => Some(format!("({expression})::pg_catalog.text")),
        "numeric" => Some(format!(
            "pg_catalog.trim_scale({expression})::pg_catalog.text"
        )),
        // Adding zero converts negative zero to positive zero, which is equal to it.
        "float4" | "float8" => Some(format!(
            "(({expression}) operator(pg_catalog.+) 0)::pg_catalog.text"
        )),
        "citext" => Some(format!("pg_catalog.lower(({expression})::pg_catalog.text)")),
        _ => None,
    }
}
