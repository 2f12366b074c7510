//! The control groups of one lab, and warnings about those that are missing.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use delaylab_proto::{Context, Failure};

use super::{Hierarchies, removal};
use crate::fabric::cgroups;
use crate::protocol::lab::Build;

/// The control groups, in the order of the plan's agents.
pub(in crate::fabric) struct Groups {
    /// Each agent's folders by controller.
    pub folders: Vec<BTreeMap<String, PathBuf>>,
    /// True for each agent that a cpuset binds to its CPUs.
    pub has_cpus: Vec<bool>,
    /// Folders in which guests' software may have created groups for this lab by itself.
    guests: Vec<PathBuf>,
    /// The groups that could not be created, with the reason.
    pub warnings: Vec<String>,
}

impl Groups {
    /// Create the groups of the agents that request one. A group that cannot be created is a warning.
    /// `record` writes the folders down before they are created.
    pub(in crate::fabric) fn create(
        build: &Build,
        record: impl FnOnce(&[PathBuf]) -> io::Result<()>,
    ) -> Result<Self, Failure> {
        let agents = &build.plan.agents;
        let mut groups = Self {
            folders: vec![BTreeMap::new(); agents.len()],
            has_cpus: vec![false; agents.len()],
            guests: Vec::new(),
            warnings: Vec::new(),
        };
        if !agents.iter().any(|agent| agent.cgroup) {
            return Ok(groups);
        }
        let hierarchies =
            if build.rootless { Err("they need root".to_owned()) } else { Hierarchies::find() };
        match hierarchies {
            Ok(hierarchies) => groups.fill(&hierarchies, build, record)?,
            Err(why) => groups.warnings.push(format!("no control groups: {why}")),
        }
        Ok(groups)
    }

    fn fill(
        &mut self,
        hierarchies: &Hierarchies,
        build: &Build,
        record: impl FnOnce(&[PathBuf]) -> io::Result<()>,
    ) -> Result<(), Failure> {
        for (folders, agent) in self.folders.iter_mut().zip(&build.plan.agents) {
            if agent.cgroup {
                *folders = hierarchies.folders(&build.lab, &agent.name, agent.cpu_policy());
            }
        }
        if build.plan.agents.iter().any(|agent| agent.guest.is_some()) {
            self.guests =
                cgroups::everywhere(&build.lab).context("write down the control groups")?;
        }
        record(&self.all()).context("write down the control groups")?;
        for (index, agent) in build.plan.agents.iter().enumerate() {
            if !agent.cgroup {
                continue;
            }
            match hierarchies.create(&self.folders[index], agent.bound_to(), agent.cpu_policy()) {
                Ok(given) => self.has_cpus[index] = given,
                Err(error) => {
                    let name = &agent.name;
                    self.warnings.push(format!("no control group for {name}: {error}"));
                    // Half of the group may exist: remove it now, and list it for no agent.
                    let _ = removal::remove(&removal::with_parents(self.folders[index].values()));
                    self.folders[index].clear();
                }
            }
        }
        Ok(())
    }

    fn all(&self) -> Vec<PathBuf> {
        let agents = self.folders.iter().flat_map(BTreeMap::values);
        removal::with_parents(agents.chain(&self.guests))
    }

    /// Remove all groups. No process may be left in them.
    pub(in crate::fabric) fn remove(&self) -> io::Result<()> {
        removal::remove(&self.all())
    }
}
