//! Connection strings are read as libpq reads them.

use super::*;
use std::time::Duration;

use crate::resolved::{ChannelBinding, Roots, SslMode, Target};

/// Resolves a connection string in an empty environment.
fn resolved(text: &str) -> Resolved {
    within(text, &[]).expect("resolves")
}

fn within(text: &str, variables: &[(&str, &str)]) -> Result<Resolved, ConnectError> {
    let environment = Environment::of(variables.iter().copied());
    Dsn::parse(text).expect("parses").resolve_in(&environment)
}

fn hosts(dsn: &Resolved) -> Vec<String> {
    dsn.hosts.iter().map(ToString::to_string).collect()
}

#[test]
fn both_forms_say_the_same() {
    let uri = resolved("postgres://app:p%40ss@db.example:6543/shop?connect_timeout=3");
    let words = resolved(
        "host=db.example port = 6543 user=app password='p@ss' dbname=shop \
                          connect_timeout=3 sslmode=prefer application_name=x keepalives=1",
    );
    assert_eq!(uri, words);
    assert_eq!(uri.server(), "db.example:6543/shop");
    assert_eq!(uri.hosts[0].password.as_deref(), Some("p@ss"));
    assert_eq!(uri.connect_timeout, Duration::from_secs(3));
}

#[test]
fn defaults_are_those_of_libpq() {
    let dsn = resolved("postgresql://app@[::1]");
    assert_eq!(
        (
            dsn.hosts[0].name.as_str(),
            dsn.hosts[0].port,
            dsn.dbname.as_str()
        ),
        ("::1", 5432, "app")
    );
    assert_eq!(
        (dsn.ssl_mode, dsn.channel_binding, dsn.target),
        (SslMode::Prefer, ChannelBinding::Prefer, Target::Any)
    );
}

#[test]
fn unix_sockets_are_hosts_that_start_with_a_slash() {
    for text in ["postgres://app@%2Frun%2Fpg/x", "host=/run/pg user=app"] {
        let host = &resolved(text).hosts[0];
        assert_eq!((host.name.as_str(), host.is_socket()), ("/run/pg", true));
    }
}

#[test]
fn quotes_and_backslashes_follow_libpq() {
    let dsn = resolved(r"host=h user='a b' password=x\ \'y dbname='it\'s'");
    assert_eq!(dsn.user, "a b");
    assert_eq!(dsn.hosts[0].password.as_deref(), Some("x 'y"));
    assert_eq!(dsn.dbname, "it's");
}

#[test]
fn inline_passwords_are_never_shown() {
    for text in [
        "host=h user=u password=geheim",
        "postgres://u:geheim@h",
        "postgres://u@h?password=geheim",
        "host=h user=u password=geheim${env:HOME}",
    ] {
        let dsn = Dsn::parse(text).expect(text);
        assert!(dsn.has_inline_password());
        assert_eq!(dsn.to_string(), "host=h user=u password=****");
        assert!(!format!("{dsn:?} {:?}", dsn.resolve()).contains("geheim"));
        assert_eq!(dsn.expose(), text);
    }
}

#[test]
fn malformed_strings_do_not_leak_what_they_hold() {
    for text in [
        "host=h password=a geheim user=u",
        "host=h user=u password='geheim",
        "host=h user=u password=${geheim}",
        "postgres://u:geheim%@h",
        "geheim",
    ] {
        let error = Dsn::parse(text).expect_err(text);
        assert!(
            !format!("{error} {error:?}").contains("geheim"),
            "{error:?}"
        );
        assert!(error.hint().is_some());
    }
}

#[test]
fn references_are_read_only_when_resolved() {
    let home = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let dsn = Dsn::parse("postgres://u:${env:CARGO_MANIFEST_DIR}@h/d").expect("parses");
    assert!(!dsn.has_inline_password());
    assert_eq!(
        dsn.to_string(),
        "host=h user=u password=${env:CARGO_MANIFEST_DIR} dbname=d"
    );
    let resolved = dsn.resolve().expect("resolves");
    assert_eq!(resolved.hosts[0].password, Some(home));
}

#[test]
fn a_file_reference_loses_its_trailing_newline() {
    let path = std::env::temp_dir().join(format!("dsn-reference-{}", std::process::id()));
    std::fs::write(&path, "sesam%40\n").expect("writes");
    for text in [
        format!("postgres://u:${{file:{}}}@h:1/d", path.display()),
        format!("host=h user=u password=${{file:{}}}", path.display()),
    ] {
        let password = resolved(&text).hosts[0].password.clone();
        assert_eq!(password.as_deref(), Some("sesam%40"));
    }
    std::fs::remove_file(&path).expect("removes");
}

#[test]
fn a_credential_is_a_name_in_the_folder_of_the_service_manager() {
    let dsn = Dsn::parse("host=h user=u password=${credential:shard_mover}").expect("parses");
    assert!(!dsn.has_inline_password());
    assert_eq!(
        dsn.to_string(),
        "host=h user=u password=${credential:shard_mover}"
    );
    // No service manager has started this test.
    let error = dsn.resolve().expect_err("no folder");
    let cause = std::error::Error::source(&error).expect("cause");
    assert!(
        cause.to_string().contains("CREDENTIALS_DIRECTORY"),
        "{cause}"
    );
    assert!(Dsn::parse("host=h user=u password=${credential:../x}").is_err());
}

#[test]
fn a_missing_reference_names_itself_and_the_server() {
    let dsn = Dsn::parse("host=h user=u dbname=d password=${env:SURELY_NOT_SET}").expect("parses");
    let error = dsn.resolve().expect_err("not set");
    assert_eq!(
        error.to_string(),
        "could not resolve the connection string of h:5432/d"
    );
    assert!(
        std::error::Error::source(&error)
            .expect("cause")
            .to_string()
            .contains("SURELY_NOT_SET")
    );
    assert_eq!(error.class(), crate::Class::Permanent);
}

