//! Processes according to `/proc`: identity, children, signals, end.
//!
//! A process is identified by its id and its start time, because the kernel reuses ids.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The interval at which conditions are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A process of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// The start time in clock ticks since boot.
    pub(crate) started: u64,
}

/// The fields of `/proc/PID/stat` that are used.
struct ProcessStat {
    state: char,
    parent: i32,
    started: u64,
}

impl Process {
    /// Returns the running process with this id. A zombie is not running.
    pub(crate) fn find(pid: i32) -> Option<Self> {
        let stat = read_stat(pid)?;
        (!matches!(stat.state, 'Z' | 'X')).then_some(Self {
            pid,
            started: stat.started,
        })
    }

    pub(crate) fn is_alive(&self) -> bool {
        Self::find(self.pid) == Some(*self)
    }

    pub(crate) fn children(&self) -> Vec<Self> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| read_stat(*pid).is_some_and(|it| it.parent == self.pid))
            .filter_map(Self::find)
            .collect()
    }

    /// Sends a signal. It is no error if the process has already ended.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_alive() {
            return;
        }
        if let Some(pid) = Pid::from_raw(self.pid)
            && let Err(error) = kill_process(pid, signal)
        {
            tracing::debug!(process.pid = self.pid, %error, "signal not delivered");
        }
    }

    /// Stops the process with SIGSTOP, and returns when it has stopped and cannot fork.
    pub(crate) fn freeze(&self, limit: Duration) {
        self.signal(Signal::STOP);
        wait_until(limit, || {
            read_stat(self.pid).is_none_or(|it| matches!(it.state, 'T' | 'Z' | 'X'))
        });
    }
}

/// Waits until all processes have ended, for at most `limit`. Returns whether they have.
pub(crate) fn have_ended_within(processes: &[Process], limit: Duration) -> bool {
    wait_until(limit, || !processes.iter().any(Process::is_alive))
}

/// Waits until the condition is true, for at most `limit`. Returns whether it is.
pub(crate) fn wait_until(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}

fn read_stat(pid: i32) -> Option<ProcessStat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat`. The command's name may contain spaces and brackets, so fields are counted from the last
/// bracket.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(ProcessStat {
        state,
        parent,
        started,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "7 (a) b) S 3 7 7 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 4711 999 1";
        let stat = parse_stat(line).expect("fields");
        assert_eq!((stat.state, stat.parent, stat.started), ('S', 3, 4711));
    }

    #[test]
    fn a_child_is_listed_until_it_is_killed() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let pid = i32::try_from(child.id()).expect("pid");
        let own = i32::try_from(std::process::id()).expect("pid");
        let process = Process::find(pid).expect("running");
        assert!(
            Process::find(own)
                .expect("we run")
                .children()
                .contains(&process)
        );
        process.signal(Signal::KILL);
        assert!(
            have_ended_within(&[process], Duration::from_secs(10)),
            "a zombie counts as ended"
        );
        child.wait().expect("reaped");
    }
}
