//! Which proof of a password a server gets, by the method that it requests; for both kinds of session.

use cluster::Options;
use connect::{
    Class, ConnectError, Dsn, Environment, Method, Secrets, Session, Walsender, connect,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::authority::Authority;

const HBA: &str = "\
    host all old 127.0.0.1/32 md5\n\
    host all clear 127.0.0.1/32 password\n\
    host all trusted 127.0.0.1/32 trust\n";

const ROLES: &str = "\
    create role clear login replication password 'geheim'; \
    create role trusted login replication; \
    set password_encryption = md5; \
    create role old login replication password 'geheim'";

/// A server that requests the password of every login in clear text, and records what it receives.
async fn curious() -> (u16, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let shown = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("a client");
        let size = client.read_u32().await.expect("a startup message");
        let mut startup = vec![0; size as usize - 4];
        client.read_exact(&mut startup).await.expect("a message");
        let request = b"R\0\0\0\x08\0\0\0\x03";
        client.write_all(request).await.expect("asked");
        let mut shown = Vec::new();
        let _ = client.read_to_end(&mut shown).await;
        shown
    });
    (port, shown)
}

async fn both(dsn: &Dsn) -> Result<(), ConnectError> {
    connect(dsn, &Session::named("test")).await?;
    Walsender::open(dsn, "test", "").await.map(drop)
}

#[tokio::test]
async fn a_server_that_asks_for_the_password_in_clear_text_gets_nothing() {
    for (session, more) in [(true, ""), (false, ""), (true, "require_auth=password")] {
        let (port, shown) = curious().await;
        let text =
            format!("host=127.0.0.1 port={port} user=u sslmode=disable password=geheim {more}");
        let dsn = Dsn::parse(&text).expect("parses");
        let error = match session {
            true => connect(&dsn, &Session::named("test")).await.map(drop),
            false => Walsender::open(&dsn, "test", "").await.map(drop),
        };
        let error = error.expect_err("refused");
        let method = Method::Password;
        assert!(
            matches!(&error, ConnectError::Method { method: found, .. } if *found == method),
            "{error:?}"
        );
        assert_eq!(error.class(), Class::Permanent);
        assert!(error.hint().expect("a hint").contains("verify-full"));
        assert_eq!(shown.await.expect("ended"), b"");
    }
}

#[tokio::test]
async fn require_auth_says_what_a_server_may_ask_for() {
    let authority = Authority::new("methods");
    let cluster = authority.server(Options::temporary("methods"), HBA);
    let admin = Dsn::parse(&cluster.dsn("postgres", "postgres")).expect("parses");
    let admin = connect(&admin, &Session::named("test"))
        .await
        .expect("connected");
    admin.batch_execute(ROLES).await.expect("roles");
    let verified = format!(
        "sslmode=verify-full sslrootcert={}",
        authority.root().display()
    );
    let password = std::fs::read_to_string(cluster.password_file()).expect("read");
    for (user, more, refused) in [
        ("old", "sslmode=disable", Some(Method::Md5)),
        ("old", "sslmode=require", Some(Method::Md5)),
        ("old", "sslmode=disable require_auth=md5", None),
        ("old", verified.as_str(), None),
        (
            "clear",
            "sslmode=require require_auth=password",
            Some(Method::Password),
        ),
        ("clear", verified.as_str(), None),
        ("trusted", "", None),
        ("trusted", "require_auth=scram-sha-256", Some(Method::None)),
        ("postgres", "require_auth=scram-sha-256", None),
        (
            "postgres",
            "require_auth=!scram-sha-256",
            Some(Method::Scram),
        ),
    ] {
        let secret = if user == "postgres" {
            password.trim()
        } else {
            "geheim"
        };
        let text = format!(
            "host=localhost hostaddr=127.0.0.1 port={} user={user} dbname=postgres password={secret} {more}",
            cluster.port()
        );
        let found = both(&Dsn::parse(&text).expect("parses")).await;
        match (found, refused) {
            (Ok(()), None) => {}
            (Err(ConnectError::Method { method, .. }), Some(expected)) => {
                assert_eq!(method, expected, "{user} {more}");
            }
            (found, _) => panic!("{user} {more}: {found:?}"),
        }
    }
}

/// An administrator of a server must not be able to read a file of the agent's host by means of an error message.
#[tokio::test]
async fn a_file_of_the_host_comes_back_in_no_error() {
    for key in [
        "dbname",
        "user",
        "host",
        "options",
        "service",
        "sslrootcert",
    ] {
        let text = format!("host=h user=u {key}=${{file:/etc/shadow}}");
        let error = Dsn::parse(&text).expect_err("refused").to_string();
        assert_eq!(
            error,
            format!("connection parameter {key} has a reference, which only the password may have")
        );
    }
    let folder = Authority::new("references");
    let (inside, outside) = (folder.write("inside", "geheim", 0o600), "/etc/passwd");
    let allowed = inside.parent().expect("a folder").to_owned();
    let secrets = Secrets::within(vec![allowed], vec!["SHARD_*".to_owned()]);
    let environment = Environment::of([("HOME", "/nowhere")]).reading(secrets);
    let resolve = |more: String| {
        let dsn = Dsn::parse(&format!("host=h user=u {more}")).expect("parses");
        dsn.resolve_in(&environment)
    };
    let found = resolve(format!("password=${{file:{}}}", inside.display())).expect("resolves");
    assert_eq!(found.hosts[0].password.as_deref(), Some("geheim"));
    for refused in [
        format!("password=${{file:{outside}}}"),
        format!("password=${{file:{}/../..{outside}}}", inside.display()),
        "password=${env:HOME}".to_owned(),
        format!("passfile={outside}"),
        format!("sslcert=/c sslkey={outside}"),
    ] {
        let error = resolve(refused.clone()).expect_err(&refused);
        assert_eq!(error.class(), Class::Permanent);
        assert!(
            error.hint().expect("a hint").contains("--secrets-"),
            "{refused}"
        );
        let cause = std::error::Error::source(&error)
            .expect("a cause")
            .to_string();
        assert!(!cause.contains("root:"), "{cause}");
    }
}
