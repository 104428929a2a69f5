//! Removes temporary clusters of this user whose process has ended, for example after a killed test run.

fn main() -> Result<(), cluster::ClusterError> {
    let base = cluster::temporary_base();
    let swept = cluster::sweep(&base)?;
    if swept > 0 {
        eprintln!("removed {swept} abandoned clusters in {}", base.display());
    }
    Ok(())
}
