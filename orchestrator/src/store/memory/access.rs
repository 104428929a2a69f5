//! Access tokens and dashboard sessions in memory.

use super::state::MemoryState;
use super::{exists, missing};
use crate::store::{SessionRecord, StoreError, TokenRecord};
use chrono::{DateTime, Utc};

impl MemoryState {
    pub(super) fn add_token(&mut self, token: &TokenRecord) -> Result<(), StoreError> {
        let mut valid = self.tokens.iter().filter(|t| t.revoked_at.is_none());
        if valid.any(|known| known.name.eq_ignore_ascii_case(&token.name)) {
            return Err(exists("token", &token.name));
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
        let token = token.ok_or_else(|| missing("token", name))?;
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
