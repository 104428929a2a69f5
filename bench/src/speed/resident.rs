//! Reads the memory of a process from the kernel.

use anyhow::Context;

/// The resident memory of a process, in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Resident {
    /// The present value.
    pub(crate) now: f64,
    /// The maximum since the process was started.
    pub(crate) max: f64,
}

/// Returns the resident memory of the process `id`.
///
/// # Errors
/// The process does not exist any more.
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
        max: mib("VmHWM:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_some_memory() {
        let own = resident(std::process::id()).unwrap();
        assert!(own.now > 0.0 && own.max >= own.now);
    }
}
