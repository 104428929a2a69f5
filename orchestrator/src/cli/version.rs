//! `shardwright version`.

use super::client::Client;
use super::error::CliError;
use super::output::Output;
use crate::api::ControllerVersion;
use clap::Args;
use serde::Serialize;

/// Show the version of this program and that of the controller.
#[derive(Debug, Args)]
pub(super) struct Version {
    #[command(flatten)]
    output: Output,
}

/// The versions of this program and of the controller.
#[derive(Debug, Serialize)]
struct Versions {
    program: &'static str,
    /// Missing if the controller cannot be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<ControllerVersion>,
}

impl Version {
    /// Succeeds without a controller too, because people ask for the version when something does not work.
    pub(super) async fn run(self, client: Result<Client, CliError>) -> Result<u8, CliError> {
        let controller = match client {
            Ok(client) => client.get("/version").await,
            Err(error) => Err(error),
        };
        if let Err(error) = &controller {
            eprintln!("the version of the controller is unknown: {error}");
        }
        let versions = Versions {
            program: env!("CARGO_PKG_VERSION"),
            controller: controller.ok(),
        };
        self.output.print(&versions, text)
    }
}

fn text(versions: &Versions) -> String {
    let mut text = format!("shardwright {}\n", versions.program);
    if let Some(controller) = &versions.controller {
        text += &format!(
            "controller {}, agents of protocol {} to {}, store {}\n",
            controller.version,
            controller.oldest_protocol,
            controller.protocol,
            controller.incarnation
        );
    }
    text
}
