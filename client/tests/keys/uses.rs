//! PostgreSQL must accept a predicate in publications, triggers and COPY, and give it the same meaning in each.

use super::golden::{Group, Set};
use super::server::Server;
use super::values::Samples;
use futures::TryStreamExt;
use plans::key_set::KeySet;
use std::collections::BTreeMap;
use std::mem::discriminant;

/// The number of sets of each kind that are tested. The number is small because publications and slots take time.
const SETS_OF_EACH_KIND: usize = 3;
const FIRED: &str = "
    create table if not exists fired (what text, id int);
    create or replace function fire() returns trigger language plpgsql as $$
    begin
        insert into fired values (tg_argv[0], coalesce(new.id, old.id));
        return null;
    end $$;
    truncate fired;";

/// Uses the predicates in COPY, triggers and publications, and compares the selected rows.
pub(crate) async fn check(server: &Server, table: &str, samples: &Samples, group: &Group) {
    let sets = choose_sets(&group.sets, samples.keys.len());
    for set in &sets {
        assert_eq!(
            ids_by_copy(server, table, &set.predicate).await,
            set.members
        );
    }
    let run = |sql: String| async move {
        if let Err(error) = server.client.batch_execute(&sql).await {
            panic!("{error:?}: {sql}");
        }
    };
    run(format!("{FIRED} create table live (like {table})")).await;
    run("alter table live replica identity full".to_owned()).await;
    for (n, set) in sets.iter().enumerate() {
        let predicate = |row| samples.columns().predicate(&set.set, row);
        run(format!(
            "create publication p{n} for table live where {}",
            set.predicate
        ))
        .await;
        for (row, event) in [("new", "insert"), ("old", "delete")] {
            run(format!(
                "create trigger {row}{n} after {event} on live for each row when {} \
                 execute function fire('{row}{n}')",
                predicate(row)
            ))
            .await;
        }
    }
    let slot = "select pg_create_logical_replication_slot('keys', 'pgoutput')";
    run(slot.to_owned()).await;
    run(format!("insert into live select * from {table}")).await;
    run("delete from live".to_owned()).await;
    for (n, set) in sets.iter().enumerate() {
        for row in ["new", "old"] {
            assert_eq!(
                ids_by_trigger(server, &format!("{row}{n}")).await,
                set.members
            );
        }
        let members = i64::try_from(set.members.len()).unwrap();
        let sent = sent_messages(server, n).await;
        for message in ["I", "D"] {
            assert_eq!(sent.get(message), Some(&members), "{}", set.predicate);
        }
    }
    run("select pg_drop_replication_slot('keys')".to_owned()).await;
    for n in 0..sets.len() {
        run(format!("drop publication p{n}")).await;
    }
    run("drop table live".to_owned()).await;
}

/// Returns some sets of each kind that contain some of the keys.
fn choose_sets(sets: &[Set], keys: usize) -> Vec<&Set> {
    let mut chosen: Vec<&Set> = Vec::new();
    for set in sets {
        let same = |other: &&Set| discriminant::<KeySet>(&other.set) == discriminant(&set.set);
        let chosen_of_kind = chosen.iter().copied().filter(|other| same(other)).count();
        if chosen_of_kind < SETS_OF_EACH_KIND && !set.members.is_empty() && set.members.len() < keys
        {
            chosen.push(set);
        }
    }
    chosen
}

async fn ids_by_copy(server: &Server, table: &str, predicate: &str) -> Vec<usize> {
    let copy = format!("copy (select id from {table} where {predicate} order by id) to stdout");
    let stream = server.client.copy_out(&copy).await.unwrap();
    let chunks: Vec<_> = stream.try_collect().await.unwrap();
    let text = String::from_utf8(chunks.concat()).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

async fn ids_by_trigger(server: &Server, what: &str) -> Vec<usize> {
    let query = "select id from fired where what = $1 order by id";
    let rows = server.client.query(query, &[&what]).await.unwrap();
    let id = |row: &tokio_postgres::Row| usize::try_from(row.get::<_, i32>(0)).unwrap();
    rows.iter().map(id).collect()
}

/// Counts the messages of the publication by their kind.
async fn sent_messages(server: &Server, publication: usize) -> BTreeMap<String, i64> {
    let query = format!(
        "select chr(get_byte(data, 0)), count(*) from pg_logical_slot_peek_binary_changes(
             'keys', null, null, 'proto_version', '1', 'publication_names', 'p{publication}') group by 1"
    );
    let rows = server.client.query(&query, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}
