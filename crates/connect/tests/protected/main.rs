//! Connections as users have them, against real servers: TLS, certificates, password files,
//! services, several hosts.

mod authority;
mod files;
mod hosts;
mod methods;
mod tls;
