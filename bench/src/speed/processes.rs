//! Reads the CPU time that the servers, programs and clients of this run, and the whole machine, have used so far.
//!
//! The time of a process counts for its nearest ancestor with a role: the postmaster of a server, the controller, an
//! agent, or this program, whose children are the clients. The time of a child that has ended counts after its parent
//! has waited for it, which PostgreSQL does immediately. The time of each process is exact to 0.01 seconds. If a
//! process ends while a sample is taken, its time is in the next sample. The kernel counts the time of the machine in
//! ticks, so it is inexact for short periods.

use std::collections::{BTreeMap, HashMap};
use std::fs::read_to_string;

/// The number of ticks per second, the unit of the times in /proc. It is the same on all architectures of Linux.
const TICKS: f64 = 100.0;
/// The role of this program and of its children: psql, pgbench, other tools and commands. It includes an application
/// that runs inside this program.
const CLIENTS: &str = "clients";

/// The CPU time since the machine was started, in core-seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CpuTime {
    /// The time in which cores were neither idle nor waiting for a disk.
    pub(crate) busy: f64,
    pub(crate) idle: f64,
    /// The time that the hypervisor gave to other virtual machines.
    pub(crate) steal: f64,
    /// The part of `busy` that belongs to processes with a role, by role.
    pub(crate) by_role: BTreeMap<String, f64>,
}

/// Reads the CPU time that was used until now. Leaves out what cannot be read.
pub(crate) fn read_cpu_time() -> CpuTime {
    let mut used =
        parse_machine(&read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default();
    let processes = read_processes();
    let own = std::process::id();
    let roles: HashMap<u32, String> = processes
        .iter()
        .filter_map(|(id, process)| Some((*id, role_of((*id, process), &processes, own)?)))
        .collect();
    for (id, process) in &processes {
        if let Some(role) = role_of_nearest(*id, &processes, &roles) {
            *used.by_role.entry(role.to_owned()).or_default() += process.seconds;
        }
    }
    used
}

/// The fields of a line of /proc/PID/stat.
#[derive(Debug, Clone, PartialEq)]
struct Process {
    name: String,
    parent: u32,
    /// The CPU time of the process and of its children that have ended and were waited for.
    seconds: f64,
}

fn read_processes() -> HashMap<u32, Process> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let process = |id| {
        let line = read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, parse_process(&line)?))
    };
    ids.filter_map(process).collect()
}

/// Parses a line of /proc/PID/stat. The name can contain blanks and brackets, so the fields are counted from the last
/// bracket.
fn parse_process(line: &str) -> Option<Process> {
    let (before, after) = line.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<f64>());
    Some(Process {
        name: before.split_once('(')?.1.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        seconds: ticks.sum::<Result<f64, _>>().ok()? / TICKS,
    })
}

/// Parses the first line of /proc/stat. The user time already includes the time of guests.
fn parse_machine(stat: &str) -> Option<CpuTime> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Result<Vec<f64>, _> = fields.split_whitespace().map(str::parse).collect();
    let ticks = ticks.ok()?;
    let &[user, nice, system, idle, disk, interrupts, soft, steal] = ticks.first_chunk()?;
    Some(CpuTime {
        busy: (user + nice + system + interrupts + soft) / TICKS,
        idle: (idle + disk) / TICKS,
        steal: steal / TICKS,
        by_role: BTreeMap::new(),
    })
}

/// Returns the role of a process in this run; `None` if the process counts for an ancestor or does not belong to the
/// run.
fn role_of(
    (id, process): (u32, &Process),
    all: &HashMap<u32, Process>,
    own: u32,
) -> Option<String> {
    if id == own {
        return Some(CLIENTS.to_owned());
    }
    let arguments = || read_to_string(format!("/proc/{id}/cmdline")).ok();
    let is_own_child = process.parent == own;
    match process.name.as_str() {
        // A child of the postmaster has no role; its time counts for the postmaster.
        "postgres" if all.get(&process.parent)?.name == "postgres" => None,
        "postgres" => server_name(&arguments()?, own),
        // The kernel keeps only the first 15 characters of a name.
        "shardwright-age" if is_own_child => Some("agents".to_owned()),
        "shardwright" if is_own_child => {
            let serves = arguments()?.split('\0').nth(1) == Some("serve");
            serves.then(|| "controller".to_owned())
        }
        _ => None,
    }
}

/// Returns the name of a server of this run. Its data directory is in the folder `bench-NAME-PID-NUMBER` or
/// `demo-NAME-PID-NUMBER`, where PID is the process id `own` of this program.
fn server_name(arguments: &str, own: u32) -> Option<String> {
    let data = arguments.split('\0').skip_while(|it| *it != "-D").nth(1)?;
    let folder = data.rsplit('/').nth(1)?;
    let (name, _) = folder.rsplit_once(&format!("-{own}-"))?;
    Some(name.split_once('-')?.1.to_owned())
}

/// Returns the role of a process or of its nearest ancestor that has a role.
fn role_of_nearest<'a>(
    id: u32,
    all: &HashMap<u32, Process>,
    roles: &'a HashMap<u32, String>,
) -> Option<&'a str> {
    let mut current = id;
    // The number of steps is limited, because a process id can be reused between two reads, which can cause a loop.
    for _ in 0..all.len() {
        if let Some(role) = roles.get(&current) {
            return Some(role);
        }
        current = all.get(&current)?.parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_own_seconds_and_those_of_its_children() {
        let line = "7 (a) b) S 3 7 7 0 -1 4 1 0 0 0 100 20 300 5 20 0 1 0 4711 999 1";
        let expected = Process {
            name: "a) b".to_owned(),
            parent: 3,
            seconds: 4.25,
        };
        assert_eq!(parse_process(line), Some(expected));
        assert_eq!(parse_process("7 (a) S 3"), None);
    }

    #[test]
    fn the_wait_for_a_disk_counts_as_idle() {
        let used = parse_machine("cpu  100 200 300 400 50 6 7 8 9 0\ncpu0 1 2").unwrap();
        assert_eq!((used.busy, used.idle, used.steal), (6.13, 4.5, 0.08));
        assert_eq!(parse_machine("intr 1 2"), None);
    }

    #[test]
    fn a_server_is_known_by_its_folder() {
        let arguments = "/bin/postgres\0-D\0/tmp/shardwright/bench-source-12-0/data\0";
        assert_eq!(server_name(arguments, 12), Some("source".to_owned()));
        assert_eq!(server_name(arguments, 1), None);
        assert_eq!(server_name("postgres: checkpointer", 12), None);
    }

    #[test]
    fn a_process_counts_for_its_nearest_ancestor() {
        let process = |parent| Process {
            name: String::new(),
            parent,
            seconds: 0.0,
        };
        let parents = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 6)];
        let all = parents.map(|(id, parent)| (id, process(parent))).into();
        let known = [(2, "clients".to_owned()), (3, "agents".to_owned())].into();
        let role = |id| role_of_nearest(id, &all, &known);
        assert_eq!((role(4), role(2)), (Some("agents"), Some("clients")));
        assert_eq!((role(5), role(6), role(7)), (None, None, None));
    }

    #[test]
    fn this_program_has_used_cpu_time() {
        let used = read_cpu_time();
        assert!(used.busy > 0.0 && used.by_role.contains_key(CLIENTS));
    }
}
