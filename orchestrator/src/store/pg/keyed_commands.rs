//! Commands that a client sent with an idempotency key, and the HTTP responses to them. The table `keyed_order` has one
//! row per command.

use super::PgStore;
use super::rows::unknown_word_error;
use crate::access::SecretDigest;
use crate::store::keyed_command::KEPT_FOR;
use crate::store::{
    CommandStore, EarlierCommand, KeyedCommand, StoreError, StoreFuture, StoredResponse,
};

/// A row of the table `keyed_order`.
#[derive(sqlx::FromRow)]
struct StoredCommand {
    /// The SHA-256 digest of the request, to recognize another request under the same key.
    fingerprint: Vec<u8>,
    /// The HTTP status of the response; null while the command runs.
    status: Option<i16>,
    /// The content type of the response.
    kind: Option<String>,
    body: Option<Vec<u8>>,
}

impl TryFrom<StoredCommand> for EarlierCommand {
    type Error = StoreError;

    fn try_from(row: StoredCommand) -> Result<Self, StoreError> {
        let fingerprint = <[u8; 32]>::try_from(row.fingerprint);
        let status = row.status.and_then(|status| u16::try_from(status).ok());
        let columns = status.zip(row.kind).zip(row.body);
        Ok(Self {
            fingerprint: SecretDigest(
                fingerprint.map_err(|_| unknown_word_error("digest", "of another length"))?,
            ),
            response: columns.map(|((status, content_type), body)| StoredResponse {
                status,
                content_type,
                body,
            }),
        })
    }
}

impl PgStore {
    /// Deletes the commands that are older than `KEPT_FOR`, then inserts the command. If the store already has a
    /// command with this key, it stays as it is and is returned.
    async fn insert_command(
        &self,
        command: &KeyedCommand,
    ) -> Result<Option<EarlierCommand>, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from keyed_order where begun_at < $1")
            .bind(command.at - KEPT_FOR)
            .execute(&mut *transaction)
            .await?;
        let inserted = sqlx::query(
            "insert into keyed_order (key, fingerprint, begun_at) values ($1, $2, $3) \
             on conflict (key) do nothing",
        )
        .bind(&command.key.0[..])
        .bind(&command.fingerprint.0[..])
        .bind(command.at)
        .execute(&mut *transaction)
        .await?;
        let mut earlier: Option<StoredCommand> = None;
        if inserted.rows_affected() == 0 {
            let known = sqlx::query_as(
                "select fingerprint, status, kind, body from keyed_order where key = $1",
            );
            let known = known.bind(&command.key.0[..]);
            earlier = known.fetch_optional(&mut *transaction).await?;
        }
        transaction.commit().await?;
        earlier.map(EarlierCommand::try_from).transpose()
    }

    /// Stores the response to the command with this key.
    async fn update_response(
        &self,
        key: SecretDigest,
        response: &StoredResponse,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("update keyed_order set status = $2, kind = $3, body = $4 where key = $1")
            .bind(&key.0[..])
            .bind(i16::try_from(response.status).unwrap_or(i16::MAX))
            .bind(&response.content_type)
            .bind(&response.body)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Deletes the command with this key.
    async fn delete_command(&self, key: SecretDigest) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from keyed_order where key = $1")
            .bind(&key.0[..])
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}

impl CommandStore for PgStore {
    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>> {
        Box::pin(self.insert_command(command))
    }

    fn store_response<'a>(
        &'a self,
        key: SecretDigest,
        response: &'a StoredResponse,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.update_response(key, response))
    }

    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()> {
        Box::pin(self.delete_command(key))
    }
}
