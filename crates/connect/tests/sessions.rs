//! Sessions on a real server.

use bytes::BytesMut;
use cluster::{Cluster, Options};
use connect::{Class, ConnectError, Dsn, Lent, Opening, Session, connect};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn launch(name: &str) -> Cluster {
    Cluster::launch(Options::temporary(name).setting("fsync", "off")).expect("launched")
}

fn dsn(cluster: &Cluster, user: &str, password: &str, dbname: &str) -> Dsn {
    let (host, port) = (cluster.host(), cluster.port());
    Dsn::parse(&format!(
        "postgres://{user}:{password}@{host}:{port}/{dbname}"
    ))
    .expect("parses")
}

/// If the quick check does not prove the database, the full check does. The settings are applied in both cases.
#[tokio::test]
async fn a_session_that_a_look_does_not_prove_is_proved_at_length() {
    let cluster = launch("opening");
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    for (quick_check, proof, opens) in [
        ("select true", "select 1 / 0", true),
        ("select false", "select 1", true),
        ("select true; select null", "select 1", true),
        ("select 1 / 0", "select 1", true),
        ("select false", "select 1 / 0", false),
        ("select true where false", "select 1 / 0", false),
        ("select 1 / 0", "select 1 / 0", false),
    ] {
        let opening = Opening {
            quick_check: quick_check.to_owned(),
            proof: proof.to_owned(),
        };
        let opened = connect(&dsn.clone().opened_by(opening), &Session::named("test")).await;
        assert_eq!(opened.is_ok(), opens, "{quick_check}; {proof}");
        let Ok(session) = opened else { continue };
        let read = "select current_setting('search_path')";
        let row = session.query_one(read, &[]).await.expect("read");
        assert_eq!(row.get::<_, &str>(0), "\"\"", "{quick_check}; {proof}");
    }
}

#[tokio::test]
async fn a_session_overrides_what_the_role_sets() {
    let cluster = launch("settings");
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let hostile = connect(&dsn, &Session::named("test"))
        .await
        .expect("connected");
    let statements = "\
        alter role postgres set synchronous_commit = off; \
        alter role postgres set search_path = public; \
        alter role postgres set statement_timeout = '1h'; \
        alter role postgres set idle_session_timeout = '1h'; \
        alter role postgres set \"DateStyle\" = 'SQL, DMY'; \
        alter role postgres set \"TimeZone\" = 'Asia/Tokyo'; \
        alter role postgres set \"IntervalStyle\" = 'iso_8601'; \
        alter role postgres set extra_float_digits = -5; \
        alter role postgres set bytea_output = 'escape'; \
        alter role postgres set lc_monetary = 'C.UTF-8'; \
        alter role postgres set xmloption = 'document'; \
        alter role postgres set array_nulls = off; \
        alter role postgres set default_transaction_read_only = on; \
        alter role postgres set default_transaction_isolation = 'serializable'";
    for statement in statements.split("; ") {
        hostile.batch_execute(statement).await.expect(statement);
    }
    hostile.close().await;

    let session = Session::named("shardwright/test").as_replica();
    let session = connect(&dsn, &session).await.expect("connected");
    let expected = [
        ("application_name", "shardwright/test"),
        ("session_replication_role", "replica"),
        ("synchronous_commit", "on"),
        ("search_path", "\"\""),
        ("statement_timeout", "0"),
        ("idle_session_timeout", "0"),
        ("TimeZone", "UTC"),
        ("IntervalStyle", "postgres"),
        ("extra_float_digits", "3"),
        ("bytea_output", "hex"),
        ("lc_monetary", "C"),
        ("xmloption", "content"),
        ("array_nulls", "on"),
        ("transaction_read_only", "off"),
        ("transaction_isolation", "read committed"),
        ("row_security", "off"),
    ];
    for (name, value) in expected {
        let row = session
            .query_one("select current_setting($1)", &[&name])
            .await
            .expect(name);
        assert_eq!(row.get::<_, String>(0), value, "{name}");
    }
    let date = session
        .query_one("select date '2026-02-01'::text", &[])
        .await
        .expect("a date");
    assert_eq!(date.get::<_, String>(0), "2026-02-01");
}

