//! Memory of a process, as the kernel counts it.

use anyhow::Context;

/// Memory of a process, MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Resident {
    /// Now.
    pub(crate) now: f64,
    /// The most since it was started.
    pub(crate) most: f64,
}

/// What process `id` has in memory.
///
/// # Errors
/// The process is gone.
pub(crate) fn resident(id: u32) -> anyhow::Result<Resident> {
    let path = format!("/proc/{id}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let mib = |field: &str| {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .with_context(|| format!("{path} has no {field}"))
    };
    Ok(Resident {
        now: mib("VmRSS:")?,
        most: mib("VmHWM:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_some_memory() {
        let own = resident(std::process::id()).unwrap();
        assert!(own.now > 0.0 && own.most >= own.now);
    }
}
