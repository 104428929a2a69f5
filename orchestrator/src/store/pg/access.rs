//! Access tokens, dashboard sessions and the audit trail.

use super::PgStore;
use super::rows::{exists_error, missing_error, unknown_word_error};
use crate::access::{Role, SecretDigest};
use crate::store::{
    AccessStore, AuditLine, AuditRecord, SessionRecord, StoreError, StoreFuture, TokenRecord,
};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::types::Json;
use std::collections::BTreeMap;

const COLUMNS: &str =
    "id, name, role, labels, digest, created_at, created_by, ends_at, revoked_at, revoked_by";

#[derive(sqlx::FromRow)]
struct StoredToken {
    id: String,
    name: String,
    role: String,
    labels: Json<BTreeMap<String, String>>,
    digest: Vec<u8>,
    created_at: DateTime<Utc>,
    created_by: String,
    ends_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    revoked_by: Option<String>,
}

impl TryFrom<StoredToken> for TokenRecord {
    type Error = StoreError;

    fn try_from(row: StoredToken) -> Result<Self, StoreError> {
        let role = row.role.parse::<Role>();
        let digest = <[u8; 32]>::try_from(row.digest);
        Ok(Self {
            id: row.id,
            name: row.name,
            role: role.map_err(|_| unknown_word_error("role", &row.role))?,
            labels: row.labels.0,
            digest: SecretDigest(
                digest.map_err(|_| unknown_word_error("digest", "of another length"))?,
            ),
            created_at: row.created_at,
            created_by: row.created_by,
            ends_at: row.ends_at,
            revoked_at: row.revoked_at,
            revoked_by: row.revoked_by,
        })
    }
}

#[derive(sqlx::FromRow)]
struct StoredAuditLine {
    id: i64,
    at: DateTime<Utc>,
    actor: String,
    action: String,
    object: String,
    data: Value,
}

impl PgStore {
    async fn insert_token(&self, token: &TokenRecord) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        // The lock makes the check for an existing name safe. A unique index cannot: names that differ only in case
        // count as equal, and older stores can already contain both.
        sqlx::query("lock table token in share row exclusive mode")
            .execute(&mut *transaction)
            .await?;
        let inserted = sqlx::query(
            "insert into token (id, name, role, labels, digest, created_at, created_by, ends_at) \
             select $1, $2, $3, $4, $5, $6, $7, $8 where not exists \
             (select from token where lower(name) = lower($2) and revoked_at is null)",
        )
        .bind(&token.id)
        .bind(&token.name)
        .bind(token.role.name())
        .bind(Json(&token.labels))
        .bind(&token.digest.0[..])
        .bind(token.created_at)
        .bind(&token.created_by)
        .bind(token.ends_at)
        .execute(&mut *transaction)
        .await?;
        if inserted.rows_affected() == 0 {
            return Err(exists_error("token", &token.name));
        }
        Ok(transaction.commit().await?)
    }

    async fn select_tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let text = format!("select {COLUMNS} from token order by created_at, id");
        let rows: Vec<StoredToken> = sqlx::query_as(sqlx::AssertSqlSafe(text))
            .fetch_all(&self.pool)
            .await?;
        rows.into_iter().map(TokenRecord::try_from).collect()
    }

    async fn update_revoked(
        &self,
        name: &str,
        by: &str,
        at: DateTime<Utc>,
    ) -> Result<TokenRecord, StoreError> {
        let mut transaction = self.begin().await?;
        let text = format!(
            "update token set revoked_at = $3, revoked_by = $2 \
             where name = $1 and revoked_at is null returning {COLUMNS}"
        );
        let row: Option<StoredToken> = sqlx::query_as(sqlx::AssertSqlSafe(text))
            .bind(name)
            .bind(by)
            .bind(at)
            .fetch_optional(&mut *transaction)
            .await?;
        let token = row
            .ok_or_else(|| missing_error("token", name))?
            .try_into()?;
        transaction.commit().await?;
        Ok(token)
    }

    async fn insert_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("delete from session where ends_at <= $1")
            .bind(session.started_at)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "insert into session (digest, token, started_at, ends_at) values ($1, $2, $3, $4)",
        )
        .bind(&session.digest.0[..])
        .bind(&session.token)
        .bind(session.started_at)
        .bind(session.ends_at)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_session(
        &self,
        wanted: SecretDigest,
    ) -> Result<Option<SessionRecord>, StoreError> {
        let row: Option<(String, DateTime<Utc>, DateTime<Utc>)> =
            sqlx::query_as("select token, started_at, ends_at from session where digest = $1")
                .bind(&wanted.0[..])
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(token, started_at, ends_at)| SessionRecord {
            digest: wanted,
            token,
            started_at,
            ends_at,
        }))
    }

    async fn delete_session(&self, ended: SecretDigest) -> Result<bool, StoreError> {
        let mut transaction = self.begin().await?;
        let deleted = sqlx::query("delete from session where digest = $1")
            .bind(&ended.0[..])
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(deleted.rows_affected() == 1)
    }

    async fn insert_audit(&self, record: &AuditRecord) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "insert into audit (at, actor, action, object, data) values ($1, $2, $3, $4, $5)",
        )
        .bind(record.at)
        .bind(&record.actor)
        .bind(&record.action)
        .bind(&record.object)
        .bind(&record.data)
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    async fn select_audit(
        &self,
        limit: i64,
        before: Option<i64>,
    ) -> Result<Vec<AuditLine>, StoreError> {
        let rows: Vec<StoredAuditLine> = sqlx::query_as(
            "select id, at, actor, action, object, data from audit \
             where $2::bigint is null or id < $2 order by id desc limit $1",
        )
        .bind(limit)
        .bind(before)
        .fetch_all(&self.pool)
        .await?;
        let line = |row: StoredAuditLine| AuditLine {
            line: row.id,
            record: AuditRecord {
                at: row.at,
                actor: row.actor,
                action: row.action,
                object: row.object,
                data: row.data,
            },
        };
        Ok(rows.into_iter().map(line).collect())
    }
}

impl AccessStore for PgStore {
    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_audit(record))
    }

    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>> {
        Box::pin(self.select_audit(limit, before))
    }

    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_token(token))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>> {
        Box::pin(self.select_tokens())
    }

    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord> {
        Box::pin(self.update_revoked(name, by, at))
    }

    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()> {
        Box::pin(self.insert_session(session))
    }

    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>> {
        Box::pin(self.select_session(digest))
    }

    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool> {
        Box::pin(self.delete_session(digest))
    }
}
