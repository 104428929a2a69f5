//! Tokens, and sessions of browsers: finds the user or agent (type `Caller`) to whom a presented secret belongs, and
//! the shards that an agent may access.

use super::{ControlError, Controller, clock};
use crate::access::{
    AccessRule, AuditRule, Caller, NewToken, Role, Secret, SecretDigest, has_labels,
};
use crate::store::{SessionRecord, TokenRecord};
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::{AgentName, MigrationId, ShardName};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The user name of the token in the controller's admin token file.
const ADMIN: &str = "admin";
/// For how long tokens are cached. This controller notices within this time that another one created or revoked a
/// token.
const KNOWN_FOR: Duration = Duration::from_secs(2);
/// The duration of a browser session.
const SESSION: TimeDelta = TimeDelta::hours(12);
/// How long a sign-in code is valid.
const CODE_LASTS: TimeDelta = TimeDelta::minutes(5);
/// The longest validity of a token, in days: ten years.
const MOST_DAYS: u32 = 3_650;
/// The largest number of bytes in the name of a token.
const LONGEST_NAME: usize = 63;

/// The cached tokens, by the digest of their secret.
type CachedTokens = Arc<BTreeMap<SecretDigest, TokenRecord>>;

/// The tokens of the store at the last read.
#[derive(Debug, Default)]
pub(super) struct TokenCache(Mutex<Option<(Instant, CachedTokens)>>);

impl TokenCache {
    fn get(&self) -> Option<(Instant, CachedTokens)> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.clone()
    }

    fn put(&self, cached: Option<(Instant, CachedTokens)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cached;
    }
}

/// The session of a browser that has just signed in.
#[derive(Debug)]
pub(crate) struct SignedInBrowser {
    pub(crate) cookie: Secret,
    pub(crate) caller: Caller,
    /// The duration of the session, in seconds.
    pub(crate) lasts: i64,
}

/// The shards that an agent may access; `None` means all.
pub(crate) type ShardReach = Option<BTreeSet<ShardName>>;

impl Controller {
    /// Returns which callers must present a token.
    #[must_use]
    pub fn rule(&self) -> AccessRule {
        self.inner.settings.rule
    }

    /// Returns what happens to a command that cannot be recorded in the audit trail.
    #[must_use]
    pub fn audit_rule(&self) -> AuditRule {
        self.inner.settings.audit
    }

