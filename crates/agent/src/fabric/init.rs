//! pid 1 of a lab: starts the agents, builds the network, reaps. Its death ends them all.

use std::io;
use std::os::fd::AsFd;

use delaylab_os::process::{self, Ended, PidFd, Side};
use delaylab_os::report::Sender;
use delaylab_os::{mount, namespace, pipe, poll, title};
use delaylab_proto::Failure;

use super::member::{Lent, Member};
use super::network::Network;
use super::plan::{Build, Space};
use super::report::{Report, tell};

/// How many agents set their sysctls by one mount of `/proc`.
const AGENTS_PER_PROC: usize = 32;

/// What the keeper made ready for pid 1.
pub struct Lab<'a> {
    pub build: &'a Build,
    pub spaces: &'a [Space],
    pub network: Network<'a>,
    /// In the order of the plan; their networks are filled in as agents start.
    pub members: Vec<Member<'a>>,
    /// Outside the lab: who becomes root in it, if it is rootless.
    pub user: (u32, u32),
}

/// The life of pid 1.
pub fn live(lab: Lab, keeper: Sender) -> ! {
    let build = lab.build;
    let pids = match start(lab, &keeper) {
        Ok(pids) => pids,
        Err(failure) => {
            // If even this fails, the keeper is gone and has taken this process with it.
            let _ = tell(&keeper, &Report::Failed(failure));
            std::process::exit(1);
        }
    };
    reap(build, &pids, &keeper)
}

fn start(lab: Lab, keeper: &Sender) -> Result<Vec<i32>, Failure> {
    let failed = |what: &'static str| move |error: io::Error| Failure::new(what, error);
    if lab.build.rootless {
        let (uid, gid) = lab.user;
        namespace::map_to_root(uid, gid).map_err(failed("map the user to root"))?;
    }
    // After the change of user, which would clear it.
    process::die_with_parent().map_err(failed("bind the lab to its keeper"))?;
    if keeper.is_abandoned().map_err(failed("bind the lab to its keeper"))? {
        std::process::exit(1);
    }
    let name = format!("delaylab-agent lab {}", lab.build.lab);
    title::set(&name, "delaylab-lab").map_err(failed("name the process"))?;
    mount::make_private().map_err(failed("separate the mounts"))?;
    // Refused where the system's /proc is covered in part (some containers): ours shows outer pids then.
    let _ = mount::proc();
    let (reader, writer) = pipe::pair().map_err(failed("make a pipe"))?;
    let mut lent = Lent { _configured: Some(writer), proc: None };
    let mut pids = Vec::with_capacity(lab.members.len());
    for member in lab.members {
        if member.index % AGENTS_PER_PROC == 0 {
            // Refused where a new /proc is: the one there is will do, more slowly.
            lent.proc = mount::detached_proc().ok();
        }
        pids.push(start_member(member, lab.spaces, &pids, keeper, &mut lent)?);
    }
    drop(lent);
    // The end comes when every agent has its namespaces as they shall be, or has died.
    poll::wait(&[(reader.as_fd(), poll::Want::Read)], None)
        .map_err(failed("wait for the agents"))?;
    lab.network.build(&pids)?;
    tell(keeper, &Report::Built)?;
    Ok(pids)
}

fn start_member(
    mut member: Member,
    spaces: &[Space],
    pids: &[i32],
    keeper: &Sender,
    lent: &mut Lent,
) -> Result<i32, Failure> {
    let name = &member.agent.name;
    let failed = |error: io::Error| Failure::new(format!("start agent {name}"), error);
    if let Space::Of(owner) = spaces[member.index]
        && owner != member.index
    {
        member.network = Some(PidFd::open(pids[owner]).map_err(failed)?);
    }
    match process::clone(Member::namespaces(member.agent)).map_err(failed)? {
        Side::Parent(pid) => Ok(pid),
        Side::Child => {
            let lived = member.live(keeper, std::mem::take(lent));
            std::process::exit(i32::from(lived.is_err()));
        }
    }
}

/// Reaps for ever. The death of an agent is told; once the lab is up nobody listens any more.
fn reap(build: &Build, pids: &[i32], keeper: &Sender) -> ! {
    while let Some((pid, ended)) = process::wait_any() {
        let Some(index) = pids.iter().position(|&agent| agent == pid) else { continue };
        let name = &build.plan.agents[index].name;
        let why = match ended {
            Ended::Exit(code) => format!("it ended with exit code {code}"),
            Ended::Killed(signal) => format!("it was killed by signal {signal}"),
        };
        let failure = Failure::new(format!("start agent {name}"), why);
        let bytes = serde_json::to_vec(&Report::Failed(failure)).unwrap_or_default();
        let _ = keeper.try_send(&bytes);
    }
    std::process::exit(1)
}
