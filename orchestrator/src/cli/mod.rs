//! The command line: one file per noun, data on stdout, messages on stderr.
//!
//! Most commands send requests to the API and print the answers. `serve`, `init`, `hook` and others do not need a
//! controller.
#![deny(clippy::print_stdout)]

mod agent;
mod cleanup;
mod client;
mod command;
mod complete;
mod config;
mod consent;
mod context;
mod dashboard;
mod doctor;
mod document;
mod error;
mod error_document;
mod examples;
mod external;
mod files;
mod fleet;
mod follow;
mod groups;
mod hook;
mod init;
mod keys;
mod map;
mod measure;
mod migration;
mod operation;
mod out;
mod output;
mod pages;
mod plan;
mod preview;
mod reconcile;
mod removal;
mod report;
mod serve;
mod set;
mod shard;
mod shard_show;
mod token;
mod top;
mod verify;
mod version;
mod wait;
mod watch;

pub use complete::complete;
pub use error::CliError;
pub use error_document::{ErrorForm, UsageError};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use client::Client;
use controller_client::ControllerClient;
use futures::future::LocalBoxFuture;

const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   a technical failure: network, disk, an agent or a server
  3   the named object does not exist
  4   the input is valid, but refused: findings to fix, keys that already move, a plan that is stale, edited or applied
  6   timeout
  7   not possible in this state
  8   the migration failed, was aborted or rolled back, or ended otherwise than requested
  9   a check found defects
  64  wrong input: an argument, a file, a request; confirmation is missing and there is no terminal (pass --yes)
  130 interrupted; the migration continues
  141 the reader of the output has closed it

Output: -o table, wide, json, jsonl, yaml or name, or SHARDWRIGHT_OUTPUT; data on stdout, messages on stderr
(for `plan` use --output, because its -o names the plan's file). With -o json an error is a JSON object too.";

/// Moves shards of a live PostgreSQL fleet.
#[derive(Debug, Parser)]
#[command(name = "shardwright", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    options: config::Options,
    /// Whether output for people has colours; auto: if it goes to a terminal, and neither NO_COLOR nor CLICOLOR=0 is
    /// set.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    color: clap::ColorChoice,
    #[arg(skip)]
    errors: ErrorForm,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run the controller.
    Serve(serve::Serve),
    /// Run an operation under load on private shards of this machine, and print a report.
    Demo(external::External),
    /// Run migrations on this machine, inject one fault in each run, and count the runs that survive it.
    Torture(external::External),
    /// Examine databases and write a first fleet file for them; nothing is changed.
    Init(init::Init),
    /// The fleet: apply a file with shards and maps.
    #[command(subcommand)]
    Fleet(fleet::Fleet),
    /// Shards: add, set, list, show, remove.
    #[command(subcommand)]
    Shard(shard::ShardCommand),
    /// Shard maps: create, import, show, change, check, measure.
    #[command(subcommand)]
    Map(map::Map),
    /// Create a plan from a request or from flags, print it, and write it to a file.
    Plan(plan::Plan),
    /// Submit a plan, and print the id of the operation.
    Apply(plan::ApplyArgs),
    /// Report everything that prevents moves: on all shards, on one, of a map, or of a request.
    Doctor(doctor::Doctor),
    /// Tokens of people, applications and agents: create, list, revoke.
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Contexts (named controllers): list, show, use, set, remove.
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Print a link to the dashboard that signs your browser in.
    Dashboard,
    /// Watch all migrations on one screen, first those that wait for an operator.
    Top(top::Top),
    /// Agents: list, remove.
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// List objects on the shards that belong to no unfinished migration; remove them with --apply.
    Cleanup(cleanup::Cleanup),
    /// Probe every shard now, compare it with the map, and repair a store that is older than the fleet.
    Reconcile(reconcile::Reconcile),
    /// Hooks that a controller calls: list, test.
    #[command(subcommand)]
    Hook(hook::HookCommand),
    /// Show the version of this program and that of the controller.
    Version(version::Version),
    /// Print the script that lets a shell complete commands and names.
    Completions(pages::Completions),
    /// Write man pages, one for each command.
    Man(pages::Man),
    /// Operations and their migrations: the long form of commands such as show and abort.
    #[command(subcommand)]
    Migration(migration::MigrationCommand),
    #[command(flatten)]
    Verb(migration::MigrationCommand),
}

