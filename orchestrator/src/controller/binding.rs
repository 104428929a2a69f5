//! Checks that a call about a migration comes from the agent process that has the migration's lease (`owner` in this
//! file; not a shard that owns keys). The call must come under the token that claimed the migration, and contain the
//! epoch (the number of the lease) and the secret that the controller sent with the step.
//!
//! A caller with the token of any agent can read epochs and process names. Therefore these do not suffice to act for a
//! migration (ADR 48). An agent that uses version 3 of the wire protocol has no secret; only its token is checked.

use super::{ControlError, Controller, NotOwnerReason};
use crate::access::{AccessRule, Caller, SecretDigest};
use crate::store::{LeaseHolder, Migration};
use plans::id::{Epoch, MigrationId};
use plans::wire::{Claim, WireSecret};

/// Stands for the name of the token in the journal if the controller requires no tokens.
pub(crate) const NO_TOKEN: &str = "no token";

/// The name of the caller's token; `None` if the controller requires no tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerTokenName(Option<String>);

impl CallerTokenName {
    /// Returns the name of the token, for the journal and the audit trail.
    pub(crate) fn name(&self) -> &str {
        self.0.as_deref().unwrap_or(NO_TOKEN)
    }

    /// Returns the name of the token as the store records it with the lease: `None` if the controller requires no
    /// tokens.
    pub(super) fn stored_name(&self) -> Option<String> {
        self.0.clone()
    }

    /// Returns whether the token is the one that claimed the migration. If the controller requires no tokens, or
    /// required none at the time of the claim, every token is accepted, and only the secret proves the lease.
    fn may_act_for(&self, owner: &LeaseHolder) -> bool {
        match (&self.0, &owner.token) {
            (Some(own), Some(bound)) => own == bound,
            (None, _) | (_, None) => true,
        }
    }
}

/// What a call contains to prove that the caller has the lease of the migration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseProof<'a> {
    /// The migration.
    pub(crate) migration: &'a MigrationId,
    /// The epoch under which the caller acts; `None` if the call contains no epoch.
    pub(crate) epoch: Option<Epoch>,
    /// The secret that the agent received with the step.
    pub(crate) secret: Option<&'a WireSecret>,
    /// The token of the caller.
    pub(crate) token: &'a CallerTokenName,
}

impl LeaseProof<'_> {
    /// Fails unless the epoch, the token and the secret of the call are those of the migration `m`.
    pub(super) fn check(self, m: &Migration) -> Result<(), ControlError> {
        self.check_epoch_and_holder(m.epoch, m.owner.as_ref())
    }

    /// Fails unless the migration has an owner and the epoch, the token and the secret of the call are right. A call
    /// without an epoch is checked by token and secret. `current` is the current epoch.
    pub(super) fn check_epoch_and_holder(
        self,
        current: Epoch,
        owner: Option<&LeaseHolder>,
    ) -> Result<(), ControlError> {
        match owner {
            Some(owner) if self.epoch.is_none_or(|epoch| epoch == current) => {
                self.check_token_and_secret(owner, current)
            }
            Some(_) | None => Err(ControlError::StaleEpoch {
                migration: self.migration.clone(),
                theirs: self.epoch.unwrap_or(current),
                current,
            }),
        }
    }

    /// Fails unless the token and the secret of the call are those of `owner`. Does not compare epochs: `epoch` is only
    /// part of the error.
    pub(super) fn check_token_and_secret(
        self,
        owner: &LeaseHolder,
        epoch: Epoch,
    ) -> Result<(), ControlError> {
        let Some(why) = self.refusal_reason(owner) else {
            return Ok(());
        };
        Err(ControlError::NotOwner {
            migration: self.migration.clone(),
            epoch,
            agent: owner.agent.clone(),
            why,
        })
    }

    /// Returns why the token or the secret of the call is not the owner's; `None` if both are.
    fn refusal_reason(self, owner: &LeaseHolder) -> Option<NotOwnerReason> {
        if !self.token.may_act_for(owner) {
            return Some(NotOwnerReason::Token(self.token.name().to_owned()));
        }
        let bound = owner.secret.as_ref()?;
        match self.secret {
            None => Some(NotOwnerReason::NoSecret),
            Some(shown) => (!SecretDigest::of_wire(shown).is_equal(bound))
                .then_some(NotOwnerReason::OtherSecret),
        }
    }
}

