//! Rebuilds the crate when a migration of the control store changes: they are part of the binary.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
