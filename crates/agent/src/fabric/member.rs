//! An agent of a lab: a process that holds namespaces and serves a socket in them.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use delaylab_os::namespace::{self, Namespaces};
use delaylab_os::process::{self, PidFd, Side};
use delaylab_os::report::Sender;
use delaylab_os::{mount, sysctl, title};
use delaylab_proto::Failure;

use super::plan::{Agent, Isolate};
use super::report::{Report, tell};
use super::roster::Writer;
use crate::serve;

/// Bridged packets are the lab's, not the firewall's: br_netfilter, where it is loaded, would filter
/// and delay them.
const BRIDGE_TABLES: &[&str] = &[
    "-net.bridge.bridge-nf-call-iptables",
    "-net.bridge.bridge-nf-call-ip6tables",
    "-net.bridge.bridge-nf-call-arptables",
];

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
    /// Whether the plan makes bridges in its new network.
    pub has_bridges: bool,
}

/// What pid 1 lends to new agents until they are ready.
#[derive(Default)]
pub struct Lent {
    /// Where agents say that their namespaces are as they shall be.
    pub roster: Option<Writer>,
    /// A `/proc` that few other agents use, to set sysctls by.
    pub proc: Option<OwnedFd>,
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

    /// The life of an agent.
    pub fn live(self, keeper: &Sender, lent: Lent) -> Result<(), Failure> {
        let listener = match self.prepare(&lent) {
            Ok(listener) => listener,
            Err(failure) => return tell(keeper, &Report::Failed(failure)),
        };
        if let Some(roster) = &lent.roster {
            // Its reader ends only with the lab, or after a failure that was told.
            let _ = roster.configured(self.index);
        }
        drop(lent.roster);
        tell(keeper, &Report::Ready(self.index))?;
        // Only now: the last one to let go of it waits for the kernel to unmount it.
        drop(lent.proc);
        self.accept(&listener)
    }

    fn prepare(&self, lent: &Lent) -> Result<UnixListener, Failure> {
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
        self.set_sysctls(lent)?;
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

    fn set_sysctls(&self, lent: &Lent) -> Result<(), Failure> {
        let name = &self.agent.name;
        let network = sysctl::OfNetwork::current(lent.proc.as_ref().map(OwnedFd::as_fd))
            .map_err(|error| Failure::new(format!("find the sysctls of {name}"), error))?;
        let tables = if self.has_bridges { BRIDGE_TABLES } else { [].as_slice() };
        let tables = tables.iter().map(|&table| (table, "0"));
        let asked = self.agent.sysctls.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (sysctl, value) in tables.chain(asked) {
            let (sysctl, optional) =
                sysctl.strip_prefix('-').map_or((sysctl, false), |sysctl| (sysctl, true));
            match network.set(sysctl, value) {
                Err(error) if optional && error.kind() == io::ErrorKind::NotFound => {}
                result => result.map_err(|error| {
                    let fix = format!("write it as `-{sysctl}` if the lab can do without");
                    Failure::new(format!("set {sysctl} = {value} in {name}"), error).fix(fix)
                })?,
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
