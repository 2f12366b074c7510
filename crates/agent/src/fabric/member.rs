//! An agent of a lab: a process that holds namespaces and serves a socket in them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use delaylab_os::namespace::{self, Namespaces};
use delaylab_os::process::{self, PidFd, Side};
use delaylab_os::report::Sender;
use delaylab_os::{mount, title};
use delaylab_proto::Failure;

use super::plan::{Agent, Isolate};
use super::report::{Report, tell};
use crate::serve;

/// What a new agent needs to know.
pub struct Member<'a> {
    pub index: usize,
    pub agent: &'a Agent,
    pub socket: PathBuf,
    /// The control groups to join, as folders.
    pub cgroups: Vec<PathBuf>,
    /// Bind to these CPUs by affinity, where there is no cpuset.
    pub affinity: Option<Vec<usize>>,
    /// Whose network to join; `None` for one's own or the machine's.
    pub network: Option<PidFd>,
}

impl Member<'_> {
    /// The namespaces that its process is made with.
    pub fn namespaces(agent: &Agent) -> Namespaces {
        let mut flags = Namespaces::empty();
        flags.set(Namespaces::CLONE_NEWNET, agent.network == "new");
        flags.set(Namespaces::CLONE_NEWPID, has(agent, Isolate::Pid));
        flags.set(Namespaces::CLONE_NEWUTS, has(agent, Isolate::Uts));
        flags.set(Namespaces::CLONE_NEWIPC, has(agent, Isolate::Ipc));
        // A pid namespace without its own /proc would show the pids of another.
        let mounts = has(agent, Isolate::Mount) || has(agent, Isolate::Pid);
        flags.set(Namespaces::CLONE_NEWNS, mounts);
        flags
    }

    /// The life of an agent; `configured` is closed once its namespaces are as they shall be.
    pub fn live(self, keeper: &Sender, configured: Option<OwnedFd>) -> Result<(), Failure> {
        let listener = match self.prepare() {
            Ok(listener) => listener,
            Err(failure) => return tell(keeper, &Report::Failed(failure)),
        };
        drop(configured);
        tell(keeper, &Report::Ready(self.index))?;
        self.accept(&listener)
    }

    fn prepare(&self) -> Result<UnixListener, Failure> {
        let agent = self.agent;
        let failed = |what: &str| {
            let what = format!("{what} of {}", agent.name);
            move |error: io::Error| Failure::new(what, error)
        };
        process::reap_by_kernel().map_err(failed("prepare the process"))?;
        title::set(&format!("delaylab-agent {}", agent.name), &agent.name)
            .map_err(failed("name the process"))?;
        self.join_cgroups()?;
        if let Some(cpus) = &self.affinity {
            process::set_affinity(cpus).map_err(failed("set the CPUs"))?;
        }
        if let Some(owner) = &self.network {
            namespace::join_network(owner).map_err(failed("join the network"))?;
        }
        if Self::namespaces(agent).contains(Namespaces::CLONE_NEWNS) {
            mount::make_private().map_err(failed("separate the mounts"))?;
            if has(agent, Isolate::Pid) {
                mount::proc().map_err(failed("mount /proc"))?;
            }
        }
        if let (true, Some(name)) = (has(agent, Isolate::Uts), &agent.hostname) {
            namespace::set_hostname(name).map_err(failed("set the hostname"))?;
        }
        if agent.network == "new" {
            keep_netfilter_off_bridges().map_err(failed("take netfilter off the bridges"))?;
        }
        self.write_sysctls()?;
        UnixListener::bind(&self.socket).map_err(|error| {
            let what = format!("listen on {}", self.socket.display());
            Failure::new(what, error).fix("a socket's path has at most 107 bytes")
        })
    }

    fn join_cgroups(&self) -> Result<(), Failure> {
        for folder in &self.cgroups {
            // 0 stands for the process that writes it.
            fs::write(folder.join("cgroup.procs"), "0").map_err(|error| {
                Failure::new(format!("put {} into {}", self.agent.name, folder.display()), error)
            })?;
        }
        Ok(())
    }

    fn write_sysctls(&self) -> Result<(), Failure> {
        for (name, value) in &self.agent.sysctls {
            let (name, optional) =
                name.strip_prefix('-').map_or((name.as_str(), false), |name| (name, true));
            let result = fs::write(sysctl_path(name), value);
            if let (Err(error), false) = (result, optional) {
                let what = format!("set {name} = {value} in {}", self.agent.name);
                let fix = format!("write it as `-{name}` if the lab can do without");
                return Err(Failure::new(what, error).fix(fix));
            }
        }
        Ok(())
    }

    fn accept(&self, listener: &UnixListener) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::new(format!("serve {}", self.agent.name), error);
        let agent = std::process::id();
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                // A client that has already gone again is no reason to end.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            if matches!(process::fork().map_err(failed)?, Side::Child) {
                let result = serve_session(stream, agent);
                std::process::exit(i32::from(result.is_err()));
            }
        }
    }
}

/// The life of a session's process, which ends with its agent.
fn serve_session(stream: UnixStream, agent: u32) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new("serve a session", error);
    process::die_with_parent().map_err(failed)?;
    if process::parent().cast_unsigned() != agent {
        return Err(Failure::new("serve a session", "the agent has ended"));
    }
    process::reap_by_wait().map_err(failed)?;
    let output = stream.try_clone().map_err(failed)?;
    serve::run(stream.into(), output.into())
}

fn has(agent: &Agent, isolate: Isolate) -> bool {
    agent.isolate.contains(&isolate)
}

/// Bridged packets are the lab's, not the firewall's: br_netfilter would filter and delay them.
fn keep_netfilter_off_bridges() -> io::Result<()> {
    for table in ["ip", "ip6", "arp"] {
        let path = format!("/proc/sys/net/bridge/bridge-nf-call-{table}tables");
        match fs::write(path, "0") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(())
}

/// sysctl(8): dots separate folders, unless a slash comes first (`net/ipv4/conf/eth0.1/forwarding`).
fn sysctl_path(name: &str) -> PathBuf {
    let separator = name.find(['.', '/']).map(|at| &name[at..=at]);
    let path = if separator == Some("/") {
        name.to_owned()
    } else {
        name.chars()
            .map(|c| match c {
                '.' => '/',
                '/' => '.',
                other => other,
            })
            .collect()
    };
    Path::new("/proc/sys").join(path)
}