    /// Returns whether this process refuses all changes by users. Agents continue to work.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.inner.settings.read_only
    }

    /// Creates a token. Only the returned value contains the secret; the store keeps its digest.
    ///
    /// # Errors
    /// [`ControlError::Invalid`], a name that exists already, or an error of the store.
    pub async fn create_token(
        &self,
        new: &NewToken,
        actor: &str,
    ) -> Result<(TokenRecord, Secret), ControlError> {
        check_new_token(new)?;
        let (secret, now) = (Secret::random(), clock());
        let record = TokenRecord {
            id: uuid::Uuid::now_v7().to_string(),
            name: new.name.clone(),
            role: new.role,
            labels: new.labels.clone(),
            digest: secret.digest(),
            created_at: now,
            created_by: actor.to_owned(),
            ends_at: new.days.map(|days| now + TimeDelta::days(days.into())),
            revoked_at: None,
            revoked_by: None,
        };
        self.inner.store.add_token(&record).await?;
        self.inner.tokens.put(None);
        let data =
            json!({ "role": record.role, "labels": record.labels, "ends_at": record.ends_at });
        let object = format!("token {}", record.name);
        self.audit(actor, "token.created", object, data).await?;
        Ok((record, secret))
    }

    /// Revokes a token and its sessions.
    ///
    /// # Errors
    /// The token does not exist, or the store failed.
    pub async fn revoke_token(
        &self,
        name: &str,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<TokenRecord, ControlError> {
        let record = self.inner.store.revoke_token(name, actor, clock()).await?;
        self.inner.tokens.put(None);
        let object = format!("token {name}");
        let data = json!({ "role": record.role, "reason": reason });
        self.audit(actor, "token.revoked", object, data).await?;
        Ok(record)
    }

    /// Returns the user to whom the token with this secret belongs; `None` if the token is not valid.
    pub(crate) async fn visitor_of_secret(
        &self,
        secret: &Secret,
    ) -> Result<Option<Caller>, ControlError> {
        match self.token_id(secret).await? {
            Some(token) => self.caller_of(&token).await,
            None => Ok(None),
        }
    }

    /// Returns the user of the session with this cookie; `None` if there is no valid session.
    pub(crate) async fn signed_in(&self, cookie: &Secret) -> Result<Option<Caller>, ControlError> {
        if !cookie.is_cookie() {
            return Ok(None);
        }
        let Some(session) = self.session(cookie).await? else {
            return Ok(None);
        };
        let caller = self.caller_of(&session.token).await?;
        let csrf = Some(cookie.csrf());
        Ok(caller.map(|caller| Caller { csrf, ..caller }))
    }

    /// Starts a session for a user's token or a sign-in code; `None` if it is not valid.
    pub(crate) async fn sign_in(
        &self,
        secret: &Secret,
    ) -> Result<Option<SignedInBrowser>, ControlError> {
        let token = match secret.is_code() {
            true => self.redeem(secret).await?,
            false => self.token_id(secret).await?,
        };
        let Some(token) = token else { return Ok(None) };
        let Some(caller) = self
            .caller_of(&token)
            .await?
            .filter(|v| v.role.is_for_people())
        else {
            return Ok(None);
        };
        let cookie = Secret::random();
        self.begin_session(&cookie, token, SESSION).await?;
        Ok(Some(SignedInBrowser {
            caller: Caller {
                csrf: Some(cookie.csrf()),
                ..caller
            },
            cookie,
            lasts: SESSION.num_seconds(),
        }))
    }

    /// Returns a code with which the user's browser can sign in once within five minutes; `None` if no token is
    /// required.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn sign_in_code(
        &self,
        caller: &Caller,
    ) -> Result<Option<(Secret, DateTime<Utc>)>, ControlError> {
        let token = if caller.name == ADMIN && self.inner.settings.admin.is_some() {
            Some(ADMIN.to_owned())
        } else {
            let cached = self.cached_tokens().await?;
            let mut good = cached.values().filter(|token| token.is_good(clock()));
            let own = good.find(|token| token.name == caller.name);
            own.map(|token| token.id.clone())
        };
        let Some(token) = token.filter(|_| self.rule() == AccessRule::Tokens) else {
            return Ok(None);
        };
        let code = Secret::code();
        let ends_at = self.begin_session(&code, token, CODE_LASTS).await?;
        Ok(Some((code, ends_at)))
    }

    /// Returns the token for which a sign-in code was issued, and invalidates the code.
    async fn redeem(&self, code: &Secret) -> Result<Option<String>, ControlError> {
        let Some(session) = self.session(code).await? else {
            return Ok(None);
        };
        let ended = self.inner.store.end_session(code.digest()).await?;
        Ok(ended.then_some(session.token))
    }

    /// Returns the id of the token with this secret.
    async fn token_id(&self, secret: &Secret) -> Result<Option<String>, ControlError> {
        let digest = secret.digest();
        if self.inner.settings.admin == Some(digest) {
            return Ok(Some(ADMIN.to_owned()));
        }
        let cached = self.cached_tokens().await?;
        Ok(cached.get(&digest).map(|token| token.id.clone()))
    }

    /// Returns the user of a token, if the token is valid.
    async fn caller_of(&self, token: &str) -> Result<Option<Caller>, ControlError> {
        if token == ADMIN && self.inner.settings.admin.is_some() {
            return Ok(Some(self.admin()));
        }
        let cached = self.cached_tokens().await?;
        let mut good = cached.values().filter(|cached| cached.is_good(clock()));
        Ok(good
            .find(|cached| cached.id == token)
            .map(|cached| self.caller(cached)))
    }

    /// Returns the session of a cookie or a sign-in code, unless it has ended.
    async fn session(&self, secret: &Secret) -> Result<Option<SessionRecord>, ControlError> {
        let session = self.inner.store.session(secret.digest()).await?;
        Ok(session.filter(|session| clock() < session.ends_at))
    }

    async fn begin_session(
        &self,
        secret: &Secret,
        token: String,
        lasts: TimeDelta,
    ) -> Result<DateTime<Utc>, ControlError> {
        let started_at = clock();
        let session = SessionRecord {
            digest: secret.digest(),
            token,
            started_at,
            ends_at: started_at + lasts,
        };
        self.inner.store.add_session(&session).await?;
        Ok(session.ends_at)
    }

    /// Ends a session.
    pub(crate) async fn sign_out(&self, cookie: &Secret) -> Result<(), ControlError> {
        self.inner.store.end_session(cookie.digest()).await?;
        Ok(())
    }

    /// Returns the shards that `caller` may access; `None` if all. Fails if the token of one agent is used under the
    /// name of another agent, `agent`.
    pub(crate) async fn permitted_shards(
        &self,
        caller: &Caller,
        agent: Option<&AgentName>,
    ) -> Result<ShardReach, ControlError> {
        let named = agent.filter(|_| caller.role == Role::Agent);
        if let Some(agent) = named.filter(|agent| agent.as_str() != caller.name) {
            let (agent, token_agent) = (agent.clone(), caller.name.clone());
            return Err(ControlError::OtherAgent { agent, token_agent });
        }
        if caller.labels.is_empty() {
            return Ok(None);
        }
        let shards = self.inner.store.shards().await?.into_iter();
        let covered = shards.filter(|shard| has_labels(&caller.labels, &shard.labels));
        Ok(Some(covered.map(|shard| shard.name).collect()))
    }

    /// Refuses a migration if one of its shards is not in `reach`.
    pub(crate) async fn check_reach(
        &self,
        reach: &ShardReach,
        id: &MigrationId,
    ) -> Result<(), ControlError> {
        let Some(shards) = reach else { return Ok(()) };
        let snapshot = self.load(id).await?;
        let moving = &snapshot.migration.plan.moving;
        let sides = [&moving.source, &moving.target];
        match sides.into_iter().find(|side| !shards.contains(*side)) {
            None => Ok(()),
            Some(shard) => Err(ControlError::OutOfReach {
                migration: id.clone(),
                shard: shard.clone(),
            }),
        }
    }

    /// Returns the user of the token in the admin token file. The store has no record of this token.
    fn admin(&self) -> Caller {
        Caller::without_token(ADMIN, self.is_read_only())
    }

    fn caller(&self, token: &TokenRecord) -> Caller {
        Caller {
            name: token.name.clone(),
            role: token.role,
            labels: token.labels.clone(),
            csrf: None,
            read_only: self.is_read_only(),
        }
    }

    /// Returns the tokens from the cache, or reads them. If the store cannot be read, the tokens of the last read
    /// count.
    async fn cached_tokens(&self) -> Result<CachedTokens, ControlError> {
        let known = self.inner.tokens.get();
        if let Some((at, cached)) = &known
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(Arc::clone(cached));
        }
        match self.inner.store.tokens().await {
            Ok(read) => {
                let read = read.into_iter().map(|token| (token.digest, token));
                let cached = Arc::new(read.collect());
                self.inner
                    .tokens
                    .put(Some((Instant::now(), Arc::clone(&cached))));
                Ok(cached)
            }
            Err(error) => known.map(|(_, cached)| cached).ok_or_else(|| error.into()),
        }
    }
}

/// Checks the fields of a new token.
fn check_new_token(new: &NewToken) -> Result<(), ControlError> {
    let invalid = |what: &str| {
        Err(ControlError::Invalid {
            what: what.to_owned(),
        })
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    // In a URL path, a segment that consists only of dots refers to another folder.
    let more_than_dots = new.name.chars().any(|c| c != '.');
    if !more_than_dots || new.name.len() > LONGEST_NAME || !new.name.chars().all(plain) {
        return invalid(
            "the name of a token has 1 to 63 letters, digits, '.', '_', '-' or '@', and not only dots",
        );
    }
    if new.name == ADMIN {
        return invalid("the name admin is reserved for the token in the admin token file");
    }
    if new.role != Role::Agent && !new.labels.is_empty() {
        return invalid("only an agent's token can have labels");
    }
    if new
        .days
        .is_some_and(|days| !(1..=MOST_DAYS).contains(&days))
    {
        return invalid("a token is valid for 1 to 3650 days, or without a limit");
    }
    Ok(())
}
