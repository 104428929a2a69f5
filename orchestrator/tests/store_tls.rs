//! The control store over TLS: what `sslmode` says is done, against a real server with an authority of its own.

#[allow(dead_code, reason = "the tests of connections use more of it")]
#[path = "../../crates/connect/tests/protected/authority.rs"]
mod authority;

use authority::Authority;
use cluster::{Cluster, Options};
use connect::{Dsn, Session, connect};
use orchestrator::store::ShardStore;
use orchestrator::store::pg::PgStore;

const HBA: &str =
    "hostssl all secured 127.0.0.1/32 scram-sha-256\nhostssl all carded 127.0.0.1/32 cert";

const ROLES: [&str; 3] = [
    "create role secured login password 'geheim'; create role carded login",
    "create database secured owner secured",
    "create database carded owner carded",
];

/// Sessions of controllers that are protected.
const PROTECTED: &str = "
    select count(*) from pg_catalog.pg_stat_ssl s join pg_catalog.pg_stat_activity a on a.pid = s.pid
    where s.ssl and a.application_name = 'shardwright/controller' and a.usename = $1";

async fn server(authority: &Authority) -> Cluster {
    let cluster = authority.server(Options::temporary("store-tls"), HBA);
    let session = superuser(&cluster).await;
    for sql in ROLES {
        session.batch_execute(sql).await.unwrap();
    }
    cluster
}

async fn superuser(cluster: &Cluster) -> connect::Connected {
    let dsn = Dsn::parse(&cluster.dsn("postgres", "postgres")).unwrap();
    connect(&dsn, &Session::named("test")).await.unwrap()
}

/// Opens the store and uses it; its sessions must be protected.
async fn used(cluster: &Cluster, user: &str, more: &str) {
    let port = cluster.port();
    let dsn = format!("host=localhost port={port} user={user} dbname={user} {more}");
    let store = PgStore::open(&dsn).await.unwrap();
    assert!(store.shards().await.unwrap().is_empty());
    let session = superuser(cluster).await;
    let row = session.query_one(PROTECTED, &[&user]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 0, "{more}");
}

/// Why the store is not opened, with all causes.
async fn refused(cluster: &Cluster, host: &str, more: &str) -> String {
    let port = cluster.port();
    let dsn = format!("host={host} port={port} user=secured dbname=secured password=geheim {more}");
    let error = PgStore::open(&dsn).await.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_used_over_tls_by_the_right_name_from_the_right_authority_only() {
    let (authority, stranger) = (Authority::new("store"), Authority::new("store-stranger"));
    let cluster = server(&authority).await;
    let full = format!(
        "sslmode=verify-full sslrootcert={}",
        authority.root().display()
    );
    used(&cluster, "secured", &format!("{full} password=geheim")).await;
    let (certificate, key) = authority.card("carded");
    let card = format!(
        "{full} sslcert={} sslkey={}",
        certificate.display(),
        key.display()
    );
    used(&cluster, "carded", &card).await;
    used(&cluster, "secured", "sslmode=require password=geheim").await;

    let strange = format!(
        "sslmode=verify-full sslrootcert={}",
        stranger.root().display()
    );
    for (host, more) in [("localhost", &strange), ("127.0.0.1", &full)] {
        let said = refused(&cluster, host, more).await;
        assert!(said.contains("certificate"), "{said}");
        assert!(!said.contains("geheim"), "{said}");
    }
    let plain = refused(&cluster, "localhost", "sslmode=disable").await;
    assert!(plain.contains("no encryption"), "{plain}");
}
