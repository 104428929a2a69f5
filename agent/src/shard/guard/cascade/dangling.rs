//! Checks that the stream has followed for the rows that cascades have skipped.

use connect::Connected;
use plans::failure::StepCode;
use plans::names::SCHEMA;
use plans::sql::quote_ident;
use plans::table::{MovingTable, TableKey};

use super::{count_skipped, keys};
use crate::error::{StepError, WithIntent};
use crate::shard::epoch::{self, AttemptCount, EpochProof, EpochToken};
use crate::shard::guard::GuardedRows;
use crate::shard::user_code;

/// Returns which rows on the new owner refer to missing rows, by its committed rows at present; `None` if no row was
/// skipped or none does.
pub(crate) async fn find_unfollowed(
    client: &Connected,
    token: &EpochToken,
    guarded: GuardedRows<'_>,
) -> Result<Option<String>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: searching for rows that refer to missing rows");
    match count_skipped(client, &token.migration, &what).await? {
        None | Some(0) => Ok(None),
        Some(_) => find_dangling(client, guarded, &what).await,
    }
}

/// Refuses a cutover while rows on the new owner refer to rows that are missing there: cascades have skipped them, and
/// the stream has not yet carried the change from their owner. Otherwise it resets the counter. Call this after
/// [`super::refuse_skips`], which counted them.
///
/// # Errors
/// `cutover.cascade`, to be tried again, with a table and its foreign key.
pub(crate) async fn check_and_reset(
    client: &Connected,
    token: &EpochToken,
    count: AttemptCount,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: searching for rows that refer to missing rows");
    if let Some(found) = find_dangling(client, guarded, &what).await? {
        return Err(StepError::not_yet(StepCode::CutoverCascade, found));
    }
    let counter = quote_ident(&token.migration.skipped());
    let sql = format!("select pg_catalog.setval('{SCHEMA}.{counter}', 1, false)");
    epoch::transact(client, token, EpochProof::Count(count), &sql, &what)
        .await
        .map(|_| ())
}

/// Returns the first foreign key by which a moving row refers to a missing row.
///
/// It reads both tables as the comparison does: no code of an untrusted owner runs (ADR 49).
async fn find_dangling(
    client: &Connected,
    guarded: GuardedRows<'_>,
    what: &str,
) -> Result<Option<String>, StepError> {
    let GuardedRows { keys, tables } = guarded;
    let shard = client.name();
    let mut found = None;
    for key in keys::find(client, tables, what).await? {
        let table = &tables[key.table];
        let parent = MovingTable::bare(key.parent.clone(), TableKey::Reference);
        client.batch_execute("begin").await.at(what)?;
        let proved = user_code::prove(client, &[table.clone(), parent]).await;
        let sql = format!(
            "select exists (select from only {} t where {} and {})",
            table.table.sql(),
            table.predicate(keys, "t"),
            key.dangling_sql
        );
        let answer = match proved {
            Ok(()) => client.query_one(&sql, &[]).await.at(what),
            Err(error) => Err(error),
        };
        epoch::rollback(client).await;
        if answer?.get(0) {
            found = Some(format!(
                "rows of {} refer by {} to rows of {} that were deleted or changed on shard {shard}, and not yet on the shard that owns the keys: \
                 repeat the statement there",
                table.table, key.name, key.parent
            ));
            break;
        }
    }
    Ok(found)
}
