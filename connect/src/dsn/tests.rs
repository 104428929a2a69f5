use super::*;

fn resolved(text: &str) -> Resolved {
    Dsn::parse(text)
        .expect("parses")
        .resolve()
        .expect("resolves")
}

#[test]
fn both_forms_say_the_same() {
    let uri = resolved("postgres://app:p%40ss@db.example:6543/shop?connect_timeout=3");
    let words = resolved(
        "host=db.example port = 6543 user=app password='p@ss' dbname=shop \
                          connect_timeout=3 sslmode=prefer application_name=x",
    );
    assert_eq!(uri, words);
    assert_eq!(uri.server(), "db.example:6543/shop");
    assert_eq!(uri.password.as_deref(), Some("p@ss"));
    assert_eq!(uri.connect_timeout, Duration::from_secs(3));
}

#[test]
fn defaults_are_those_of_libpq() {
    let dsn = resolved("postgresql://app@[::1]");
    assert_eq!(
        (dsn.host.as_str(), dsn.port, dsn.dbname.as_str()),
        ("::1", 5432, "app")
    );
}

#[test]
fn unix_sockets_are_hosts_that_start_with_a_slash() {
    assert_eq!(resolved("postgres://app@%2Frun%2Fpg/x").host, "/run/pg");
    assert_eq!(resolved("host=/run/pg user=app").host, "/run/pg");
}

#[test]
fn quotes_and_backslashes_follow_libpq() {
    let dsn = resolved(r"host=h user='a b' password=x\ \'y dbname='it\'s'");
    assert_eq!(dsn.user, "a b");
    assert_eq!(dsn.password.as_deref(), Some("x 'y"));
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
    assert_eq!(dsn.resolve().expect("resolves").password, Some(home));
}

#[test]
fn a_file_reference_loses_its_trailing_newline() {
    let path = std::env::temp_dir().join(format!("dsn-reference-{}", std::process::id()));
    std::fs::write(&path, "sesam%40\n").expect("writes");
    for text in [
        format!("postgres://u:${{file:{}}}@h:1/d", path.display()),
        format!("host=h user=u password=${{file:{}}}", path.display()),
    ] {
        assert_eq!(resolved(&text).password.as_deref(), Some("sesam%40"));
    }
    std::fs::remove_file(&path).expect("removes");
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
fn what_cannot_be_used_is_refused_by_name() {
    let refused = |text: &str| Dsn::parse(text).expect_err(text).to_string();
    assert_eq!(refused("user=u"), "connection string names no host");
    assert_eq!(refused("host=h"), "connection string names no user");
    assert!(refused("host=a,b user=u").contains("exactly one host"));
    assert!(refused("host=h user=u port=99999").contains("port"));
    assert!(refused("host=h user=u sslmode=verify-full").contains("TLS"));
    assert!(refused("host=h user=u sslmode=maybe").contains("sslmode"));
    assert!(refused("host=h user=u passwort=x").contains("\"passwort\""));
}
