//! Tokens and sessions.

use super::at;
use orchestrator::access::{Role, SecretDigest};
use orchestrator::store::{SessionRecord, Store, StoreError, TokenRecord};

contract!(
    a_token_is_kept_with_its_holder_and_its_end,
    a_name_is_free_again_once_its_token_is_revoked,
    a_session_is_there_until_it_is_ended_or_over,
);

/// A token of `name`, whose digest begins with the name's length.
pub(super) fn token(name: &str) -> TokenRecord {
    TokenRecord {
        id: format!("id of {name}"),
        name: name.to_owned(),
        role: Role::Agent,
        labels: [("region".to_owned(), "eu".to_owned())].into(),
        digest: digest(u8::try_from(name.len()).unwrap()),
        created_at: at(1),
        created_by: "op".to_owned(),
        ends_at: Some(at(100)),
        revoked_at: None,
        revoked_by: None,
    }
}

/// A session from second `from` on, for ten seconds.
pub(super) fn session(from: u8) -> SessionRecord {
    SessionRecord {
        digest: digest(from),
        token: "id of ada".to_owned(),
        started_at: at(from.into()),
        ends_at: at(i64::from(from) + 10),
    }
}

fn digest(first: u8) -> SecretDigest {
    let mut bytes = [7; 32];
    bytes[0] = first;
    SecretDigest(bytes)
}

async fn a_token_is_kept_with_its_holder_and_its_end(store: &dyn Store) {
    let (ada, grace) = (token("ada"), token("grace"));
    for token in [&ada, &grace] {
        store.add_token(token).await.unwrap();
    }
    assert_eq!(store.tokens().await.unwrap(), [ada, grace]);
}

async fn a_name_is_free_again_once_its_token_is_revoked(store: &dyn Store) {
    store.add_token(&token("ada")).await.unwrap();
    let second = TokenRecord {
        id: "another".to_owned(),
        digest: digest(99),
        created_at: at(2),
        ..token("ada")
    };
    let taken = store.add_token(&second).await.unwrap_err();
    assert!(
        matches!(taken, StoreError::Exists { what: "token", .. }),
        "{taken}"
    );
    let other_case = TokenRecord {
        name: "Ada".to_owned(),
        ..second.clone()
    };
    let taken = store.add_token(&other_case).await.unwrap_err();
    assert!(
        matches!(taken, StoreError::Exists { what: "token", .. }),
        "{taken}"
    );
    let revoked = store.revoke_token("ada", "op", at(3)).await.unwrap();
    assert_eq!(
        (revoked.revoked_at, revoked.revoked_by.as_deref()),
        (Some(at(3)), Some("op"))
    );
    let gone = store.revoke_token("ada", "op", at(4)).await.unwrap_err();
    assert!(
        matches!(gone, StoreError::Missing { what: "token", .. }),
        "{gone}"
    );
    store.add_token(&second).await.unwrap();
    assert_eq!(store.tokens().await.unwrap(), [revoked, second]);
}

async fn a_session_is_there_until_it_is_ended_or_over(store: &dyn Store) {
    let (first, second, late) = (session(1), session(2), session(30));
    for session in [&first, &second] {
        store.add_session(session).await.unwrap();
    }
    assert_eq!(
        store.session(first.digest).await.unwrap(),
        Some(first.clone())
    );
    assert!(store.end_session(first.digest).await.unwrap());
    assert!(!store.end_session(first.digest).await.unwrap());
    assert_eq!(store.session(first.digest).await.unwrap(), None);
    assert_eq!(
        store.session(second.digest).await.unwrap(),
        Some(second.clone())
    );
    store.add_session(&late).await.unwrap();
    assert_eq!(store.session(second.digest).await.unwrap(), None);
    assert_eq!(store.session(late.digest).await.unwrap(), Some(late));
}
