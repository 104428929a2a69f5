//! Who has used the processors so far: servers, programs and clients of this run, and the whole machine.
//!
//! A process counts for the nearest of its ancestors that is known: a server's first process, the controller, an agent,
//! or this program itself, whose children are the clients. Their ended children count too, once they were waited for,
//! as the servers do at once. Exact to a hundredth of a second for each process; a process that ends during the look is
//! seen by the next one. The machine's own sum is counted by ticks, so that a short time is known roughly.

use std::collections::{BTreeMap, HashMap};
use std::fs::read_to_string;

/// Of a second: the unit of /proc, on every architecture that Linux runs on.
const TICKS: f64 = 100.0;
/// This program and what it started: psql, pgbench, peers, commands; also an application that runs within it.
const CLIENTS: &str = "clients";

/// Core-seconds since the machine was started.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Used {
    /// Everything but idle cores and those that waited for a disk.
    pub(crate) busy: f64,
    pub(crate) idle: f64,
    /// What the machine below gave to others.
    pub(crate) steal: f64,
    /// Of `busy`, by who is known.
    pub(crate) by: BTreeMap<String, f64>,
}

/// What was used until now; what cannot be read is left out.
pub(crate) fn used() -> Used {
    let mut used = machine(&read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default();
    let processes = processes();
    let own = std::process::id();
    let known: HashMap<u32, String> = processes
        .iter()
        .filter_map(|(id, process)| Some((*id, role((*id, process), &processes, own)?)))
        .collect();
    for (id, process) in &processes {
        if let Some(role) = nearest(*id, &processes, &known) {
            *used.by.entry(role.to_owned()).or_default() += process.seconds;
        }
    }
    used
}

/// A line of /proc/PID/stat.
#[derive(Debug, Clone, PartialEq)]
struct Process {
    name: String,
    parent: u32,
    /// Its own and that of its children which were waited for.
    seconds: f64,
}

fn processes() -> HashMap<u32, Process> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let process = |id| {
        let line = read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, process(&line)?))
    };
    ids.filter_map(process).collect()
}

/// The name may hold blanks and brackets, so fields are counted from the last bracket.
fn process(line: &str) -> Option<Process> {
    let (before, after) = line.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<f64>());
    Some(Process {
        name: before.split_once('(')?.1.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        seconds: ticks.sum::<Result<f64, _>>().ok()? / TICKS,
    })
}

/// Of the first line of /proc/stat; a guest's time is the user's already.
fn machine(stat: &str) -> Option<Used> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Result<Vec<f64>, _> = fields.split_whitespace().map(str::parse).collect();
    let ticks = ticks.ok()?;
    let &[user, nice, system, idle, disk, interrupts, soft, steal] = ticks.first_chunk()?;
    Some(Used {
        busy: (user + nice + system + interrupts + soft) / TICKS,
        idle: (idle + disk) / TICKS,
        steal: steal / TICKS,
        by: BTreeMap::new(),
    })
}

/// What a process is in this run, if it is one that others belong to.
fn role((id, process): (u32, &Process), all: &HashMap<u32, Process>, own: u32) -> Option<String> {
    if id == own {
        return Some(CLIENTS.to_owned());
    }
    let arguments = || read_to_string(format!("/proc/{id}/cmdline")).ok();
    let is_ours = process.parent == own;
    match process.name.as_str() {
        // A process of a server, unless it is the first.
        "postgres" if all.get(&process.parent)?.name == "postgres" => None,
        "postgres" => server(&arguments()?, own),
        // As much of its name as the kernel keeps.
        "shardwright-age" if is_ours => Some("agents".to_owned()),
        "shardwright" if is_ours => {
            let serves = arguments()?.split('\0').nth(1) == Some("serve");
            serves.then(|| "controller".to_owned())
        }
        _ => None,
    }
}

/// What a server of this run is called: its data lie in the folder `bench-NAME-OWN-NUMBER`, or `demo-NAME-OWN-NUMBER`.
fn server(arguments: &str, own: u32) -> Option<String> {
    let data = arguments.split('\0').skip_while(|it| *it != "-D").nth(1)?;
    let folder = data.rsplit('/').nth(1)?;
    let (name, _) = folder.rsplit_once(&format!("-{own}-"))?;
    Some(name.split_once('-')?.1.to_owned())
}

/// The role of a process or of the nearest of its ancestors that has one.
fn nearest<'a>(
    id: u32,
    all: &HashMap<u32, Process>,
    known: &'a HashMap<u32, String>,
) -> Option<&'a str> {
    let mut at = id;
    // No deeper than there are processes: an id may have been given away between two readings.
    for _ in 0..all.len() {
        if let Some(role) = known.get(&at) {
            return Some(role);
        }
        at = all.get(&at)?.parent;
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
        assert_eq!(process(line), Some(expected));
        assert_eq!(process("7 (a) S 3"), None);
    }

    #[test]
    fn a_disk_that_is_waited_for_leaves_a_core_idle() {
        let used = machine("cpu  100 200 300 400 50 6 7 8 9 0\ncpu0 1 2").unwrap();
        assert_eq!((used.busy, used.idle, used.steal), (6.13, 4.5, 0.08));
        assert_eq!(machine("intr 1 2"), None);
    }

    #[test]
    fn a_server_is_known_by_its_folder() {
        let arguments = "/bin/postgres\0-D\0/tmp/shardwright/bench-source-12-0/data\0";
        assert_eq!(server(arguments, 12), Some("source".to_owned()));
        assert_eq!(server(arguments, 1), None);
        assert_eq!(server("postgres: checkpointer", 12), None);
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
        let role = |id| nearest(id, &all, &known);
        assert_eq!((role(4), role(2)), (Some("agents"), Some("clients")));
        assert_eq!((role(5), role(6), role(7)), (None, None, None));
    }

    #[test]
    fn this_program_has_used_something() {
        let used = used();
        assert!(used.busy > 0.0 && used.by.contains_key(CLIENTS));
    }
}
