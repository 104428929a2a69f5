//! The publication that a stream reads through, and the proof that it is still the one that was made for it.
//!
//! PostgreSQL 18 leaves out what changes while a publication is missing, and tells nobody; earlier versions end the
//! stream. One that was altered leaves changes out on every version. So what was made is recorded with it, and
//! compared when keys change hands: as long as it is the same, nothing before that moment was left out.

use connect::Connected;
use plans::names::Direction;
use plans::table::{quote_ident, quote_literal};
use tokio_postgres::Client;

use super::epoch::{self, Token};
use crate::error::{At, StepError};

pub(crate) const CHANGED: &str = "publication.changed";

/// What a publication is. Its row has another version when its options were altered, also when they were altered back;
/// each of its tables has another number when it was taken out and put back.
const FORM: &str = "select pg_catalog.md5(row(p.oid, p.xmin, p.puballtables,
      array(select r.oid from pg_catalog.pg_publication_rel r where r.prpubid = p.oid order by r.oid),
      array(select n.oid from pg_catalog.pg_publication_namespace n where n.pnpubid = p.oid order by n.oid))::text)
    from pg_catalog.pg_publication p where p.pubname::text = ";

/// Makes the publication of one direction anew, for these tables with their row filters, and records it.
pub(crate) async fn create(
    client: &Client,
    token: &Token,
    direction: Direction,
    tables: &[String],
    shard: &str,
) -> Result<(), StepError> {
    let name = token.migration.publication(direction);
    let sql = format!(
        "drop publication if exists {name}; create publication {name} for table {}; \
         update shardwright.move set published = ({FORM}{}) where migration = {}",
        tables.join(", "),
        quote_literal(&name),
        quote_literal(&token.migration.0),
    );
    epoch::execute(client, token, &sql)
        .await
        .at(format_args!("shard {shard}: creating publication {name}"))
}

/// Drops a publication if it is there; with `token` its statements prove the epoch.
///
/// Its tables are taken out of it first: a write looks up which publications a table has, and then each of them, and
/// fails where one is gone in between (`cache lookup failed for publication`).
pub(crate) async fn drop(
    client: &Client,
    token: Option<&Token>,
    name: &str,
    shard: &str,
) -> Result<(), StepError> {
    let what = format!("shard {shard}: dropping publication {name}");
    let tables = client
        .query_one(
            "select pg_catalog.string_agg(pg_catalog.format('only %I.%I', n.nspname, c.relname), ', ')
             from pg_catalog.pg_publication p
             join pg_catalog.pg_publication_rel r on r.prpubid = p.oid
             join pg_catalog.pg_class c on c.oid = r.prrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where p.pubname = $1",
            &[&name],
        )
        .await
        .at(&what)?;
    let quoted = quote_ident(name);
    if let Some(tables) = tables.get::<_, Option<String>>(0) {
        let sql = format!(
            "set local lock_timeout = '1s'; alter publication {quoted} drop table {tables}"
        );
        if let Err(error) = run(client, token, &sql).await {
            tracing::debug!(publication = name, %error, "it is dropped with its tables");
        }
    }
    let sql = format!("drop publication if exists {quoted}");
    run(client, token, &sql).await.at(&what)
}

/// Runs `sql` in a transaction of its own.
async fn run(
    client: &Client,
    token: Option<&Token>,
    sql: &str,
) -> Result<(), tokio_postgres::Error> {
    let Some(token) = token else {
        let done = client.batch_execute(&format!("begin; {sql}; commit")).await;
        if done.is_err() {
            epoch::rollback(client).await;
        }
        return done;
    };
    epoch::execute(client, token, sql).await
}

/// Refuses unless the publication is there as it was made.
pub(crate) async fn check(
    client: &Connected,
    token: &Token,
    direction: Direction,
    shard: &str,
) -> Result<(), StepError> {
    let name = token.migration.publication(direction);
    let sql = format!(
        "select coalesce((select published from shardwright.move where migration = $1) = ({FORM}$2), false)"
    );
    let rows = client
        .query_prepared(&sql, &[&token.migration.0, &name])
        .await
        .at(format_args!("shard {shard}: reading publication {name}"))?;
    if rows[0].get(0) {
        return Ok(());
    }
    Err(StepError::refused(
        CHANGED,
        format!(
            "shard {shard}: publication {name} was dropped or altered, so changes may be missing on the other shard"
        ),
        "`abort` it and plan it again",
    ))
}
