//! Files of the client: password and service files; and Unix sockets.

use cluster::{Cluster, Options};
use connect::{Class, ConnectError, Dsn, Environment, Resolved, Session, connect, connect_to};

use crate::authority::Authority;

fn cluster(name: &str) -> Cluster {
    Cluster::launch(Options::temporary(name).setting("fsync", "off")).expect("launched")
}

fn resolved(text: &str, variables: &[(&str, &str)]) -> Resolved {
    let environment = Environment::of(variables.iter().copied());
    let dsn = Dsn::parse(text).expect("parses");
    dsn.resolve_in(&environment).expect("resolves")
}

async fn opened(resolved: &Resolved) -> Result<String, ConnectError> {
    let session = connect_to(resolved, &Session::named("test")).await?;
    let row = session.query_one("select session_user::text", &[]).await;
    Ok(row.expect("a row").get(0))
}

#[tokio::test]
async fn a_password_file_is_read_unless_others_may_use_it() {
    let (server, folder) = (cluster("passfile"), Authority::new("passfile"));
    let secret = std::fs::read_to_string(server.password_file()).expect("read");
    let line = format!(
        "localhost:*:*:*:wrong\n127.0.0.1:{}:postgres:*:{secret}\n",
        server.port()
    );
    let dsn = format!("host=127.0.0.1 port={} user=postgres", server.port());

    let private = folder.write("private", &line, 0o600).display().to_string();
    let by_variable = resolved(&dsn, &[("PGPASSFILE", &private)]);
    assert_eq!(opened(&by_variable).await.expect("let in"), "postgres");
    let by_parameter = resolved(&format!("{dsn} passfile={private}"), &[]);
    assert_eq!(opened(&by_parameter).await.expect("let in"), "postgres");

    let shared = folder.write("shared", &line, 0o640).display().to_string();
    let error = opened(&resolved(&dsn, &[("PGPASSFILE", &shared)])).await;
    let error = error.expect_err("no password");
    assert_eq!(error.class(), Class::Permanent);
    assert!(error.to_string().contains(&shared), "{error}");
    assert_eq!(error.hint(), Some("chmod 600 the password file"));
    // A password from a variable takes precedence over the file.
    let variables = [("PGPASSWORD", "falsch"), ("PGPASSFILE", private.as_str())];
    let error = opened(&resolved(&dsn, &variables))
        .await
        .expect_err("refused");
    assert_eq!(error.hint(), Some("check user and password"));
}

#[tokio::test]
async fn a_service_says_where_and_as_whom() {
    let (server, folder) = (cluster("service"), Authority::new("service"));
    let secret = std::fs::read_to_string(server.password_file()).expect("read");
    let text = format!(
        "[shop]\nhost=127.0.0.1\nport={}\nuser=postgres\npassword={secret}\nsslmode=disable\n",
        server.port()
    );
    let file = folder.write("services", &text, 0o600).display().to_string();
    let found = resolved("service=shop dbname=postgres", &[("PGSERVICEFILE", &file)]);
    assert_eq!(opened(&found).await.expect("let in"), "postgres");

    let dsn = Dsn::parse("service=shop").expect("parses");
    let environment = Environment::of([("PGSERVICEFILE", "/nowhere/at/all")]);
    let error = dsn.resolve_in(&environment).expect_err("no file");
    assert!(matches!(error, ConnectError::Service { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "could not find the service of service shop"
    );
}

#[tokio::test]
async fn a_unix_socket_needs_no_tls() {
    let server = cluster("socket");
    let text = format!(
        "host={} port={} user=postgres dbname=postgres sslmode=require",
        server.dir().display(),
        server.port()
    );
    let session = connect(&Dsn::parse(&text).expect("parses"), &Session::named("test")).await;
    let row = session.expect("connected").query_one("select 1", &[]).await;
    assert_eq!(row.expect("a row").get::<_, i32>(0), 1);
}