/// Returns the description of the command line, with examples.
pub(crate) fn command() -> clap::Command {
    groups::with_groups(examples::with_examples(Cli::command()))
}

impl Cli {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// A [`UsageError`], also if the user requested help or the version.
    pub fn read() -> Result<Self, UsageError> {
        let mut command = command();
        let parsed = command
            .try_get_matches_from_mut(std::env::args_os())
            .and_then(|matches| {
                let errors = ErrorForm::of(&matches);
                let cli = Self::from_arg_matches(&matches)?;
                Ok(Self { errors, ..cli })
            });
        match parsed {
            Ok(cli) => {
                use_colors(cli.color);
                Ok(cli)
            }
            Err(error) => {
                let words: Vec<String> = std::env::args().collect();
                let color = error_document::value_of(&words, "--color");
                let color = color.and_then(|when| clap::ColorChoice::from_str(&when, true).ok());
                use_colors(color.unwrap_or_default());
                let form = ErrorForm::of_refused(&command, &words);
                let error = Box::new(error);
                Err(UsageError { error, form })
            }
        }
    }

    /// Returns how errors are reported.
    #[must_use]
    pub fn error_form(&self) -> ErrorForm {
        self.errors
    }

    /// Runs the command, and returns the exit code. The future is boxed, so that it is compiled in this crate and not
    /// again in the program.
    ///
    /// # Errors
    /// A [`CliError`], which has an exit code.
    pub fn run(self) -> LocalBoxFuture<'static, Result<u8, CliError>> {
        Box::pin(self.execute())
    }

    async fn execute(self) -> Result<u8, CliError> {
        let client = || {
            let (controller, identity) = self.options.resolve()?;
            Ok::<_, CliError>(Client::new(
                &controller,
                ControllerClient::new(&identity)?,
                self.options.idempotency_key.clone(),
            ))
        };
        match self.command {
            CliCommand::Serve(serve) => serve.run().await,
            CliCommand::Demo(program) => program.run("demo"),
            CliCommand::Torture(program) => program.run("torture"),
            CliCommand::Init(init) => init.run().await,
            CliCommand::Fleet(fleet) => fleet.run(&client()?).await,
            CliCommand::Shard(shard) => shard.run(&client()?).await,
            CliCommand::Map(map) => map.run(&client()?).await,
            CliCommand::Plan(plan) => plan.run(&client()?).await,
            CliCommand::Apply(apply) => apply.run(&client()?).await,
            CliCommand::Doctor(doctor) => doctor.run(&client()?).await,
            CliCommand::Token(token) => token.run(&client()?).await,
            CliCommand::Dashboard => dashboard::run(&client()?).await,
            CliCommand::Top(top) => top.run(&client()?).await,
            CliCommand::Agent(agent) => agent.run(&client()?).await,
            CliCommand::Cleanup(cleanup) => cleanup.run(&client()?).await,
            CliCommand::Reconcile(reconcile) => reconcile.run(&client()?).await,
            CliCommand::Hook(verb) => verb.run().await,
            CliCommand::Version(version) => version.run(client()).await,
            CliCommand::Completions(completions) => completions.print(),
            CliCommand::Man(man) => man.write(),
            CliCommand::Context(context) => context.run(&self.options),
            CliCommand::Migration(verb) | CliCommand::Verb(verb) => verb.run(&client()?).await,
        }
    }
}

/// Sets whether the output of this process has colours.
fn use_colors(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn verbs_have_a_long_form() {
        for line in [
            "shardwright migration show m1",
            "shardwright show m1 -o json",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }
}