/// Returns whether the process that claims work is the owner: agent name, instance and token are the same. The
/// controller has already checked the key of the process, which proves that the claim comes from `instance`.
pub(super) fn is_lease_holder(owner: &LeaseHolder, claim: &Claim, token: &CallerTokenName) -> bool {
    (&owner.agent, &owner.instance) == (&claim.agent, &claim.instance) && token.may_act_for(owner)
}

/// Returns whether a claim contains the secret of a migration that its process owns; `true` if the migration has no
/// secret.
pub(super) fn shows_secret(m: &Migration, owner: &LeaseHolder, claim: &Claim) -> bool {
    owner.secret.as_ref().is_none_or(|bound| {
        let shown = claim.secret_of(&m.id);
        shown.is_some_and(|shown| SecretDigest::of_wire(shown).is_equal(bound))
    })
}

impl Controller {
    /// Returns the name of the token under which `caller` (the authenticated user or agent) calls.
    pub(crate) fn token_of(&self, caller: &Caller) -> CallerTokenName {
        CallerTokenName((self.rule() == AccessRule::Tokens).then(|| caller.name.clone()))
    }

    /// Loads the migration and fails unless the caller has its lease.
    pub(crate) async fn check_owner(&self, proof: LeaseProof<'_>) -> Result<(), ControlError> {
        proof.check(&self.load(proof.migration).await?.migration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(token: Option<&str>, secret: Option<&WireSecret>) -> LeaseHolder {
        LeaseHolder {
            agent: "a1".into(),
            instance: "a1-1".into(),
            token: token.map(str::to_owned),
            secret: secret.map(SecretDigest::of_wire),
        }
    }

    fn refusal_reason(
        owner: &LeaseHolder,
        token: Option<&str>,
        secret: Option<&WireSecret>,
    ) -> Option<NotOwnerReason> {
        let token = &CallerTokenName(token.map(str::to_owned));
        let migration = &MigrationId::from("m1");
        let shown = LeaseProof {
            migration,
            epoch: None,
            secret,
            token,
        };
        shown.refusal_reason(owner)
    }

    #[test]
    fn the_owner_shows_its_token_and_its_secret() {
        let [own, other] = [1, 2].map(|bits| WireSecret::from_bits([bits; 32]));
        let bound = owner(Some("a1"), Some(&own));
        assert_eq!(refusal_reason(&bound, Some("a1"), Some(&own)), None);
        let a2 = Some(NotOwnerReason::Token("a2".to_owned()));
        assert_eq!(refusal_reason(&bound, Some("a2"), Some(&own)), a2);
        assert_eq!(
            refusal_reason(&bound, Some("a1"), None),
            Some(NotOwnerReason::NoSecret)
        );
        assert_eq!(
            refusal_reason(&bound, Some("a1"), Some(&other)),
            Some(NotOwnerReason::OtherSecret)
        );
    }

    #[test]
    fn without_tokens_the_secret_alone_says_whose_it_is() {
        let [own, other] = [1, 2].map(|bits| WireSecret::from_bits([bits; 32]));
        let bound = owner(None, Some(&own));
        assert_eq!(refusal_reason(&bound, None, Some(&own)), None);
        assert_eq!(refusal_reason(&bound, Some("a1"), Some(&own)), None);
        assert_eq!(
            refusal_reason(&bound, None, None),
            Some(NotOwnerReason::NoSecret)
        );
        assert_eq!(
            refusal_reason(&bound, None, Some(&other)),
            Some(NotOwnerReason::OtherSecret)
        );
    }

    #[test]
    fn an_agent_of_the_version_before_is_bound_to_its_token() {
        let old = owner(Some("a1"), None);
        assert_eq!(refusal_reason(&old, Some("a1"), None), None);
        assert!(refusal_reason(&old, Some("a2"), None).is_some());
    }
}
