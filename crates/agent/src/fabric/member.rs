//! An agent of a lab: a process that holds namespaces and serves a socket in them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use delaylab_os::folder::Folder;
use delaylab_os::namespace::{self, Namespaces};
use delaylab_os::process::{self, PidFd};
use delaylab_os::report::Sender;
use delaylab_os::{mount, sysctl, title};
use delaylab_proto::Failure;

use super::carrier;
use super::monitor;
use super::plan::{Agent, Isolate};
use super::report::{Report, tell};
use super::roster::Writer;
use crate::capabilities;
use crate::init::container;
use crate::link::Agents;
use crate::listen;

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
    /// The lab's run directory.
    pub place: &'a Folder,
    /// What its guest may use of the run directory.
    pub folder: PathBuf,
    /// The control groups to join, as folders.
    pub cgroups: Vec<PathBuf>,
    /// Bind to these CPUs by affinity, where there is no cpuset.
    pub affinity: Option<Vec<usize>>,
    /// Whose network to join; `None` for one's own or the machine's.
    pub network: Option<PidFd>,
    /// Who has the interfaces that its links lead to.
    pub others: Agents,
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
    /// Ends once the network is built.
    pub built: Option<OwnedFd>,
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

    /// Makes the folder of its guest, if it has one, and in it the one that a container sees.
    pub fn make_folder(&self) -> Result<(), Failure> {
        if self.agent.guest.is_none() {
            return Ok(());
        }
        let shared = self.folder.join(container::FOLDER);
        [&self.folder, &shared].into_iter().try_for_each(|folder| {
            DirBuilder::new()
                .mode(0o700)
                .create(folder)
                .map_err(|error| Failure::new(format!("make {}", folder.display()), error))
        })
    }

    /// The life of an agent.
    pub fn live(self, keeper: &Sender, mut lent: Lent) -> Result<(), Failure> {
        if let Some(guest) = &self.agent.guest {
            return monitor::live(&self, guest, keeper, lent);
        }
        if let Some(links) = &self.agent.links {
            return carrier::live(&self, links, keeper, lent);
        }
        let prepared = self.prepare().and_then(|()| self.set_sysctls(&lent));
        let prepared = prepared.and_then(|()| self.limit_capabilities());
        let listener = match prepared.and_then(|()| self.listen()) {
            Ok(listener) => listener,
            Err(failure) => return tell(keeper, &Report::Failed(failure)),
        };
        self.configured(&mut lent);
        tell(keeper, &Report::Ready(self.index))?;
        // Only now: the last one to let go of it waits for the kernel to unmount it.
        drop(lent.proc);
        listen::accept(&listener)
    }

    /// Tells the builder that this agent's namespaces are as they shall be.
    pub fn configured(&self, lent: &mut Lent) {
        if let Some(roster) = lent.roster.take() {
            // Its reader ends only with the lab, or after a failure that was told.
            let _ = roster.configured(self.index);
        }
    }

    /// Makes the process what the plan says, but for its network's settings.
    pub fn prepare(&self) -> Result<(), Failure> {
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
        Ok(())
    }

    /// Limits what the node's programs may do, to what the plan gives them.
    fn limit_capabilities(&self) -> Result<(), Failure> {
        match &self.agent.capabilities {
            Some(kept) => capabilities::limit(kept),
            None => Ok(()),
        }
    }

    /// Listens for sessions.
    pub fn listen(&self) -> Result<UnixListener, Failure> {
        self.listen_on(Path::new(&format!("{}.sock", self.agent.name)))
    }

    /// Listens on a socket in the run directory, whatever the path of that leads to by now, and however long it is.
    pub fn listen_on(&self, name: &Path) -> Result<UnixListener, Failure> {
        let listener = self.place.inside(|| UnixListener::bind(name)).and_then(|bound| bound);
        listener.map_err(|error| Failure::new(format!("listen on {}", name.display()), error))
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

    /// Sets the sysctls of the network where this process is.
    pub fn set_sysctls(&self, lent: &Lent) -> Result<(), Failure> {
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
}

fn has(agent: &Agent, isolate: Isolate) -> bool {
    agent.isolate.contains(&isolate)
}
