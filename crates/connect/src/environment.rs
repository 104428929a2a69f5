//! The environment that supplies what a connection string omits: the `PG*` variables, the home folder where libpq finds
//! its files, and the secrets to which a connection string may refer.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::secrets::Secrets;

/// Connection parameters and their environment variables.
pub(crate) const VARIABLES: [(&str, &str); 20] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("dbname", "PGDATABASE"),
    ("service", "PGSERVICE"),
    ("options", "PGOPTIONS"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("sslmode", "PGSSLMODE"),
    ("sslnegotiation", "PGSSLNEGOTIATION"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("require_auth", "PGREQUIREAUTH"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    ("gssencmode", "PGGSSENCMODE"),
];

/// Variables that determine where files are found. They correspond to no parameter.
const FILE_VARIABLES: [&str; 3] = ["PGSERVICEFILE", "PGSYSCONFDIR", "HOME"];

/// The environment of the process that connects. `Debug` shows only the names of variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    secrets: Secrets,
}

impl Environment {
    /// Returns the current variables of this process. A variable that is not UTF-8 is ignored.
    pub fn of_process() -> Self {
        let names = VARIABLES
            .iter()
            .map(|(_, name)| *name)
            .chain(FILE_VARIABLES)
            .filter_map(|name| Some((name, std::env::var(name).ok()?)));
        Self::of(names).reading(Secrets::of_process())
    }

    /// Creates an environment with only these variables.
    pub fn of<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let pairs = variables.into_iter();
        Self {
            variables: pairs.map(|(n, v)| (n.into(), v.into())).collect(),
            secrets: Secrets::default(),
        }
    }

    /// Restricts the secrets to which a connection string may refer to `secrets`.
    #[must_use]
    pub fn reading(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    pub(crate) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns a variable if it is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns a path below the home folder, if there is one.
    pub(crate) fn path_below_home(&self, path: &str) -> Option<PathBuf> {
        Some(PathBuf::from(self.get("HOME")?).join(path))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
