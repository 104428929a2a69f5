//! Sequences are not captured: their values are carried over inside the cutover (C6).

use plans::table::{quote_ident, quote_literal};
use tokio_postgres::Client;

use crate::error::{At, StepError};

/// How many values are left out, so that a client with an old map that still calls nextval on the
/// other side does not meet the new ones.
const MARGIN: i64 = 1000;

/// The sequences of the user's schemas, quoted; read before the fence.
pub(crate) async fn names(client: &Client, shard: &str) -> Result<Vec<String>, StepError> {
    let rows = client
        .query(
            "select n.nspname::text, c.relname::text
             from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where c.relkind = 'S' and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
             order by 1, 2",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: listing sequences"))?;
    Ok(rows
        .iter()
        .map(|row| format!("{}.{}", quote_ident(row.get(0)), quote_ident(row.get(1))))
        .collect())
}

/// Where each sequence stands and its step.
pub(crate) async fn values(
    client: &Client,
    names: &[String],
    shard: &str,
) -> Result<Vec<(String, i64, i64)>, StepError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<String> = names
        .iter()
        .map(|name| {
            let literal = quote_literal(name);
            format!(
                "select {literal}::text, s.last_value, q.seqincrement from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {literal}::pg_catalog.regclass"
            )
        })
        .collect();
    let rows = client
        .query(&parts.join(" union all "), &[])
        .await
        .at(format_args!("shard {shard}: reading sequences"))?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect())
}

/// Sets each sequence past the given value with a margin, never backwards; inside the caller's transaction.
pub(crate) async fn advance(
    client: &Client,
    values: &[(String, i64, i64)],
    shard: &str,
) -> Result<(), StepError> {
    if values.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = values
        .iter()
        .map(|(name, value, step)| {
            let literal = quote_literal(name);
            let past = value.saturating_add(step.saturating_mul(MARGIN));
            let further = if *step > 0 { "greatest" } else { "least" };
            // Within the sequence's own bounds: a margin must not overflow a nearly exhausted sequence.
            format!(
                "select pg_catalog.setval({literal}::pg_catalog.regclass, least(greatest({further}(s.last_value, {past}), q.seqmin), q.seqmax)) from {name} s, pg_catalog.pg_sequence q where q.seqrelid = {literal}::pg_catalog.regclass"
            )
        })
        .collect();
    client
        .batch_execute(&parts.join("; "))
        .await
        .at(format_args!("shard {shard}: setting sequences"))
}
