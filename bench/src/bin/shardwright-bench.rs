//! `make bench`: measures Shardwright and what the machine can do without it.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    bench::speed::run(&bench::speed::Options::parse())
}
