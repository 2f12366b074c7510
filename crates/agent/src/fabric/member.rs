//! The configuration of an agent of a lab, and the steps by which its process becomes that agent.

use std::fs::{self, DirBuilder};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use delaylab_os::files::folder::Folder;
use delaylab_os::files::mount;
use delaylab_os::kernel;
use delaylab_os::process::namespace::{self, Namespaces};
use delaylab_os::process::{self, PidFd, scheduling, title};
use delaylab_proto::{Context, Failure};

use super::own_folders;
use super::report::Writer;
use crate::capabilities;
use crate::init::container;
use crate::link::Agents;
use crate::protocol::agent_network::AgentNetwork;
use crate::protocol::lab::{Agent, Isolate};
use crate::session::Serve;

/// The sysctls that exempt bridged packets from the firewall: br_netfilter, where it is loaded, would filter
/// and delay the lab's packets.
const BRIDGE_TABLES: &[&str] = &[
    "-net.bridge.bridge-nf-call-iptables",
    "-net.bridge.bridge-nf-call-ip6tables",
    "-net.bridge.bridge-nf-call-arptables",
];

/// The configuration of a new agent.
pub(super) struct Member<'a> {
    pub index: usize,
    pub agent: &'a Agent,
    /// The lab's run directory.
    pub place: &'a Folder,
    /// The folder of the run directory that its guest may use.
    pub folder: PathBuf,
    /// The folders of the control groups to join.
    pub cgroups: Vec<PathBuf>,
    /// The CPUs to bind to by affinity, where there is no cpuset.
    pub affinity: Option<Vec<usize>>,
    /// The agent whose network namespace to join; `None` for a new one or the machine's.
    pub network: Option<PidFd>,
    /// The agents that hold the interfaces to which its links lead.
    pub others: Agents,
    /// True if the plan creates bridges in its new network namespace.
    pub has_bridges: bool,
    /// The server of its sessions.
    pub serve: Serve,
}

/// Resources that PID 1 lends to new agents until they are ready.
#[derive(Default)]
pub(super) struct StartupResources {
    /// The pipe by which agents report that their namespaces are configured.
    pub roster: Option<Writer>,
    /// A `/proc` mount shared with few other agents, for setting sysctls.
    pub proc: Option<OwnedFd>,
    /// A pipe that closes once the network is built.
    pub built: Option<OwnedFd>,
}

