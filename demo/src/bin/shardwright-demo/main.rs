//! The program `shardwright-demo`: operations on live shards on this machine, and faults during migrations.
//!
//! `shardwright demo` and `shardwright torture` run it. Exit code 0: everything is correct; 1: the run failed; 9: a
//! fault was not survived; 64: wrong usage.

mod fault_injection;
mod run;

use clap::{Parser, Subcommand};
use demo::DemoError;
use std::process::ExitCode;

/// The exit code if a fault was not survived.
const DEFECTS: u8 = 9;
/// The exit code for wrong usage, the same as that of the command line.
const USAGE: u8 = 64;

/// Runs migrations on private shards of this machine.
#[derive(Debug, Parser)]
#[command(name = "shardwright-demo", bin_name = "shardwright", version)]
struct DemoCli {
    #[command(subcommand)]
    command: DemoCommand,
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// Run an operation under load on private shards of this machine, and print a report.
    Demo(run::Demo),
    /// Cause faults during migrations on this machine, one in each run, and count the runs without a problem.
    Torture(fault_injection::FaultInjectionArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match DemoCli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be reported when stderr is closed.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    let done = match cli.command {
        DemoCommand::Demo(demo) => demo.run().await,
        DemoCommand::Torture(args) => args.run().await,
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

fn print_error(error: &DemoError) {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    let mut text = String::new();
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            let between = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{between}{cause}");
        }
    }
    eprintln!("error: {text}");
    if let Some(hint) = error.hint() {
        eprintln!("hint: {hint}");
    }
}
