//! A receiver that does not report its position is detected before the fence, and not only after the seal (C1, R6).

use std::process::{Child, Command, Stdio};

use super::shard::{Shard, until};
use crate::postgres::standbys::{flush_position, lagging_standbys};

/// A `pg_receivewal` process with its own application name. It ends when this value is dropped.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn receive(shard: &Shard, name: &str, more: &[&str]) -> Receiver {
    let cluster = &shard.cluster;
    let dir = cluster.dir().join(format!("received_{name}"));
    std::fs::create_dir(&dir).expect("a folder");
    let password = std::fs::read_to_string(cluster.password_file()).expect("a password");
    let child = Command::new(cluster.binaries().dir().join("pg_receivewal"))
        .args(["-h", cluster.host(), "-U", "postgres", "-D"])
        .arg(&dir)
        .args(["-p", &cluster.port().to_string(), "--no-loop"])
        .args(more)
        .env("PGAPPNAME", name)
        .env("PGPASSWORD", password.trim())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    Receiver(child)
}

#[tokio::test]
async fn one_that_never_says_what_it_has_on_disk_is_behind_until_it_is_left_out() {
    let shard = Shard::with_settings("standbys", &[]).await;
    if !shard.cluster.binaries().path("pg_receivewal").is_file() {
        return; // the servers of the test matrix do not include pg_receivewal, and it does not support newer servers
    }
    let session = shard.session().await;
    let now = flush_position(&session).await.expect("a position");
    assert!(
        lagging_standbys(&session, Some(now), &[])
            .await
            .expect("none")
            .is_empty()
    );

    let quiet = receive(&shard, "quiet", &[]);
    until("it streams", || async {
        !lagging_standbys(&session, Some(now), &[])
            .await
            .expect("listed")
            .is_empty()
    })
    .await;
    let list = lagging_standbys(&session, None, &[]).await.expect("listed");
    assert!(
        list[0].contains("standby 'quiet' never reports"),
        "{list:?}"
    );
    let waived = [String::from("quiet")];
    let list = lagging_standbys(&session, Some(now), &waived)
        .await
        .expect("listed");
    assert!(list.is_empty(), "{list:?}");

    let honest = receive(&shard, "honest", &["--synchronous"]);
    until("it follows", || async {
        let read = "select count(*) = 1 from pg_stat_replication \
                    where application_name = 'honest' and flush_lsn is not null";
        session.query_one(read, &[]).await.expect("read").get(0)
    })
    .await;
    session
        .batch_execute("select pg_logical_emit_message(false, 'test', 'x'); checkpoint")
        .await
        .expect("logged");
    let now = flush_position(&session).await.expect("a position");
    until("it has flushed it", || async {
        lagging_standbys(&session, Some(now), &waived)
            .await
            .expect("listed")
            .is_empty()
    })
    .await;
    drop((quiet, honest));
}
