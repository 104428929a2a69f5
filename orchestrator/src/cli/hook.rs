//! `shardwright hook`: checks the file of hooks of a controller, and calls its hooks for a test, without a controller.

use super::error::CliError;
use super::output::{Output, TextTable};
use crate::hooks::{HookAnswer, HookMessage, Hooks, call};
use crate::store::MigrationPhase;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// What can be done with hooks.
#[derive(Debug, Subcommand)]
pub(super) enum HookCommand {
    /// Check a file of hooks, and list the hooks.
    List(HookListArgs),
    /// Call a hook once with a sample message, as a controller would, and print its answer.
    Test(HookTestArgs),
}

/// The option that names the file.
#[derive(Debug, Args)]
struct HooksFile {
    /// The file of hooks, as `serve --hooks` takes it.
    #[arg(long = "hooks", value_name = "FILE", env = "SHARDWRIGHT_HOOKS")]
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct HookListArgs {
    #[command(flatten)]
    file: HooksFile,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct HookTestArgs {
    /// The hook.
    name: String,
    /// The phase in the sample message. By default the first phase for which the hook is called.
    #[arg(long, value_parser = parse_phase)]
    phase: Option<MigrationPhase>,
    #[command(flatten)]
    file: HooksFile,
}

impl HookCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        match self {
            Self::List(list) => list.run(),
            Self::Test(test) => test.run().await,
        }
    }
}

impl HookListArgs {
    fn run(self) -> Result<u8, CliError> {
        let hooks = Hooks::read(&self.file.path)?;
        let all: Vec<_> = hooks
            .all()
            .map(|hook| {
                let kind = if hook.url.is_some() { "url" } else { "command" };
                json!({ "name": hook.name, "on": hook.on, "kind": kind, "signed": hook.secret.is_some() })
            })
            .collect();
        self.output.print(&all, |_| {
            let rows = hooks.all().map(|hook| {
                let on: Vec<&str> = hook.on.iter().map(|phase| phase.name()).collect();
                let kind = if hook.url.is_some() { "url" } else { "command" };
                vec![hook.name.clone(), kind.to_owned(), on.join(" ")]
            });
            TextTable::new(&["NAME", "KIND", "ON"], rows.collect())
        })
    }
}

impl HookTestArgs {
    async fn run(self) -> Result<u8, CliError> {
        let hooks = Hooks::read(&self.file.path)?;
        let hook = hooks.get(&self.name);
        let hook = hook.ok_or_else(|| {
            let path = self.file.path.display();
            CliError::NotFound(format!("{path} has no hook {:?}", self.name))
        })?;
        let first = hook.on.iter().next().copied();
        let phase = self.phase.or(first).unwrap_or(MigrationPhase::Submitted);
        let message = HookMessage::sample(&hook.name, phase, chrono::Utc::now());
        match call(hook, &message).await {
            HookAnswer::Yes => {
                super::out::print("yes\n");
                Ok(0)
            }
            HookAnswer::No(reason) => Err(CliError::Refused(format!("the hook refuses: {reason}"))),
            HookAnswer::Silent(reason) => {
                let what = format!("hook {} did not answer: {reason}", hook.name);
                Err(CliError::Hook(what))
            }
        }
    }
}

fn parse_phase(name: &str) -> Result<MigrationPhase, String> {
    let phase = MigrationPhase::ALL
        .into_iter()
        .find(|phase| phase.name() == name);
    phase.ok_or_else(|| {
        format!(
            "must be one of {}",
            MigrationPhase::ALL.map(MigrationPhase::name).join(", ")
        )
    })
}
