//! `machine`, `processes`: what a machine says of itself and of its processes.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use delaylab_os::clock;
use delaylab_os::files::folder::free_bytes;
use delaylab_os::process::{self, namespace};
use delaylab_proto::{Context, Failure};

use crate::fabric;
use crate::protocol::machine::{
    Child, DescribeMachine, DescribeMachineDone, Processes, ProcessesDone,
};
use crate::session::Session;

/// Describe the machine.
pub(crate) fn describe(
    request: DescribeMachine,
    _: &mut Session,
) -> Result<DescribeMachineDone, Failure> {
    let what = "describe the machine";
    let network = fs::metadata("/proc/self/ns/net").context(what)?.ino();
    let identity = format!("{}/{network}", clock::name().context(what)?);
    let text = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
    let memory = text("/proc/meminfo").context(what)?;
    let run_directory = fabric::run_directory();
    let path = std::env::var("PATH").unwrap_or_default();
    let is_there = |name: &String| {
        path.split(':')
            .chain(["/usr/sbin", "/sbin"])
            .any(|place| Path::new(place).join(name).is_file())
    };
    let can_use = |path: &String| fs::File::options().read(true).write(true).open(path).is_ok();
    let programs = request.programs.into_iter().filter(|name| !is_there(name));
    let devices = request.devices.into_iter().filter(|path| !can_use(path));
    let above = run_directory.ancestors().find(|place| place.exists());
    Ok(DescribeMachineDone {
        identity,
        machine_id: text("/etc/machine-id").unwrap_or_default(),
        host_keys: host_keys(),
        hostname: text("/proc/sys/kernel/hostname").context(what)?,
        kernel: format!("Linux {}", text("/proc/sys/kernel/osrelease").context(what)?),
        user: namespace::user().0,
        capabilities: line_of(&text("/proc/self/status").context(what)?, "CapBnd"),
        lacking: programs.chain(devices).collect(),
        cpu: text("/proc/cpuinfo").unwrap_or_default().split("\n\n").next().unwrap_or("").into(),
        cpus: text("/sys/devices/system/cpu/online").unwrap_or_default(),
        memory_bytes: kilobytes(&memory, "MemTotal"),
        available_bytes: kilobytes(&memory, "MemAvailable"),
        most_neighbours: text("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
            .ok()
            .and_then(|text| text.parse().ok()),
        free_bytes: above.map_or(Ok(0), free_bytes).context(what)?,
        run_directory,
        connection: std::env::var("SSH_CONNECTION").unwrap_or_default(),
    })
}

/// Say when processes were started, and find children.
pub(crate) fn processes(request: Processes, _: &mut Session) -> Result<ProcessesDone, Failure> {
    Ok(ProcessesDone {
        started: request.pids.iter().map(|&pid| started(pid)).collect(),
        children: request.children.iter().map(|child| find(child).ok().flatten()).collect(),
    })
}

/// Return the public keys of this machine's sshd (`sshd(8)`, FILES). They say which machine it is, also after a restart.
fn host_keys() -> Vec<String> {
    let files = fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|file| file.path());
    let is_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("ssh_host_") && name.ends_with("_key.pub")
    };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(path).ok()?;
        // Without the comment, which names the machine that made the key.
        Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    };
    let mut found: Vec<_> = files.filter(is_key).filter_map(read).collect();
    found.sort();
    found
}

/// Return the start of a process; `None` if there is none or it is a zombie.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    if matches!(state, 'Z' | 'X') { None } else { process::start_time(pid).ok() }
}

fn find(child: &Child) -> io::Result<Option<i32>> {
    let Child { parent, inside } = child;
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    for pid in children.split_whitespace() {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let numbers = line_of(&status, "NSpid");
        if numbers.split_whitespace().last() == Some(&inside.to_string()) {
            return Ok(pid.parse().ok());
        }
    }
    Ok(None)
}

/// Return the value of a line `NAME: VALUE`; empty if there is none.
fn line_of(text: &str, name: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.filter(|(key, _)| *key == name).map(|(_, value)| value.trim()).next();
    found.unwrap_or_default().to_owned()
}

fn kilobytes(text: &str, name: &str) -> u64 {
    let number = line_of(text, name).split_whitespace().next().and_then(|text| text.parse().ok());
    number.unwrap_or(0_u64) * 1024
}
