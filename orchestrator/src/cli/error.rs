//! The errors of commands, and their exit codes.

use super::document::DocumentKind;
use crate::api::{ApiError, INLINE_PASSWORD, Problem, ServeError, UNREADABLE_DSN};
use crate::cli::out::report;
use crate::controller::ControlError;
use crate::hooks::HooksError;
use crate::store::pg::OpenError;
use controller_client::SetupError;
use discover::DiscoverError;
use plans::doctor::Finding;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The code of an error for wrong usage.
pub(super) const INVALID_USAGE: &str = "usage.invalid";
/// The exit code for wrong usage.
pub(super) const USAGE: u8 = 64;
/// The migration failed, was aborted or rolled back.
pub(super) const MIGRATION_FAILED: u8 = 8;
/// A check found defects or could not examine everything, or a repair failed.
pub(super) const DEFECTS: u8 = 9;
/// The exit code after Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;
const NEWER_STORE: &str = "a newer controller has upgraded the store: start that version, or restore a backup from before the upgrade (docs/upgrades.md)";
const ERROR: u8 = 1;
const MISSING: u8 = 3;
/// The input is valid, but refused: something must be fixed first.
pub(super) const REFUSED: u8 = 4;
const TIMEOUT: u8 = 6;
const CONFLICT: u8 = 7;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The controller did not answer.
    #[error("the controller at {url} did not answer: {reason}")]
    Unreachable {
        /// The URL of the controller.
        url: String,
        /// Why there was no answer.
        reason: String,
        /// True if the request may have reached the controller.
        sent: bool,
    },
    /// The token or the certificates cannot be used.
    #[error(transparent)]
    ClientSetup(#[from] SetupError),
    /// The controller refused.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The controller's answer is not of the expected form.
    #[error("{url} sent an answer of an unexpected form: {reason}")]
    Answer {
        /// The URL that was requested.
        url: String,
        /// Why the answer is not of the expected form.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("could not {action} {}: {}", path.display(), file_error_text(source))]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// What the operating system reported.
        #[source]
        source: std::io::Error,
    },
    /// A file contains another kind of document than the command reads.
    #[error("{path} is {found}, not {wanted}")]
    OtherDocument {
        /// The file.
        path: String,
        /// The kind of document that the file contains.
        found: DocumentKind,
        /// The kind of document that the command reads.
        wanted: DocumentKind,
    },
    /// An argument has no usable value.
    #[error("{0}")]
    Usage(String),
    /// An object of a file, such as a context or a hook, does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Refused before the controller was queried.
    #[error("{0}")]
    Refused(String),
    /// The state was not reached in time.
    #[error("migration {id} is {state} after {waited}, not {wanted}")]
    Timeout {
        /// The migration.
        id: String,
        /// The state of the migration.
        state: String,
        /// The time for which the command waited.
        waited: String,
        /// The state for which the command waited.
        wanted: String,
    },
    /// The migration ended in another state than the one for which the command waited.
    #[error("migration {id} is {state}")]
    Ended {
        /// The migration.
        id: String,
        /// The state of the migration.
        state: String,
        /// The exit code.
        code: u8,
    },
    /// The private store could not be started.
    #[error(transparent)]
    Cluster(#[from] cluster::ClusterError),
    /// The store could not be opened.
    #[error("the control store could not be opened: {}", error_chain(.0))]
    Store(#[from] OpenError),
    /// The server could not listen.
    #[error("{}", error_chain(.0))]
    Serve(#[from] ServeError),
    /// The file of hooks cannot be used.
    #[error(transparent)]
    Hooks(#[from] HooksError),
    /// A hook that was tried does not work.
    #[error("{0}")]
    Hook(String),
    /// The environment names fail points that cannot be read.
    #[error(transparent)]
    FailPoint(#[from] fail_point::Malformed),
    /// A program that a command runs could not be started.
    #[error("{} could not be started: {source}", program.display())]
    External {
        /// The path of the program, or only its name if it is searched in `PATH`.
        program: PathBuf,
        /// What the operating system reported.
        #[source]
        source: std::io::Error,
    },
    /// No fleet file could be proposed for the databases.
    #[error(transparent)]
    Adopt(#[from] DiscoverError),
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl CliError {
    /// Prints the error for people, its findings, and how to fix them.
    pub(super) fn report_text(&self) {
        if let Self::Problem(problem) = self {
            report_findings(&problem.findings);
        }
        report!("error: {self}");
        if let Some(hint) = self.hint() {
            report!("hint: {hint}");
        }
    }

    /// Returns the stable code: that of the controller's answer, or one of the command line.
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Problem(problem) => &problem.code,
            Self::Unreachable { .. } => "controller.unreachable",
            Self::Answer { .. } => "controller.answer",
            Self::ClientSetup(_) => "client.setup",
            Self::File { action: "read", .. } => "file.unreadable",
            Self::File { .. } => "file.unwritable",
            Self::OtherDocument { .. } => "document.other_kind",
            Self::Usage(_) => INVALID_USAGE,
            Self::NotFound(_) => "name.missing",
            Self::Refused(_) => "command.refused",
            Self::Timeout { .. } => "wait.timeout",
            Self::Ended { .. } => "migration.ended",
            Self::Cluster(_) => "store.not_started",
            Self::Store(_) => "store.not_opened",
            Self::Serve(_) => "serve.failed",
            Self::Hooks(_) => "hooks.invalid",
            Self::Hook(_) => "hook.failed",
            Self::FailPoint(_) => "fail_point.malformed",
            Self::External { .. } => "program.not_started",
            Self::Adopt(_) => "init.failed",
            Self::Io(_) => "system.failed",
        }
    }

    /// Returns how to fix the error.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { .. } => Some(
                "start the controller with `shardwright serve`, or name another one with --controller or SHARDWRIGHT_CONTROLLER"
                    .to_owned(),
            ),
            Self::Problem(problem) => problem.hint.clone(),
            Self::OtherDocument { path, found, .. } => Some(found.command(path)),
            Self::External { .. } => Some(
                "the program must be in the folder of this program or in PATH; in a checkout `cargo build --release --bins` builds all programs"
                    .to_owned(),
            ),
            Self::Adopt(error) => error.hint().map(str::to_owned),
            Self::Serve(ServeError::NotLoopback { .. }) => {
                Some("use --admin-token-file FILE, or listen on 127.0.0.1 and connect through ssh -L".to_owned())
            }
            Self::Serve(ServeError::NoTls { .. }) => Some(
                "use --tls-cert and --tls-key, or --plain-http if a proxy in front of the controller uses TLS"
                    .to_owned(),
            ),
            Self::Serve(ServeError::NoName { .. }) => {
                Some("name the URL that other hosts use: --advertise https://NAME:PORT".to_owned())
            }
            Self::Serve(ServeError::Certificate { .. }) => {
                Some("certificate and key must be PEM files that the controller's account can read".to_owned())
            }
            Self::Serve(ServeError::Listen { .. }) => {
                Some("name another address with --listen".to_owned())
            }
            Self::Store(OpenError::Newer { .. }) => Some(NEWER_STORE.to_owned()),
            Self::Answer { .. }
            | Self::File { .. }
            | Self::ClientSetup(_)
            | Self::Usage(_)
            | Self::NotFound(_)
            | Self::Refused(_)
            | Self::Timeout { .. }
            | Self::Ended { .. }
            | Self::Cluster(_)
            | Self::Store(_)
            | Self::Hooks(_)
            | Self::Hook(_)
            | Self::FailPoint(_)
            | Self::Io(_) => None,
        }
    }

    /// Returns the exit code. It depends only on the kind of error: wrong input, an object that does not exist, a
    /// refusal, a state that does not permit the command, or a failure of a program, server or connection.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Problem(problem) => problem_exit_code(problem),
            Self::Usage(_)
            | Self::OtherDocument { .. }
            | Self::Hooks(_)
            | Self::FailPoint(_)
            | Self::File { action: "read", .. }
            | Self::ClientSetup(
                SetupError::File { .. } | SetupError::Token | SetupError::Certificates { .. },
            )
            | Self::Serve(
                ServeError::NotLoopback { .. }
                | ServeError::NoTls { .. }
                | ServeError::NoName { .. }
                | ServeError::Certificate { .. },
            )
            | Self::Adopt(DiscoverError::UnfitKey { .. }) => USAGE,
            Self::NotFound(_) => MISSING,
            Self::Refused(_)
            | Self::Adopt(
                DiscoverError::NoTables
                | DiscoverError::NoKey
                | DiscoverError::NoMap(_)
                | DiscoverError::Map(_),
            ) => REFUSED,
            Self::Timeout { .. } => TIMEOUT,
            Self::Ended { code, .. } => *code,
            Self::Unreachable { .. }
            | Self::Answer { .. }
            | Self::File { .. }
            | Self::ClientSetup(_)
            | Self::Cluster(_)
            | Self::Store(_)
            | Self::Serve(_)
            | Self::Adopt(DiscoverError::Connect { .. } | DiscoverError::Query { .. })
            | Self::Hook(_)
            | Self::External { .. }
            | Self::Io(_) => ERROR,
        }
    }
}

