//! What TLS verifies, binds and refuses; for both kinds of session.

use std::sync::{Arc, Weak};

use cluster::{Cluster, Options};
use connect::{Class, ConnectError, Dsn, Session, TlsError, Walsender, connect};

use tokio::sync::Mutex;

use crate::authority::Authority;

const HBA: &str = "\
    hostssl all carded 127.0.0.1/32 cert\n\
    hostssl all secured 127.0.0.1/32 scram-sha-256\n\
    hostnossl all open 127.0.0.1/32 scram-sha-256\n\
    hostssl all trusted 127.0.0.1/32 trust\n";

const ROLES: &str = "\
    create role carded login replication; \
    create role secured login replication password 'geheim'; \
    create role open login replication password 'geheim'; \
    create role trusted login replication password 'geheim'";

static SHARED: Mutex<Weak<Scene>> = Mutex::const_new(Weak::new());

/// A server with TLS. It is removed with its last user.
struct Scene {
    authority: Authority,
    cluster: Cluster,
}

impl Scene {
    async fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().await;
        if let Some(scene) = shared.upgrade() {
            return scene;
        }
        let scene = Arc::new(Self::new().await);
        *shared = Arc::downgrade(&scene);
        scene
    }

    async fn new() -> Self {
        let authority = Authority::new("tls");
        let cluster = authority.server(Options::temporary("tls"), HBA);
        let admin = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
        let admin = connect(&admin, &Session::named("test")).await;
        let created = admin.expect("connected").batch_execute(ROLES).await;
        created.expect("roles");
        Self { authority, cluster }
    }

    /// Returns a connection string. `host` is a name for 127.0.0.1.
    fn dsn(&self, host: &str, user: &str, more: &str) -> Dsn {
        let port = self.cluster.port();
        let text = format!(
            "host={host} hostaddr=127.0.0.1 port={port} user={user} password=geheim \
             dbname=postgres {more}"
        );
        Dsn::parse(&text).expect("parses")
    }

    fn root(&self) -> String {
        format!("sslrootcert={}", self.authority.root().display())
    }
}

/// Returns whether sessions of both kinds use TLS.
async fn protected(dsn: &Dsn) -> Result<bool, ConnectError> {
    let session = connect(dsn, &Session::named("test")).await?;
    let row = session
        .query_one(
            "select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()",
            &[],
        )
        .await
        .expect("a row");
    Walsender::open(dsn, "test", "-c search_path=").await?;
    Ok(row.get(0))
}

/// Returns the error, which must be the same for both kinds of session.
async fn refused(dsn: &Dsn) -> ConnectError {
    let replication = Walsender::open(dsn, "test", "").await;
    let replication = replication.expect_err("refused");
    let error = connect(dsn, &Session::named("test")).await;
    let error = error.expect_err("refused");
    assert_eq!(replication.class(), error.class(), "{replication:?}");
    assert_eq!(replication.hint(), error.hint(), "{replication:?}");
    error
}

fn tls(error: ConnectError) -> TlsError {
    assert_eq!(error.class(), Class::Permanent, "{error:?}");
    assert!(error.to_string().contains(":"), "names the server: {error}");
    let ConnectError::Tls { source, .. } = error else {
        panic!("{error:?}");
    };
    *source
}

#[tokio::test]
async fn verify_full_takes_the_right_name_from_the_right_authority_only() {
    let scene = Scene::shared().await;
    let full = format!("sslmode=verify-full {}", scene.root());
    let right = scene.dsn("localhost", "secured", &full);
    assert!(protected(&right).await.expect("verified"));

    let wrong = refused(&scene.dsn("db.example", "secured", &full)).await;
    assert!(wrong.hint().expect("a hint").contains("alternative names"));
    assert!(matches!(tls(wrong), TlsError::Certificate(_)));
    let address = refused(&scene.dsn("127.0.0.1", "secured", &full)).await;
    assert!(matches!(tls(address), TlsError::Certificate(_)));
    let only_ca = format!("sslmode=verify-ca {}", scene.root());
    let by_ca = scene.dsn("db.example", "secured", &only_ca);
    assert!(protected(&by_ca).await.expect("verified"));

    let stranger = Authority::new("stranger");
    for mode in ["verify-full", "verify-ca", "require"] {
        let more = format!("sslmode={mode} sslrootcert={}", stranger.root().display());
        let unknown = refused(&scene.dsn("localhost", "secured", &more)).await;
        assert!(unknown.hint().expect("a hint").contains("sslrootcert"));
        assert!(matches!(tls(unknown), TlsError::Certificate(_)));
    }
    // As in libpq, a mode that does not verify accepts any certificate.
    let require = scene.dsn("db.example", "secured", "sslmode=require");
    assert!(protected(&require).await.expect("not verified"));
}