#[test]
fn several_hosts_are_listed_in_both_forms() {
    let expected = ["a:1", "::1:5432", "c:3"];
    let uri = resolved("postgres://u@a:1,[::1],c:3/d?target_session_attrs=read-write");
    let words = resolved("host=a,::1,c port=1,,3 user=u dbname=d target_session_attrs=read-write");
    assert_eq!(hosts(&uri), expected);
    assert_eq!(uri, words);
    assert_eq!(uri.target, Target::ReadWrite);
    assert_eq!(uri.server(), "a:1,::1:5432,c:3/d");
    let one = Dsn::parse("host=a,b port=7 user=u dbname=d").expect("parses");
    assert_eq!(one.server(), "a:7,b:7/d");
    assert_eq!(hosts(&resolved("host=a,b port=7 user=u")), ["a:7", "b:7"]);
}

#[test]
fn the_string_comes_before_the_service_and_that_before_the_variables() {
    let path = std::env::temp_dir().join(format!("dsn-service-{}.conf", std::process::id()));
    std::fs::write(&path, "[shop]\nhost=from-service\nport=6000\n").expect("written");
    let file = path.display().to_string();
    let variables = [
        ("PGSERVICEFILE", file.as_str()),
        ("PGHOST", "from-variable"),
        ("PGUSER", "from-variable"),
        ("PGPORT", "7000"),
        ("PGPASSWORD", "geheim"),
        ("PGSSLMODE", "require"),
        ("PGCHANNELBINDING", "disable"),
        ("PGTARGETSESSIONATTRS", "primary"),
        ("PGCONNECT_TIMEOUT", "4"),
        ("PGOPTIONS", "-c geqo=off"),
        ("PGDATABASE", ""),
    ];
    let by_string = within("service=shop host=from-string", &variables).expect("resolves");
    let by_variable = within("", &variables).expect("resolves");
    let found = within(
        "dbname=d",
        &[("PGSERVICE", "shop"), variables[0], ("PGUSER", "u")],
    );
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(by_string.server(), "from-string:6000/from-variable");
    assert_eq!(by_string.hosts[0].password.as_deref(), Some("geheim"));
    assert_eq!(by_variable.server(), "from-variable:7000/from-variable");
    assert_eq!(
        (
            by_variable.ssl_mode,
            by_variable.channel_binding,
            by_variable.target
        ),
        (SslMode::Require, ChannelBinding::Disable, Target::Primary)
    );
    assert_eq!(by_variable.connect_timeout, Duration::from_secs(4));
    assert_eq!(by_variable.options.as_deref(), Some("-c geqo=off"));
    assert_eq!(found.expect("resolves").server(), "from-service:6000/d");
    assert!(!format!("{by_string:?}").contains("geheim"));
}

#[test]
fn the_systems_authorities_ask_for_the_whole_verification() {
    let dsn = resolved("host=h user=u sslrootcert=system");
    assert_eq!(
        (dsn.ssl_mode, dsn.certificates.roots),
        (SslMode::VerifyFull, Some(Roots::System))
    );
    let error = within("host=h user=u sslrootcert=system sslmode=verify-ca", &[]);
    let error = error.expect_err("too weak");
    assert_eq!(error.class(), crate::Class::Permanent);
    let source = std::error::Error::source(&error).expect("a cause");
    assert!(source.to_string().contains("verify-full"), "{source}");
}

#[test]
fn libpqs_programs_are_told_the_same() {
    let text = "host=a,b port=1,2 user=u password=p dbname=d sslmode=verify-full \
                sslrootcert=/ca sslcert=/c sslkey=/k target_session_attrs=read-write";
    let variables = resolved(text).variables();
    let value = |name: &str| {
        let found = variables.iter().find(|(other, _)| *other == name);
        found.expect(name).1.as_deref()
    };
    assert_eq!(
        (value("PGHOST"), value("PGPORT")),
        (Some("a,b"), Some("1,2"))
    );
    assert_eq!(value("PGSSLMODE"), Some("verify-full"));
    assert_eq!(value("PGSSLROOTCERT"), Some("/ca"));
    assert_eq!(value("PGSSLKEY"), Some("/k"));
    assert_eq!(value("PGTARGETSESSIONATTRS"), Some("read-write"));
    assert_eq!(value("PGPASSWORD"), Some("p"));
    assert_eq!((value("PGSERVICE"), value("PGPASSFILE")), (None, None));
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    let refused = |text: &str| Dsn::parse(text).expect_err(text).to_string();
    let missing = |text: &str| {
        let error = within(text, &[]).expect_err(text);
        assert!(error.hint().expect("a hint").contains("PG*"));
        std::error::Error::source(&error)
            .expect("a cause")
            .to_string()
    };
    assert_eq!(missing("user=u"), "connection string names no host");
    assert_eq!(missing("host=h"), "connection string names no user");
    assert!(missing("host=h user=u sslcert=/c").contains("sslkey"));
    assert!(refused("host=a,,b user=u").contains("host"));
    assert!(refused("host=h user=u port=99999").contains("port"));
    assert!(refused("host=h user=u sslmode=maybe").contains("sslmode"));
    assert!(refused("host=h user=u channel_binding=yes").contains("channel_binding"));
    assert!(refused("host=h user=u target_session_attrs=rw").contains("read-write"));
    assert!(refused("host=h user=u gssencmode=require").contains("gssencmode"));
    assert!(refused("host=h user=u passwort=x").contains("\"passwort\""));
}
