//! The replication session by verified TLS, with the password's proof bound to it.

use agent::postgres::pgoutput::Change;
use agent::postgres::replication::{ChangeStream, ReplicationError, ReplicationSession};
use cluster::Options;
use connect::{Class, Dsn, Session, connect};

use crate::authority::Authority;
use crate::replication::{next, slot};

/// No line lets the role in without TLS.
const HBA: &str = "hostssl all mover 127.0.0.1/32 scram-sha-256";

const SCHEMA: &str = "\
    create role mover login replication superuser password 'geheim'; \
    create table public.t (k bigint primary key); \
    create publication moving for table public.t";

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_streamed_by_verified_tls_with_a_bound_password() {
    let authority = Authority::new("stream");
    let options = Options::temporary("protected");
    let cluster = tokio::task::block_in_place(|| authority.server(options, HBA));
    let admin = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let admin = connect(&admin, &Session::named("test")).await;
    let admin = admin.expect("connected");
    admin.batch_execute(SCHEMA).await.expect("schema");
    let dsn = |host: &str| {
        let text = format!(
            "host={host} hostaddr=127.0.0.1 port={} user=mover password=geheim dbname=postgres \
             sslmode=verify-full sslrootcert={} channel_binding=require",
            cluster.port(),
            authority.root().display()
        );
        Dsn::parse(&text).expect("parses")
    };

    let right = dsn("localhost");
    let from = slot(&right, "protected_s").await;
    let mut stream = ChangeStream::open(&right, "test/stream", &from)
        .await
        .expect("streaming");
    let protected = "select count(*) from pg_catalog.pg_stat_replication \
                     join pg_catalog.pg_stat_ssl using (pid) where ssl and application_name = 'test/stream'";
    let row = admin.query_one(protected, &[]).await.expect("a count");
    assert_eq!(row.get::<_, i64>(0), 1);
    let insert = "insert into public.t select generate_series(1, 20000)";
    admin.batch_execute(insert).await.expect("inserted");
    let mut rows = 0;
    loop {
        match next(&mut stream).await {
            Change::Insert { .. } => rows += 1,
            Change::Commit(commit) => {
                stream.confirm(commit.end_lsn);
                break;
            }
            Change::Begin(_)
            | Change::Message(_)
            | Change::Origin { .. }
            | Change::Relation(_)
            | Change::Type(_)
            | Change::Update { .. }
            | Change::Delete { .. }
            | Change::Truncate { .. } => {}
        }
    }
    assert_eq!(rows, 20_000);
    stream.close().await.expect("closed");

    let error = ReplicationSession::open(&dsn("db.example"), "test").await;
    let error = error.expect_err("another name");
    assert!(matches!(error, ReplicationError::Connect(_)), "{error:?}");
    assert_eq!(error.class(), Class::Permanent);
    assert!(error.hint().expect("a hint").contains("alternative names"));
}
