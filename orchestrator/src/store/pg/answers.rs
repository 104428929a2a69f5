//! Commands with an idempotency key.

use super::PgStore;
use super::rows::unknown;
use crate::access::SecretDigest;
use crate::store::answer::KEPT_FOR;
use crate::store::{EarlierCommand, KeptAnswer, KeyedCommand, StoreError};

#[derive(sqlx::FromRow)]
struct StoredCommand {
    fingerprint: Vec<u8>,
    status: Option<i16>,
    kind: Option<String>,
    body: Option<Vec<u8>>,
}

impl TryFrom<StoredCommand> for EarlierCommand {
    type Error = StoreError;

    fn try_from(row: StoredCommand) -> Result<Self, StoreError> {
        let fingerprint = <[u8; 32]>::try_from(row.fingerprint);
        let status = row.status.and_then(|status| u16::try_from(status).ok());
        let answer = status.zip(row.kind).zip(row.body);
        Ok(Self {
            fingerprint: SecretDigest(
                fingerprint.map_err(|_| unknown("digest", "of another length"))?,
            ),
            answer: answer.map(|((status, kind), body)| KeptAnswer { status, kind, body }),
        })
    }
}

impl PgStore {
    pub(super) async fn insert_command(
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

    pub(super) async fn update_answer(
        &self,
        key: SecretDigest,
        answer: &KeptAnswer,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("update keyed_order set status = $2, kind = $3, body = $4 where key = $1")
            .bind(&key.0[..])
            .bind(i16::try_from(answer.status).unwrap_or(i16::MAX))
            .bind(&answer.kind)
            .bind(&answer.body)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    pub(super) async fn delete_command(&self, key: SecretDigest) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from keyed_order where key = $1")
            .bind(&key.0[..])
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}