#[tokio::test]
async fn a_statement_is_prepared_once_in_a_session() {
    let cluster = launch("prepared");
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let session = connect(&dsn, &Session::named("test"))
        .await
        .expect("connected");
    for value in [1_i64, 2] {
        let rows = session
            .query_prepared("select $1::int8 + 1", &[&value])
            .await
            .expect("ran");
        assert_eq!(rows[0].get::<_, i64>(0), value + 1);
    }
    let known =
        "select from pg_catalog.pg_prepared_statements where statement = 'select $1::int8 + 1'";
    let known = session.query(known, &[]).await.expect("listed");
    assert_eq!(known.len(), 1);
}

#[tokio::test]
async fn refusals_say_whether_to_try_again() {
    let cluster = launch("refusals");
    let good = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let session = Session::named("test");
    let sql = connect(&good, &session).await.expect("connected");
    let role = "create role plain login password 'plain'";
    sql.batch_execute(role).await.expect("created");

    let wrong = dsn(&cluster, "plain", "wrong", "postgres");
    let error = connect(&wrong, &session).await.expect_err("wrong password");
    assert_eq!(error.class(), Class::Permanent);
    assert_eq!(error.hint(), Some("check user and password"));
    assert_eq!(
        error.to_string(),
        format!("could not connect to {}", wrong.server())
    );

    let nowhere = dsn(&cluster, "plain", "plain", "nowhere");
    let error = connect(&nowhere, &session)
        .await
        .expect_err("no such database");
    assert_eq!(
        (error.class(), error.hint()),
        (Class::Permanent, Some("check dbname"))
    );

    let plain = dsn(&cluster, "plain", "plain", "postgres");
    let replica = session.clone().as_replica();
    let error = connect(&plain, &replica).await.expect_err("no privilege");
    assert!(matches!(error, ConnectError::Setup { .. }), "{error}");
    assert_eq!(error.class(), Class::Permanent);
    assert!(
        error
            .hint()
            .expect("a hint")
            .contains("session_replication_role")
    );

    cluster.stop(cluster::Shutdown::Fast).expect("stopped");
    let error = connect(&good, &session).await.expect_err("stopped");
    assert_eq!(error.class(), Class::Transient);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("bound");
    let port = mute.local_addr().expect("an address").port();
    let text = format!("host=127.0.0.1 port={port} user=u connect_timeout=1");
    let error = connect(&Dsn::parse(&text).expect("parses"), &Session::named("test"))
        .await
        .expect_err("no answer");
    assert!(matches!(error, ConnectError::Timeout { .. }), "{error}");
    assert_eq!(error.class(), Class::Transient);
}

/// Sends a query in the protocol itself, and reads until the server is ready for the next one.
async fn query(lent: &mut Lent<'_>, sql: &str) -> Vec<u8> {
    let mut message = BytesMut::new();
    frontend::query(sql, &mut message).expect("a message");
    lent.write_all(&message).await.expect("written");
    let mut answer = Vec::new();
    while !answer.ends_with(b"Z\0\0\0\x05I") {
        lent.read_buf(&mut answer).await.expect("read");
    }
    answer
}

#[tokio::test]
async fn a_connection_that_is_given_back_goes_on_as_the_same_session() {
    let cluster = launch("lent");
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let mut session = connect(&dsn, &Session::named("test"))
        .await
        .expect("connected");
    let pid = "select pg_backend_pid()";
    let before: i32 = session.query_one(pid, &[]).await.expect("a row").get(0);
    for _ in 0..3 {
        let mut lent = session.lend().await.expect("lent");
        let answer = query(&mut lent, "select 'by itself'").await;
        assert!(answer.windows(9).any(|word| word == b"by itself"));
        lent.give_back();
        let after: i32 = session.query_one(pid, &[]).await.expect("a row").get(0);
        assert_eq!(after, before);
    }
}

#[tokio::test]
async fn a_connection_that_is_not_given_back_is_closed() {
    let cluster = launch("unreturned");
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let mut session = connect(&dsn, &Session::named("lent"))
        .await
        .expect("connected");
    drop(session.lend().await.expect("lent"));
    let error = session.batch_execute("select 1").await;
    assert!(error.expect_err("it is over").is_closed());
    let error = session.lend().await.expect_err("it is over");
    assert!(error.is_closed());
}
