//! Lists of hosts: each is tried in order, until one is suitable.

use cluster::{Cluster, Options, Shutdown};
use connect::{Class, ConnectError, Connected, Dsn, Session, Walsender, connect};

fn options(name: &str) -> Options {
    Options::temporary(name).setting("fsync", "off")
}

/// Returns a connection string with these servers in order. They have the same password.
fn dsn(servers: &[&Cluster], more: &str) -> Dsn {
    let list = |part: &dyn Fn(&Cluster) -> String| {
        let parts: Vec<String> = servers.iter().map(|server| part(server)).collect();
        parts.join(",")
    };
    let text = format!(
        "host={} port={} user=postgres dbname=postgres password=${{file:{}}} {more}",
        list(&|server| server.host().to_owned()),
        list(&|server| server.port().to_string()),
        servers[0].password_file().display()
    );
    Dsn::parse(&text).expect("parses")
}

async fn open(dsn: &Dsn) -> Result<Connected, ConnectError> {
    connect(dsn, &Session::named("test")).await
}

fn name(server: &Cluster) -> String {
    format!("{}:{}/postgres", server.host(), server.port())
}

#[tokio::test]
async fn the_first_server_that_is_wanted_is_taken_before_and_after_a_failover() {
    let primary = Cluster::launch(options("primary")).expect("launched");
    let standby = primary.standby("standby", options("standby"));
    let standby = standby.expect("copied");
    standby.start().expect("started");
    let both = [&standby, &primary];

    for (wanted, expected) in [
        ("any", &standby),
        ("read-write", &primary),
        ("primary", &primary),
        ("standby", &standby),
        ("read-only", &standby),
        ("prefer-standby", &standby),
    ] {
        let list = dsn(&both, &format!("target_session_attrs={wanted}"));
        let session = open(&list).await.expect(wanted);
        assert_eq!(session.server(), name(expected), "{wanted}");
        let replication = Walsender::open(&list, "test", "").await.expect(wanted);
        assert_eq!(replication.server(), name(expected), "{wanted}");
    }
    let error = open(&dsn(&[&standby], "target_session_attrs=read-write")).await;
    let error = error.expect_err("a standby");
    assert!(matches!(error, ConnectError::Target { .. }), "{error:?}");
    assert_eq!(error.class(), Class::Transient);

    let list = dsn(&[&primary, &standby], "target_session_attrs=read-write");
    primary.stop(Shutdown::Immediate).expect("stopped");
    let error = open(&list).await.expect_err("nobody takes writes");
    let message = error.to_string();
    for server in [&primary, &standby] {
        assert!(message.contains(&name(server)), "{message}");
    }
    assert!(
        message.contains("is not a server that takes writes"),
        "{message}"
    );
    assert_eq!(error.class(), Class::Transient);

    standby.promote().expect("promoted");
    let session = open(&list).await.expect("the new primary");
    assert_eq!(session.server(), name(&standby));
    let row = session
        .query_one("select pg_catalog.pg_is_in_recovery()", &[])
        .await;
    assert!(!row.expect("a row").get::<_, bool>(0));
    let replication = Walsender::open(&list, "test", "").await.expect("as well");
    assert_eq!(replication.server(), name(&standby));
    let prefers = dsn(&[&primary, &standby], "target_session_attrs=prefer-standby");
    let session = open(&prefers).await.expect("a primary will do");
    assert_eq!(session.server(), name(&standby));
}