impl Member<'_> {
    /// Return the namespaces that the agent's process is created with.
    pub(super) fn namespaces(agent: &Agent) -> Namespaces {
        let mut flags = Namespaces::empty();
        flags.set(Namespaces::CLONE_NEWNET, agent.network == AgentNetwork::New);
        flags.set(Namespaces::CLONE_NEWPID, has(agent, Isolate::Pid));
        flags.set(Namespaces::CLONE_NEWUTS, has(agent, Isolate::Uts));
        flags.set(Namespaces::CLONE_NEWIPC, has(agent, Isolate::Ipc));
        // A PID namespace without its own /proc would show the pids of another one.
        let mounts = has(agent, Isolate::Mount) || has(agent, Isolate::Pid);
        let mounts = mounts || !agent.own_folders.is_empty();
        flags.set(Namespaces::CLONE_NEWNS, mounts);
        flags
    }

    /// Create the folder of the guest, if there is one, and in it the folder that a container sees.
    pub(super) fn make_folder(&self) -> Result<(), Failure> {
        if self.agent.guest.is_none() {
            return Ok(());
        }
        let shared = self.folder.join(container::FOLDER);
        [&self.folder, &shared].into_iter().try_for_each(|folder| {
            DirBuilder::new()
                .mode(0o700)
                .create(folder)
                .with_context(|| format!("make {}", folder.display()))
        })
    }

    /// Report to the builder that this agent's namespaces are configured.
    pub(super) fn configured(&self, resources: &mut StartupResources) {
        if let Some(roster) = resources.roster.take() {
            // The reader ends only with the lab, or after a failure that it has reported.
            let _ = roster.configured(self.index);
        }
    }

    /// Set up the process as planned, except for the settings of its network namespace.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        let agent = self.agent;
        let of_agent = |what: &str| format!("{what} of {}", agent.name);
        process::reap_by_kernel().with_context(|| of_agent("prepare the process"))?;
        title::set(&format!("delaylab-agent {}", agent.name), &agent.name)
            .with_context(|| of_agent("name the process"))?;
        self.join_cgroups()?;
        if let Some(cpus) = &self.affinity {
            scheduling::set_affinity(cpus).with_context(|| of_agent("set the CPUs"))?;
        }
        if let Some(owner) = &self.network {
            namespace::join_network(owner).with_context(|| of_agent("join the network"))?;
        }
        if Self::namespaces(agent).contains(Namespaces::CLONE_NEWNS) {
            mount::make_private().with_context(|| of_agent("separate the mounts"))?;
            if has(agent, Isolate::Pid) {
                mount::proc().with_context(|| of_agent("mount /proc"))?;
            }
            // The guests' folders are in the run directory.
            let place = self.folder.parent().unwrap_or(Path::new("/tmp"));
            own_folders::make(&agent.own_folders, place)
                .with_context(|| of_agent("copy folders"))?;
        }
        if let (true, Some(name)) = (has(agent, Isolate::Uts), &agent.hostname) {
            namespace::set_hostname(name).with_context(|| of_agent("set the hostname"))?;
        }
        Ok(())
    }

    /// Limit the capabilities of the node's programs to those in the plan.
    pub(super) fn limit_capabilities(&self) -> Result<(), Failure> {
        match &self.agent.capabilities {
            Some(kept) => capabilities::limit(kept),
            None => Ok(()),
        }
    }

    /// Listen for sessions.
    pub(super) fn listen(&self) -> Result<UnixListener, Failure> {
        self.listen_on(Path::new(&format!("{}.sock", self.agent.name)))
    }

    /// Listen on a socket in the run directory, even if the directory's path leads elsewhere by now or is too
    /// long for a socket's name.
    pub(super) fn listen_on(&self, name: &Path) -> Result<UnixListener, Failure> {
        let listener = self.place.inside(|| UnixListener::bind(name)).and_then(|bound| bound);
        listener.with_context(|| format!("listen on {}", name.display()))
    }

    fn join_cgroups(&self) -> Result<(), Failure> {
        for folder in &self.cgroups {
            // 0 means the process that writes it.
            fs::write(folder.join("cgroup.procs"), "0")
                .with_context(|| format!("put {} into {}", self.agent.name, folder.display()))?;
        }
        Ok(())
    }

    /// Set the sysctls of this process's current network namespace.
    pub(super) fn set_sysctls(&self, resources: &StartupResources) -> Result<(), Failure> {
        let name = &self.agent.name;
        let network =
            kernel::NetworkParameters::current(resources.proc.as_ref().map(OwnedFd::as_fd))
                .with_context(|| format!("find the sysctls of {name}"))?;
        let tables = if self.has_bridges { BRIDGE_TABLES } else { [].as_slice() };
        let tables = tables.iter().map(|&table| (table, "0"));
        let configured =
            self.agent.sysctls.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (sysctl, value) in tables.chain(configured) {
            let set = match sysctl.strip_prefix('-') {
                Some(sysctl) => network.set_if_there(sysctl, value),
                None => network.set(sysctl, value),
            };
            set.map_err(|error| {
                let sysctl = sysctl.trim_start_matches('-');
                let fix = format!("write it as `-{sysctl}` if the lab can do without");
                Failure::new(format!("set {sysctl} = {value} in {name}"), error).fix(fix)
            })?;
        }
        Ok(())
    }
}

fn has(agent: &Agent, isolate: Isolate) -> bool {
    agent.isolate.contains(&isolate)
}
