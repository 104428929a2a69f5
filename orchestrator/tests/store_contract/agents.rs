//! Which process has an agent's name, and by what an owner is known.

use super::{at, owned, seeded};
use orchestrator::access::SecretDigest;
use orchestrator::store::{AgentProcess, AgentRecord, LeaseHolder, Registered, Store, StoreError};
use plans::id::Epoch;

contract!(
    an_agents_name_is_one_process_at_a_time,
    an_owner_is_bound_to_its_token_and_secret,
    an_agent_is_removed_once_it_is_silent_and_has_no_migration,
);

async fn an_agents_name_is_one_process_at_a_time(store: &dyn Store) {
    let process = |instance: &str, key: u8| AgentProcess {
        host: Some(format!("host of {instance}")),
        key: Some(SecretDigest([key; 32])),
        ..AgentProcess::of(&"x".into(), &instance.into())
    };
    let (first, second) = (process("x1", 1), process("x2", 2));
    let see = |process: AgentProcess, now, silent_since: Option<i64>| async move {
        let silent_since = silent_since.map(at);
        let seen = store.note_agent(&process, at(now), silent_since);
        seen.await.unwrap()
    };
    assert_eq!(see(first.clone(), 1, None).await, Registered::New);
    assert_eq!(see(first.clone(), 3, None).await, Registered::Known);
    // What is read from anywhere is not enough to be taken for a process.
    let known = AgentRecord {
        name: "x".into(),
        instance: "x1".into(),
        last_seen: at(3),
        host: Some("host of x1".to_owned()),
    };
    let taken = Registered::InUse(known.clone());
    for forged in [
        AgentProcess::of(&"x".into(), &"x1".into()),
        process("x1", 2),
    ] {
        assert_eq!(see(forged, 4, Some(9)).await, taken);
    }
    // The name is free after a while of silence,
    assert_eq!(see(second.clone(), 4, None).await, taken);
    assert_eq!(see(second.clone(), 4, Some(3)).await, taken);
    assert_eq!(store.agents().await.unwrap(), [known]);
    assert_eq!(see(second.clone(), 5, Some(4)).await, Registered::New);
    // or at once for whoever has outlived its process; the one before that is forgotten.
    let late = AgentProcess {
        outlived: vec![SecretDigest([1; 32])],
        ..process("x3", 3)
    };
    assert!(matches!(
        see(late.clone(), 6, None).await,
        Registered::InUse(_)
    ));
    let third = AgentProcess {
        outlived: vec![SecretDigest([7; 32]), SecretDigest([2; 32])],
        ..late
    };
    assert_eq!(see(third, 6, None).await, Registered::New);
    // One of the version before shows no key and names no host; what was known of another process is not its.
    let old = AgentProcess::of(&"x".into(), &"x4".into());
    assert_eq!(see(old.clone(), 9, Some(8)).await, Registered::New);
    assert_eq!(store.agents().await.unwrap()[0].host, None);
    assert_eq!(see(old, 9, None).await, Registered::Known);
    assert_eq!(store.agents().await.unwrap().len(), 1);
}

async fn an_owner_is_bound_to_its_token_and_secret(store: &dyn Store) {
    let snapshot = seeded(store).await;
    let mut change = owned(&snapshot);
    let owner = LeaseHolder {
        agent: "x".into(),
        instance: "x1".into(),
        token: Some("x".to_owned()),
        secret: Some(SecretDigest([5; 32])),
    };
    change.migration.epoch = Epoch(3);
    change.migration.owner = Some(owner.clone());
    assert!(store.commit(&change).await.unwrap());
    let id = &snapshot.migration.id;
    let read = store.load(id).await.unwrap().unwrap();
    assert_eq!(read.migration.owner, Some(owner));
    let told = serde_json::to_string(&read.migration.owner).unwrap();
    assert!(!told.contains("secret") && !told.contains("5,5"), "{told}");
}

async fn an_agent_is_removed_once_it_is_silent_and_has_no_migration(store: &dyn Store) {
    let snapshot = seeded(store).await;
    let see = async |name: &str, second| {
        let process = AgentProcess::of(&name.into(), &"p1".into());
        store.note_agent(&process, at(second), None).await.unwrap();
    };
    see("x", 3).await;
    see("y", 3).await;
    let remove = async |name: &str, since| store.remove_agent(&name.into(), at(since)).await;
    let alive = remove("x", 3).await.unwrap_err();
    let last_seen = at(3);
    assert!(
        matches!(&alive, StoreError::AgentAlive { agent, last_seen: seen } if *agent == "x".into() && *seen == last_seen),
        "{alive:?}"
    );

    let change = owned(&snapshot);
    assert_eq!(change.migration.owner.as_ref().unwrap().agent, "x".into());
    assert!(store.commit(&change).await.unwrap());
    let assigned = remove("x", 4).await.unwrap_err();
    let id = &snapshot.migration.id;
    assert!(
        matches!(&assigned, StoreError::AgentAssigned { agent, migration } if *agent == "x".into() && migration == id),
        "{assigned:?}"
    );
    // The migration of another agent does not matter.
    remove("y", 4).await.unwrap();
    let owned = store.load(id).await.unwrap().unwrap();
    let mut freed = super::change(&owned);
    freed.migration.owner = None;
    assert!(store.commit(&freed).await.unwrap());
    remove("x", 4).await.unwrap();
    assert_eq!(store.agents().await.unwrap(), []);
    for name in ["x", "never"] {
        let missing = remove(name, 4).await.unwrap_err();
        assert!(
            matches!(missing, StoreError::Missing { what: "agent", .. }),
            "{missing:?}"
        );
    }
    // It is recorded anew, as another process too.
    see("x", 5).await;
    assert_eq!(store.agents().await.unwrap().len(), 1);
}
