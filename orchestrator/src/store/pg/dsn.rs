//! The store's connection string. It has the form that docs/connections.md describes, with a single host.
//!
//! sqlx trusts the certificate authorities of the operating system in addition to those of a file. Therefore a
//! certificate is either verified together with the host name, or not at all.

use connect::{ChannelBinding, ConnectError, Dsn, Host, Resolved, Roots, SslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// Why a connection string of the store cannot be used. The message never contains a password.
#[derive(Debug, thiserror::Error)]
pub enum DsnError {
    /// The connection string has an unknown form.
    #[error("the store's connection string cannot be read: {0}")]
    Malformed(#[from] connect::DsnError),
    /// A reference or a service cannot be resolved, or a value is missing.
    #[error("the store's connection string cannot be used: {}", cause(.0))]
    Unresolved(#[from] ConnectError),
    /// The connection string requests a feature that the store's driver does not support.
    #[error(
        "the store's connection string requests {what}, which the store does not support; {instead}"
    )]
    Unsupported {
        /// The requested feature.
        what: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
}

const fn unsupported<T>(what: &'static str, instead: &'static str) -> Result<T, DsnError> {
    Err(DsnError::Unsupported { what, instead })
}

/// Parses `dsn`, and resolves its references. Values that it omits come from the environment of this process.
pub(super) fn connect_options(dsn: &str) -> Result<PgConnectOptions, DsnError> {
    let resolved = Dsn::parse(dsn)?.resolve()?;
    let [host] = resolved.hosts.as_slice() else {
        return unsupported("several hosts", "use one host");
    };
    let address = host.address.map(|address| address.to_string());
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(address.as_deref().unwrap_or(&host.name))
        .port(host.port)
        .username(&resolved.user)
        .database(&resolved.dbname)
        .ssl_mode(tls_mode(&resolved, host)?);
    if let Some(Roots::File(path)) = &resolved.certificates.roots {
        options = options.ssl_root_cert(path);
    }
    if let Some((certificate, key)) = &resolved.certificates.own {
        options = options.ssl_client_cert(certificate).ssl_client_key(key);
    }
    if let Some(password) = &host.password {
        options = options.password(password);
    }
    Ok(options)
}

/// Returns the TLS mode of the driver.
fn tls_mode(resolved: &Resolved, host: &Host) -> Result<PgSslMode, DsnError> {
    if resolved.channel_binding == ChannelBinding::Require {
        return unsupported("channel_binding=require", "write sslmode=verify-full");
    }
    if resolved.methods.are_named() {
        return unsupported("require_auth", "write sslmode=verify-full");
    }
    if host.is_socket() || resolved.ssl_mode <= SslMode::Prefer {
        return Ok(PgSslMode::Disable);
    }
    if resolved.ssl_direct {
        return unsupported("sslnegotiation=direct", "leave it out");
    }
    let has_roots = resolved.certificates.roots.is_some();
    let address_is_name = host.address.is_none_or(|it| it.to_string() == host.name);
    match resolved.ssl_mode {
        SslMode::Disable | SslMode::Allow | SslMode::Prefer => Ok(PgSslMode::Disable),
        SslMode::Require if !has_roots => Ok(PgSslMode::Require),
        SslMode::Require | SslMode::VerifyCa => unsupported(
            "a certificate that is verified without the host's name",
            "write sslmode=verify-full",
        ),
        SslMode::VerifyFull if !has_roots => unsupported(
            "sslmode=verify-full and no authority is known",
            "add sslrootcert=FILE",
        ),
        SslMode::VerifyFull if !address_is_name => unsupported(
            "sslmode=verify-full at a hostaddr",
            "write only the name in the certificate as host, without hostaddr",
        ),
        SslMode::VerifyFull => Ok(PgSslMode::VerifyFull),
    }
}

fn cause(error: &ConnectError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for text in [
            r"host=a  port = 5 dbname='it\'s b' user=c password=d",
            "postgres://c:d@a:5/it's b",
        ] {
            let found = connect_options(text).unwrap();
            let found_values = (found.get_host(), found.get_port(), found.get_username());
            assert_eq!(found_values, ("a", 5, "c"));
            assert_eq!(found.get_database(), Some("it's b"));
        }
    }

    #[test]
    fn an_unresolved_reference_is_named_in_the_error() {
        let error = connect_options("host=a user=b password=${file:/nowhere/at/all}").unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }

    #[test]
    fn an_unsupported_option_is_refused_by_name() {
        for (text, word) in [
            ("host=a,b user=c", "several hosts"),
            ("host=a user=c channel_binding=require", "channel_binding"),
            ("host=a user=c require_auth=scram-sha-256", "require_auth"),
            (
                "host=a user=c sslmode=require sslnegotiation=direct",
                "sslnegotiation",
            ),
            (
                "host=a user=c sslmode=verify-ca sslrootcert=/x",
                "verify-full",
            ),
            (
                "host=a user=c sslmode=require sslrootcert=/x",
                "verify-full",
            ),
            (
                "host=a hostaddr=10.0.0.1 user=c sslmode=verify-full sslrootcert=/x",
                "hostaddr",
            ),
        ] {
            let error = connect_options(text).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn a_connection_uses_the_tls_mode_of_the_string() {
        for (text, mode) in [
            ("host=a user=b", PgSslMode::Disable),
            (
                "host=a user=b sslmode=prefer sslrootcert=/x",
                PgSslMode::Disable,
            ),
            (
                "host=/run/postgresql user=b sslmode=verify-full sslrootcert=/x",
                PgSslMode::Disable,
            ),
            (
                "host=a user=b sslmode=verify-full sslrootcert=/x",
                PgSslMode::VerifyFull,
            ),
            ("host=a user=b sslrootcert=system", PgSslMode::VerifyFull),
        ] {
            let found = connect_options(text).unwrap().get_ssl_mode();
            assert_eq!(format!("{found:?}"), format!("{mode:?}"), "{text}");
        }
    }
}
