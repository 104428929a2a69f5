//! Sessions of the replication protocol, until the server is ready for a command.
//!
//! As for every session, a suitable server is selected and TLS is established. Then the session starts with
//! `replication=database`, and the password is proved. The caller sends the commands.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message, ParameterStatusBody};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::dial::Link;
use crate::refusal::Refusal;
use crate::resolved::{ChannelBinding, Host, Resolved};
use crate::route::{self, ServerStanding, SessionKind};
use crate::{ConnectError, Dsn};

/// Why a server refused a replication session.
#[derive(Debug, thiserror::Error)]
pub enum StartupError {
    /// The server reported an error.
    #[error("{} (SQLSTATE {})", .0.message, .0.state)]
    Server(Refusal),
    /// The server requests a password, and none is known.
    #[error("the server asks for a password and none is known")]
    NoPassword,
    /// The server requests an authentication method that is not supported.
    #[error("the server asks for a way to log in that is not known here")]
    UnknownMethod,
    /// Channel binding is required, and the server did not offer it.
    #[error("the server did not use channel binding")]
    NotBound,
    /// The connection was lost, or the received data are not PostgreSQL's protocol.
    #[error("the connection broke off")]
    Broken(#[from] io::Error),
}

/// A replication session that is ready for its first command.
pub struct Walsender {
    link: Link,
    unread: BytesMut,
    server: String,
    connect_timeout: Duration,
}

impl Walsender {
    /// Opens a session with the name `application_name`. `options` are added after those of the connection string.
    ///
    /// # Errors
    /// [`ConnectError`]; [`ConnectError::class`] states whether a retry is useful.
    pub async fn open(
        dsn: &Dsn,
        application_name: &str,
        options: &str,
    ) -> Result<Self, ConnectError> {
        let resolved = dsn.resolve()?;
        let options = match &resolved.options {
            Some(own) => format!("{own} {options}"),
            None => options.to_owned(),
        };
        let kind = Replication {
            resolved: &resolved,
            application_name,
            options,
        };
        route::open(&resolved, &kind).await
    }

    /// Returns the server as `host:port/dbname`, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the time limit for a response of the server, from the connection string.
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Returns the bytes that the server has already sent after the start, and the connection.
    pub fn into_stream(
        self,
    ) -> (
        Bytes,
        impl AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug + 'static,
    ) {
        (self.unread.freeze(), self.link)
    }
}

impl std::fmt::Debug for Walsender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Walsender({})", self.server)
    }
}

struct Replication<'a> {
    resolved: &'a Resolved,
    application_name: &'a str,
    options: String,
}

impl SessionKind for Replication<'_> {
    type Entered = Walsender;
    type Ready = Walsender;

    async fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> Result<(Walsender, ServerStanding), ConnectError> {
        let mut start = Start {
            link,
            read: BytesMut::new(),
        };
        let password = host.password.as_deref();
        let begun = async {
            start.begin(self).await?;
            start.authenticate(self.resolved, password).await?;
            start.ready().await
        };
        let standing = begun
            .await
            .map_err(|source| ConnectError::startup(server, self.resolved, source))?;
        let entered = Walsender {
            link: start.link,
            unread: start.read,
            server: server.to_owned(),
            connect_timeout: self.resolved.connect_timeout,
        };
        Ok((entered, standing))
    }

    async fn prepare(&self, entered: Walsender, _server: &str) -> Result<Walsender, ConnectError> {
        Ok(entered)
    }
}

/// The start of the protocol on one connection.
struct Start {
    link: Link,
    read: BytesMut,
}

