//! `shardwright context`: manages contexts. A context is a name for a controller, with its token file and CA file.

use super::config::{Config, Options, Setting};
use super::error::CliError;
use super::output::{Output, TextTable, or_dash};
use crate::cli::out::report;
use clap::Subcommand;
use serde::Serialize;

/// Contexts.
#[derive(Debug, Subcommand)]
pub(super) enum ContextCommand {
    /// List the contexts of the config file.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Show the controller and the token file in use, and where each of these settings comes from.
    Show {
        #[command(flatten)]
        output: Output,
    },
    /// Make a context the default.
    Use {
        /// The name of the context.
        name: String,
    },
    /// Create or change a context, with the values of --controller, --token-file and --ca-file.
    Set {
        /// The name of the context.
        name: String,
    },
    /// Remove a context; its token file and CA file stay.
    Remove {
        /// The name of the context.
        name: String,
    },
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct ContextLine {
    name: String,
    current: bool,
    #[serde(flatten)]
    context: super::config::NamedController,
}

impl ContextCommand {
    pub(super) fn run(self, options: &Options) -> Result<u8, CliError> {
        match self {
            Self::List { output } => {
                let config = Config::read()?;
                let lines = config
                    .contexts
                    .into_iter()
                    .map(|(name, context)| ContextLine {
                        current: config.current.as_ref() == Some(&name),
                        name,
                        context,
                    });
                output.print(&lines.collect::<Vec<_>>(), |lines| list_text(lines))
            }
            Self::Show { output } => {
                output.print(&options.settings()?, |settings| show_text(settings))
            }
            Self::Use { name } => change(|config| {
                config.context(&name)?;
                config.current = Some(name);
                Ok(())
            }),
            Self::Set { name } => change(|config| {
                let context = options.updated_context(config.contexts.get(&name))?;
                config.current.get_or_insert_with(|| name.clone());
                config.contexts.insert(name, context);
                Ok(())
            }),
            Self::Remove { name } => change(|config| {
                config.context(&name)?;
                config.contexts.remove(&name);
                config.current.take_if(|current| *current == name);
                Ok(())
            }),
        }
    }
}

/// Changes the config file.
fn change(edit: impl FnOnce(&mut Config) -> Result<(), CliError>) -> Result<u8, CliError> {
    let mut config = Config::read()?;
    edit(&mut config)?;
    let path = config.write()?;
    report!("written to {}", path.display());
    Ok(0)
}

fn list_text(lines: &[ContextLine]) -> TextTable {
    let path_text = |path: &std::path::PathBuf| path.display().to_string();
    let row = |line: &ContextLine| {
        vec![
            if line.current { "*" } else { "" }.to_owned(),
            line.name.clone(),
            line.context.controller.clone(),
            or_dash(line.context.token_file.as_ref().map(path_text).as_ref()),
            or_dash(line.context.ca_file.as_ref().map(path_text).as_ref()),
        ]
    };
    let head = ["", "NAME", "CONTROLLER", "TOKEN FILE", "CA FILE"];
    TextTable::new(&head, lines.iter().map(row).collect())
}

fn show_text(settings: &[Setting]) -> TextTable {
    let row = |setting: &Setting| {
        vec![
            setting.name.to_owned(),
            or_dash(setting.value.as_ref()),
            setting.origin.clone(),
        ]
    };
    TextTable::new(
        &["SETTING", "VALUE", "FROM"],
        settings.iter().map(row).collect(),
    )
}
