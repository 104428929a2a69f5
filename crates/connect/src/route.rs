//! Selects the server of a session: it tries every address of every host in order, until one is suitable.
//!
//! For each address it connects, establishes TLS, logs in, and checks `target_session_attrs`. The time limit applies to
//! each address separately. If all fail, the error contains the error of each.

use std::future::Future;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::ConnectError;
use crate::dial::{DialError, HostAddress, Link, Protection, dial, places};
use crate::resolved::{ChannelBinding, Host, Resolved, SslMode, Target};
use crate::tls;

/// What a server reports about itself after a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerStanding {
    pub(crate) standby: bool,
    pub(crate) read_only: bool,
}

impl ServerStanding {
    /// Reads the parameters that a server reports at the start of a session.
    pub(crate) fn read<'a>(parameter: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        let on = |name| parameter(name) == Some("on");
        Self {
            standby: on("in_hot_standby"),
            read_only: on("default_transaction_read_only"),
        }
    }

    fn suits(self, target: Target) -> bool {
        let read_only = self.standby || self.read_only;
        match target {
            Target::Any => true,
            Target::ReadWrite => !read_only,
            Target::ReadOnly => read_only,
            Target::Primary => !self.standby,
            Target::Standby | Target::PreferStandby => self.standby,
        }
    }
}

/// A kind of session: how to log in, and how to prepare it once the server is suitable.
pub(crate) trait SessionKind {
    /// A session after the login.
    type Entered: Send;
    /// A session that is ready for use.
    type Ready: Send;

    /// Logs in on `link`.
    fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> impl Future<Output = Result<(Self::Entered, ServerStanding), ConnectError>> + Send;

    /// Prepares a session after its login.
    fn prepare(
        &self,
        entered: Self::Entered,
        server: &str,
    ) -> impl Future<Output = Result<Self::Ready, ConnectError>> + Send;
}

/// Opens a session of this kind on the first suitable server.
pub(crate) async fn open<K: SessionKind + Sync>(
    resolved: &Resolved,
    kind: &K,
) -> Result<K::Ready, ConnectError> {
    let attempt = RouteAttempt {
        resolved,
        tls: tls_config(resolved)?,
    };
    let mut hosts: Vec<&Host> = resolved.hosts.iter().collect();
    if resolved.random_order {
        hosts.shuffle(&mut rand::rng());
    }
    let targets: &[Target] = if resolved.target == Target::PreferStandby {
        &[Target::Standby, Target::Any]
    } else {
        std::slice::from_ref(&resolved.target)
    };
    let mut failures = Vec::new();
    for target in targets {
        failures.clear();
        for host in &hosts {
            if let Some(ready) = attempt.host(host, *target, kind, &mut failures).await {
                return Ok(ready);
            }
        }
    }
    match failures.len() {
        1 => Err(failures.remove(0)),
        _ => Err(ConnectError::Hosts {
            server: resolved.server(),
            failures,
        }),
    }
}

fn tls_config(resolved: &Resolved) -> Result<Option<Arc<ClientConfig>>, ConnectError> {
    let unused = resolved.hosts.iter().all(Host::is_socket);
    if unused || resolved.ssl_mode == SslMode::Disable {
        return Ok(None);
    }
    let config = tls::config(resolved.ssl_mode, &resolved.certificates);
    config.map(Some).map_err(|source| ConnectError::Tls {
        server: resolved.server(),
        source: Box::new(source),
    })
}

struct RouteAttempt<'a> {
    resolved: &'a Resolved,
    tls: Option<Arc<ClientConfig>>,
}

impl RouteAttempt<'_> {
    /// Tries the addresses of one host. Errors are added to `failures`.
    async fn host<K: SessionKind + Sync>(
        &self,
        host: &Host,
        target: Target,
        kind: &K,
        failures: &mut Vec<ConnectError>,
    ) -> Option<K::Ready> {
        let server = format!("{host}/{}", self.resolved.dbname);
        let limit = self.resolved.connect_timeout;
        let late = || ConnectError::Timeout {
            server: server.clone(),
            after: limit,
        };
        let places = match timeout(limit, places(host)).await {
            Ok(Ok(places)) => places,
            Ok(Err(source)) => {
                failures.push(ConnectError::Network { server, source });
                return None;
            }
            Err(_) => {
                failures.push(late());
                return None;
            }
        };
        for place in places {
            let attempt = self.place(host, &place, target, kind, &server);
            match timeout(limit, attempt).await {
                Ok(Ok(ready)) => return Some(ready),
                Ok(Err(error)) => failures.push(error),
                Err(_) => failures.push(late()),
            }
        }
        None
    }

    /// Tries one address. If the mode allows both and the first attempt fails, it tries again without or with TLS.
    async fn place<K: SessionKind + Sync>(
        &self,
        host: &Host,
        place: &HostAddress,
        target: Target,
        kind: &K,
        server: &str,
    ) -> Result<K::Ready, ConnectError> {
        let (first, second) = self.protections(place);
        let entered = match self.enter(host, place, first, kind, server).await {
            Err(error) if second.is_some() && error.may_depend_on_tls() => {
                let second = second.unwrap_or(Protection::None);
                self.enter(host, place, second, kind, server).await?
            }
            entered => entered?,
        };
        let (entered, standing) = entered;
        if !standing.suits(target) {
            return Err(ConnectError::Target {
                server: server.to_owned(),
                wanted: target,
            });
        }
        kind.prepare(entered, server).await
    }

    fn protections(&self, place: &HostAddress) -> (Protection, Option<Protection>) {
        let (HostAddress::Tcp(_), Some(config)) = (place, &self.tls) else {
            return (Protection::None, None);
        };
        let config = Arc::clone(config);
        let direct = self.resolved.ssl_direct;
        match self.resolved.ssl_mode {
            SslMode::Disable => (Protection::None, None),
            SslMode::Allow => (
                Protection::None,
                Some(Protection::Always { config, direct }),
            ),
            SslMode::Prefer => (Protection::IfOffered(config), Some(Protection::None)),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                (Protection::Always { config, direct }, None)
            }
        }
    }

    async fn enter<K: SessionKind + Sync>(
        &self,
        host: &Host,
        place: &HostAddress,
        protection: Protection,
        kind: &K,
        server: &str,
    ) -> Result<(K::Entered, ServerStanding), ConnectError> {
        let owned = || server.to_owned();
        let link = dial(host, place, protection).await.map_err(|e| match e {
            DialError::Network(source) => ConnectError::Network {
                server: owned(),
                source,
            },
            DialError::Tls(source) => ConnectError::Tls {
                server: owned(),
                source: Box::new(source),
            },
        })?;
        let bound = self.resolved.channel_binding == ChannelBinding::Require;
        if bound && link.end_point().is_none() {
            let reason = match link.is_protected() {
                true => "the server's certificate has no hash that it could be bound to",
                false => "the connection is not protected by TLS",
            };
            return Err(ConnectError::Binding {
                server: owned(),
                reason,
            });
        }
        let verified = link.is_protected() && self.resolved.ssl_mode == SslMode::VerifyFull;
        let allowed = self.resolved.methods.of_connection(verified);
        kind.enter(link.admitting(allowed), host, server).await
    }
}
