//! The properties.

use stateright::Property;

use super::Seeding;
use super::actions::SeedAction;
use super::state::{KEYS, Promoter, SeedKeys, SeedPhase, SeedRegister, SeedState};
use crate::check::Protocol;

pub(super) const ONE_OWNER: &str = "I1 at most one server accepts writes to a key";
pub(super) const CLEAN: &str = "I1 a target has accepted no write before the flip";
pub(super) const CLOSED_AT_PROMOTION: &str =
    "I1 a standby that the agent promotes accepts no write";
pub(super) const EQUAL: &str = "I2 the target equals the source at its progress";
pub(super) const ON_TARGET: &str = "I2 an open target holds every write of the source once";
pub(super) const ONCE: &str = "I2 each applied change touches exactly one row";
pub(super) const NO_PREPARED: &str = "I2 a target has no prepared transaction of the source";
pub(super) const CONFIRMED: &str = "I3 the confirmed position never passes the target's progress";
pub(super) const FLIPPED: &str =
    "I5 a clone accepts writes only after the flip, and only to moving keys";
pub(super) const UNBLOCKED: &str =
    "I9 the source is closed only by a seal, or by a failover while its register is bound";
pub(super) const CAN_OPEN: &str =
    "I9 an agent can open a source that has failed over, whatever the standby does";
pub(super) const OPEN_AGAIN: &str = "I9 in the end each key is open on one server";

pub(super) fn properties() -> Vec<Property<Seeding>> {
    let mut properties = always();
    properties.extend(sometimes());
    properties
}

fn always() -> Vec<Property<Seeding>> {
    vec![
        Property::always(ONE_OWNER, |_, s: &SeedState| {
            !is_ours(s)
                || !KEYS
                    .iter()
                    .any(|keys| s.source_accepts(*keys) && s.clone.accepts(*keys))
        }),
        Property::always(CLEAN, |_, s: &SeedState| {
            !(s.clone.target && s.clone.written)
        }),
        Property::always(CLOSED_AT_PROMOTION, |_, s: &SeedState| !s.exposed),
        Property::always(EQUAL, |_, s: &SeedState| {
            !s.clone.target || s.clone.meddled || s.source.timeline != 1 || s.is_equal()
        }),
        Property::always(ON_TARGET, |_, s: &SeedState| {
            s.phase != SeedPhase::Opened
                || s.clone.database.rows == s.source.committed(s.source.end())
        }),
        Property::always(ONCE, |_, s: &SeedState| !s.doubled),
        Property::always(NO_PREPARED, |_, s: &SeedState| {
            !s.clone.target || s.clone.database.prepared == 0
        }),
        Property::always(CONFIRMED, |_, s: &SeedState| {
            !s.clone.target || s.confirmed <= s.clone.progress
        }),
        Property::always(FLIPPED, |_, s: &SeedState| {
            !is_ours(s)
                || !s.clone.accepts(SeedKeys::Staying)
                    && (!s.clone.accepts(SeedKeys::Moving) || s.phase.has_flipped())
        }),
        Property::always(UNBLOCKED, |_, s: &SeedState| {
            let sealed = s.source.database().register == SeedRegister::Closed;
            s.blocked
                || s.source_accepts(SeedKeys::Staying)
                    && (sealed || s.source_accepts(SeedKeys::Moving))
        }),
        Property::always(CAN_OPEN, |m: &Seeding, s: &SeedState| {
            let refuses = s.source.timeline != 1 && KEYS.iter().any(|k| !s.source_accepts(*k));
            let opens =
                |action: &SeedAction| matches!(action, SeedAction::Abort | SeedAction::BindAgain);
            !refuses || m.possible_actions(s).iter().any(opens)
        }),
        Property::always(OPEN_AGAIN, |m: &Seeding, s: &SeedState| {
            let moving = s.source_accepts(SeedKeys::Moving)
                != (s.phase.has_flipped() && s.clone.accepts(SeedKeys::Moving));
            !m.possible_actions(s).is_empty() || moving && s.source_accepts(SeedKeys::Staying)
        }),
    ]
}

/// Returns whether the clone belongs to the migration: its row has the intent, and the migration is not aborted.
fn is_ours(state: &SeedState) -> bool {
    state.clone.database.intent && state.phase != SeedPhase::Aborted && !state.clone.succeeds
}

/// Returns whether another person promoted the standby.
fn is_foreign(state: &SeedState) -> bool {
    let promotion = state.clone.promotion;
    promotion.is_some_and(|promotion| promotion.by == Promoter::Other)
}

fn sometimes() -> Vec<Property<Seeding>> {
    vec![
        Property::sometimes(
            "an open target with a row from each side of X",
            |_, s: &SeedState| {
                let promotion = s.clone.promotion.map_or(0, |promotion| promotion.at);
                let replayed = s.source.committed(promotion);
                s.phase == SeedPhase::Opened
                    && replayed != 0
                    && s.clone.database.rows & !replayed != 0
            },
        ),
        Property::sometimes(
            "an open target, and a prepared transaction that spans X",
            |_, s: &SeedState| s.phase == SeedPhase::Opened && s.has_spanning(),
        ),
        Property::sometimes(
            "an open target after a promotion that took effect late",
            |_, s: &SeedState| {
                s.phase == SeedPhase::Opened && s.clone.promotion.is_some_and(|p| p.late)
            },
        ),
        Property::sometimes(
            "an open target that another person promoted behind M1",
            |_, s: &SeedState| s.phase == SeedPhase::Opened && is_foreign(s),
        ),
        Property::sometimes(
            "a promotion by another person is refused",
            |_, s: &SeedState| {
                s.phase == SeedPhase::Failed
                    && is_foreign(s)
                    && s.source.timeline == 1
                    && s.clone.written
            },
        ),
        Property::sometimes(
            "a source that failed over while bound is open again",
            |_, s: &SeedState| s.phase == SeedPhase::Aborted && s.blocked,
        ),
        Property::sometimes(
            "a standby with the intent takes the source's place",
            |_, s: &SeedState| s.clone.succeeds && s.clone.database.intent,
        ),
        Property::sometimes(
            "a source that failed over behind the unbinding refuses nothing",
            |_, s: &SeedState| s.phase == SeedPhase::Streaming && s.source.timeline != 1,
        ),
        Property::sometimes(
            "a copy of a prepared transaction that a client committed is found",
            |_, s: &SeedState| s.phase == SeedPhase::Failed && s.clone.target && s.clone.meddled,
        ),
        Property::sometimes(
            "a late clean-up finds that the clone is open",
            |_, s: &SeedState| s.phase == SeedPhase::Opened && s.hung,
        ),
    ]
}
