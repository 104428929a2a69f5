//! Orders that come with a key.

use super::at;
use orchestrator::access::SecretDigest;
use orchestrator::store::{EarlierCommand, KeyedCommand, Store, StoredResponse};

contract!(
    what_was_answered_to_an_order_is_kept_for_a_day,
    an_order_that_changed_nothing_may_come_again,
);

/// The order with key `key` at second `second`.
pub(super) fn order(key: u8, second: i64) -> KeyedCommand {
    KeyedCommand {
        key: SecretDigest([key; 32]),
        fingerprint: SecretDigest([7; 32]),
        at: at(second),
    }
}

pub(super) fn response() -> StoredResponse {
    StoredResponse {
        status: 201,
        content_type: "application/json".to_owned(),
        body: b"{\"id\": \"m1\"}".to_vec(),
    }
}

async fn what_was_answered_to_an_order_is_kept_for_a_day(store: &dyn Store) {
    let day = 24 * 3600;
    let first = order(1, 0);
    assert_eq!(store.begin_command(&first).await.unwrap(), None);
    let begun = EarlierCommand {
        fingerprint: first.fingerprint,
        response: None,
    };
    let other = KeyedCommand {
        fingerprint: SecretDigest([8; 32]),
        ..order(1, 5)
    };
    assert_eq!(store.begin_command(&other).await.unwrap(), Some(begun));
    store.store_response(first.key, &response()).await.unwrap();
    let answered = EarlierCommand {
        fingerprint: first.fingerprint,
        response: Some(response()),
    };
    let again = order(1, day);
    let known = store.begin_command(&again).await.unwrap();
    assert_eq!(known, Some(answered), "it stays as it was");
    let late = order(1, day + 1);
    assert_eq!(store.begin_command(&late).await.unwrap(), None);
}

async fn an_order_that_changed_nothing_may_come_again(store: &dyn Store) {
    let first = order(1, 0);
    assert_eq!(store.begin_command(&first).await.unwrap(), None);
    store.forget_command(first.key).await.unwrap();
    assert_eq!(store.begin_command(&first).await.unwrap(), None);
}