impl Start {
    async fn begin(&mut self, of: &Replication<'_>) -> Result<(), StartupError> {
        let parameters = [
            ("user", of.resolved.user.as_str()),
            ("database", &of.resolved.dbname),
            ("replication", "database"),
            ("client_encoding", "UTF8"),
            ("application_name", of.application_name),
            ("options", &of.options),
        ];
        let mut message = BytesMut::new();
        frontend::startup_message(parameters, &mut message)?;
        self.send(&message).await
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an open list of the protocol's messages"
    )]
    async fn authenticate(
        &mut self,
        resolved: &Resolved,
        password: Option<&str>,
    ) -> Result<(), StartupError> {
        let password = || password.ok_or(StartupError::NoPassword);
        let unbound = || match resolved.channel_binding {
            ChannelBinding::Require => Err(StartupError::NotBound),
            ChannelBinding::Disable | ChannelBinding::Prefer => Ok(()),
        };
        let mut answer = BytesMut::new();
        match self.next().await? {
            Message::AuthenticationOk => return unbound(),
            Message::AuthenticationCleartextPassword => {
                unbound()?;
                frontend::password_message(password()?.as_bytes(), &mut answer)?;
                self.send(&answer).await?;
            }
            Message::AuthenticationMd5Password(body) => {
                unbound()?;
                let user = resolved.user.as_bytes();
                let hash = md5_hash(user, password()?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), &mut answer)?;
                self.send(&answer).await?;
            }
            Message::AuthenticationSasl(body) => {
                let password = password()?.as_bytes();
                self.scram(&body, password, resolved.channel_binding)
                    .await?;
            }
            _ => return Err(StartupError::UnknownMethod),
        }
        match self.next().await? {
            Message::AuthenticationOk => Ok(()),
            _ => Err(unexpected()),
        }
    }

    async fn scram(
        &mut self,
        body: &AuthenticationSaslBody,
        password: &[u8],
        wanted: ChannelBinding,
    ) -> Result<(), StartupError> {
        let offered: Vec<&str> = body.mechanisms().collect()?;
        let point = self.link.end_point();
        let point = point.filter(|_| wanted != ChannelBinding::Disable);
        let bound = offered.contains(&sasl::SCRAM_SHA_256_PLUS);
        let (binding, mechanism) = match point {
            Some(hash) if bound => (
                sasl::ChannelBinding::tls_server_end_point(hash),
                sasl::SCRAM_SHA_256_PLUS,
            ),
            _ if !offered.contains(&sasl::SCRAM_SHA_256) => {
                return Err(StartupError::UnknownMethod);
            }
            _ if wanted == ChannelBinding::Require => return Err(StartupError::NotBound),
            Some(_) => (sasl::ChannelBinding::unrequested(), sasl::SCRAM_SHA_256),
            None => (sasl::ChannelBinding::unsupported(), sasl::SCRAM_SHA_256),
        };
        let mut scram = ScramSha256::new(password, binding);
        let mut first = BytesMut::new();
        frontend::sasl_initial_response(mechanism, scram.message(), &mut first)?;
        self.send(&first).await?;
        let Message::AuthenticationSaslContinue(body) = self.next().await? else {
            return Err(unexpected());
        };
        scram.update(body.data())?;
        let mut proof = BytesMut::new();
        frontend::sasl_response(scram.message(), &mut proof)?;
        self.send(&proof).await?;
        let Message::AuthenticationSaslFinal(body) = self.next().await? else {
            return Err(unexpected());
        };
        Ok(scram.finish(body.data())?)
    }

    /// Reads until the server is ready for a command.
    async fn ready(&mut self) -> Result<ServerStanding, StartupError> {
        let mut parameters: Vec<ParameterStatusBody> = Vec::new();
        loop {
            let message = self.next().await?;
            if let Message::ReadyForQuery(_) = message {
                break;
            }
            if let Message::ParameterStatus(body) = message {
                parameters.push(body);
            }
        }
        Ok(ServerStanding::read(|name| {
            let found = parameters
                .iter()
                .find(|body| body.name().ok() == Some(name));
            found.and_then(|body| body.value().ok())
        }))
    }

    async fn send(&mut self, message: &[u8]) -> Result<(), StartupError> {
        self.link.write_all(message).await?;
        Ok(self.link.flush().await?)
    }

    /// Returns the next message. An error message of the server becomes an error.
    async fn next(&mut self) -> Result<Message, StartupError> {
        loop {
            match Message::parse(&mut self.read)? {
                Some(Message::ErrorResponse(body)) => {
                    return Err(StartupError::Server(Refusal::read(&body)));
                }
                Some(Message::NoticeResponse(_)) => {}
                Some(message) => return Ok(message),
                None if self.link.read_buf(&mut self.read).await? == 0 => {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                None => {}
            }
        }
    }
}

fn unexpected() -> StartupError {
    let error = io::Error::new(
        io::ErrorKind::InvalidData,
        "an unexpected message came while logging in",
    );
    StartupError::Broken(error)
}
