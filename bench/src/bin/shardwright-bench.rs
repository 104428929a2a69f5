//! `make bench`: Shardwright beside the limits of the machine.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    bench::speed::run(&bench::speed::Options::parse())
}
