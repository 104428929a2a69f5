//! Files that libpq reads for a connection: the service file and the password file.

mod password;
mod service;

pub(crate) use password::{PasswordQuery, Passwords};
pub use service::ServiceError;
pub(crate) use service::service;