/// Returns the exit code for an error that the controller returned. The codes of inspections have the HTTP status 422;
/// they count as failures of a server, not as refusals.
fn problem_exit_code(problem: &Problem) -> u8 {
    match (problem.code.as_str(), problem.status) {
        (
            "plan.refused" | "plan.stale" | "plan.edited" | "plan.form" | "keys.moving"
            | "rules.broken" | "mend.refused" | "map.no_tables" | "approval.too_few"
            | "approval.unknown",
            _,
        )
        | (_, 401 | 403) => REFUSED,
        (
            INLINE_PASSWORD | UNREADABLE_DSN | "field.invalid" | "limit.invalid" | "map.invalid"
            | "request.invalid" | "request.unfit" | "order.reason",
            _,
        )
        | (_, 400 | 413) => USAGE,
        (_, 404) => MISSING,
        (_, 409 | 412) => CONFLICT,
        (_, 504) => TIMEOUT,
        (_, _) => ERROR,
    }
}

impl From<ControlError> for CliError {
    /// Converts an error that the command line has found itself into the answer that the controller would send.
    fn from(error: ControlError) -> Self {
        let (_, problem) = ApiError::from(error).into_parts();
        Self::Problem(Box::new(problem))
    }
}

/// Prints each finding that must be fixed, and how to get the SQL statements for it.
fn report_findings(findings: &[Finding]) {
    for finding in findings {
        let code = Some(&finding.sw).filter(|sw| !sw.is_empty());
        let code = code.unwrap_or(&finding.code);
        report!("refused: {code}: {}: {}", finding.object, finding.problem);
        report!("    {}", finding.remedy);
    }
    let number = findings.iter().filter(|f| f.fix.is_some()).count();
    if number > 0 {
        report!(
            "SQL fixes {number} of these: shardwright doctor REQUEST --script FILE writes the SQL"
        );
    }
}

/// Returns a text for an error of the operating system about a file.
fn file_error_text(error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::InvalidData {
        "the file is not UTF-8 text".to_owned()
    } else if error.kind() == ErrorKind::NotFound {
        "there is no such file or directory".to_owned()
    } else {
        error.to_string()
    }
}

/// Returns an error with its causes on one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
