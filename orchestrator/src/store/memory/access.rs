//! Access tokens and dashboard sessions in memory.

use super::MemoryStore;
use super::state::MemoryState;
use super::{exists_error, missing_error};
use crate::access::SecretDigest;
use crate::store::{
    AccessStore, AuditLine, AuditRecord, SessionRecord, StoreError, StoreFuture, TokenRecord,
};
use chrono::{DateTime, Utc};

impl MemoryState {
    pub(super) fn add_token(&mut self, token: &TokenRecord) -> Result<(), StoreError> {
        let mut valid = self.tokens.iter().filter(|t| t.revoked_at.is_none());
        if valid.any(|known| known.name.eq_ignore_ascii_case(&token.name)) {
            return Err(exists_error("token", &token.name));
        }
        self.tokens.push(token.clone());
        Ok(())
    }

    pub(super) fn revoke_token(
        &mut self,
        name: &str,
        by: &str,
        at: DateTime<Utc>,
    ) -> Result<TokenRecord, StoreError> {
        let mut valid = self.tokens.iter_mut().filter(|t| t.revoked_at.is_none());
        let token = valid.find(|token| token.name == name);
        let token = token.ok_or_else(|| missing_error("token", name))?;
        token.revoked_at = Some(at);
        token.revoked_by = Some(by.to_owned());
        Ok(token.clone())
    }

    pub(super) fn add_session(&mut self, session: &SessionRecord) {
        let now = session.started_at;
        self.sessions.retain(|_, known| now < known.ends_at);
        self.sessions.insert(session.digest, session.clone());
    }
}

impl AccessStore for MemoryStore {
    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.audit.push(record.clone());
            Ok(())
        })
    }

    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>> {
        self.run(|state| {
            let lines = (1..).zip(&state.audit).map(|(line, record)| AuditLine {
                line,
                record: record.clone(),
            });
            let lines = lines.filter(|line| before.is_none_or(|before| line.line < before));
            let mut lines: Vec<AuditLine> = lines.collect();
            lines.reverse();
            lines.truncate(usize::try_from(limit).unwrap_or_default());
            Ok(lines)
        })
    }

    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()> {
        self.write(|state| state.add_token(token))
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>> {
        self.run(|state| Ok(state.tokens.clone()))
    }

    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord> {
        self.write(|state| state.revoke_token(name, by, at))
    }

    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()> {
        self.write(|state| {
            state.add_session(session);
            Ok(())
        })
    }

    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>> {
        self.run(|state| Ok(state.sessions.get(&digest).cloned()))
    }

    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool> {
        self.write(|state| Ok(state.sessions.remove(&digest).is_some()))
    }
}