#[tokio::test]
async fn modes_fall_back_as_in_libpq() {
    let scene = Scene::shared().await;
    let with = |user, mode| scene.dsn("localhost", user, &format!("sslmode={mode}"));
    for (user, mode, expected) in [
        ("secured", "prefer", true),
        ("secured", "allow", true),
        ("open", "prefer", false),
        ("open", "allow", false),
        ("open", "disable", false),
    ] {
        let found = protected(&with(user, mode)).await;
        assert_eq!(found.expect(mode), expected, "{user} {mode}");
    }
    for (user, mode) in [("secured", "disable"), ("open", "require")] {
        let error = refused(&with(user, mode)).await;
        assert_eq!(error.class(), Class::Permanent, "{error:?}");
        assert!(error.hint().expect("a hint").contains("pg_hba.conf"));
    }
    let plain = Cluster::launch(Options::temporary("plain")).expect("launched");
    let text = plain.dsn("postgres", "postgres");
    let error = refused(&Dsn::parse(&format!("{text} sslmode=require")).expect("parses")).await;
    assert!(matches!(tls(error), TlsError::NotOffered));
}

#[tokio::test]
async fn channel_binding_is_used_where_it_is_required() {
    let scene = Scene::shared().await;
    let bound = format!(
        "sslmode=verify-full {} channel_binding=require",
        scene.root()
    );
    let right = scene.dsn("localhost", "secured", &bound);
    assert!(protected(&right).await.expect("bound"));
    let never = scene.dsn("localhost", "secured", "channel_binding=disable");
    assert!(protected(&never).await.expect("not bound"));
    // A server that requests no proof proves nothing itself, and neither does a server without TLS.
    for (user, more) in [
        ("trusted", bound.as_str()),
        ("open", "sslmode=disable channel_binding=require"),
    ] {
        let error = refused(&scene.dsn("localhost", user, more)).await;
        assert!(matches!(error, ConnectError::Binding { .. }), "{error:?}");
        assert_eq!(error.class(), Class::Permanent);
    }
    let wrong = format!(
        "host=localhost hostaddr=127.0.0.1 port={} user=secured password=falsch dbname=postgres {bound}",
        scene.cluster.port()
    );
    let error = refused(&Dsn::parse(&wrong).expect("parses")).await;
    assert_eq!(error.hint(), Some("check user and password"));
}

#[tokio::test]
async fn a_client_certificate_stands_for_a_password() {
    let scene = Scene::shared().await;
    let (certificate, key) = scene.authority.card("carded");
    let card = |key: &std::path::Path| {
        format!(
            "sslmode=verify-full {} sslcert={} sslkey={}",
            scene.root(),
            certificate.display(),
            key.display()
        )
    };
    let right = scene.dsn("localhost", "carded", &card(&key));
    assert!(protected(&right).await.expect("known"));

    let none = refused(&scene.dsn("localhost", "carded", "sslmode=require")).await;
    assert_eq!(none.class(), Class::Permanent);
    let (other, other_key) = Authority::new("elsewhere").card_text("carded");
    let other = scene.authority.write("other.crt", &other, 0o644);
    let other_key = scene.authority.write("other.key", &other_key, 0o600);
    let more = format!(
        "sslmode=require sslcert={} sslkey={}",
        other.display(),
        other_key.display()
    );
    let unknown = refused(&scene.dsn("localhost", "carded", &more)).await;
    assert!(matches!(tls(unknown), TlsError::Refused(_)));

    let readable = std::fs::read_to_string(&key).expect("read");
    let readable = scene.authority.write("readable.key", &readable, 0o644);
    let error = refused(&scene.dsn("localhost", "carded", &card(&readable))).await;
    assert!(matches!(tls(error), TlsError::KeyMode { .. }));
}
