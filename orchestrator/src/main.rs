//! The program `shardwright`.

fn main() {}
