//! `make bench`: measures Shardwright, and plain PostgreSQL and other tools for comparison.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    bench::speed::run(&bench::speed::Options::parse())
}
