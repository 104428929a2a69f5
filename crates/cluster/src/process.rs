//! Processes as `/proc` shows them: identity, children, signals, end.
//!
//! A process is its id and its start time, so an id that the kernel gave away again is not mistaken for it.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How often a condition that has no event is looked at.
const POLL: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
}

struct ProcessStat {
    state: char,
    parent: i32,
    started: u64,
}

impl Process {
    /// The running process with this id; a zombie does not run.
    pub(crate) fn find(pid: i32) -> Option<Self> {
        let stat = stat(pid)?;
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
        pids.filter(|pid| stat(*pid).is_some_and(|it| it.parent == self.pid))
            .filter_map(Self::find)
            .collect()
    }

    /// Sends a signal; that the process is gone already is no error.
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

    /// Stops the process and returns once it cannot fork any more.
    pub(crate) fn freeze(&self, limit: Duration) {
        self.signal(Signal::STOP);
        wait_until(limit, || {
            stat(self.pid).is_none_or(|it| matches!(it.state, 'T' | 'Z' | 'X'))
        });
    }
}

/// Whether none of the processes is left after `limit` at the latest.
pub(crate) fn have_ended_within(processes: &[Process], limit: Duration) -> bool {
    wait_until(limit, || !processes.iter().any(Process::is_alive))
}

/// Whether the condition came true within `limit`.
pub(crate) fn wait_until(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

fn stat(pid: i32) -> Option<ProcessStat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command's name may hold blanks and brackets, so fields are counted from the last bracket.
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
    fn a_child_is_seen_until_it_is_killed() {
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
            "a zombie counts as gone"
        );
        child.wait().expect("reaped");
    }
}
