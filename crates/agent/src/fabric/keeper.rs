//! The keeper of a lab. It runs outside of the lab so that it can clean up whatever happens inside.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use delaylab_os::files::descriptor;
use delaylab_os::files::folder::Folder;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::credential_channel::{self, Receiver};
use delaylab_os::process::end_signals::{self, EndSignals};
use delaylab_os::process::namespace::{self, Namespaces};
use delaylab_os::process::{self, PidFd, Side, memory, title};
use delaylab_proto::{Context, Failure, Refusal, Reply};
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::info;

use super::cgroups::groups::Groups;
use super::cgroups::removal;
use super::init::{self, Lab};
use super::local;
use super::member::Member;
use super::network::Network;
use super::plan::{Bulk, NetNs, check_name};
use super::report::Report;
use super::rundir::RunDir;
use crate::link::Agents;
use crate::logging;
use crate::protocol::agent_network::AgentNetwork;
use crate::protocol::built::{BuildDone, BuiltAgent};
use crate::protocol::lab::{Build, Plan};
use crate::protocol::requests::unread;
use crate::protocol::running::Order;
use crate::session::{self, Serve, Session};

const SIGKILL: i32 = 9;

/// Read one request from standard input, build the lab, and keep it until told to stop. `serve` serves the
/// sessions of its agents.
pub(crate) fn keep(serve: Serve) -> ExitCode {
    let Ok(mut session) = session::stdio().map(|(input, output)| Session::new(input, output))
    else {
        return ExitCode::FAILURE;
    };
    match run(&mut session, serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // A client that has gone needs no answer; one that has been answered already ignores this one.
            let _ = session.reply(&Refusal::Error(failure));
            ExitCode::FAILURE
        }
    }
}

fn run(session: &mut Session, serve: Serve) -> Result<(), Failure> {
    let Some(request) = session.request_frame()? else { return Ok(()) };
    let began = Instant::now();
    title::make_room().context("name the process")?;
    let mut build: Build = serde_json::from_slice(&request.payload)
        .map_err(|error| unread("read the request to build a lab", &error))?;
    drop(request);
    if build.op != "build" {
        return Err(Failure::new("build a lab", "the request's `op` is not `build`"));
    }
    check_name(&build.lab).context("build a lab")?;
    let signals = EndSignals::block().context("hold back signals")?;
    let bulk = build.take_bulk();
    let mut keeper = Keeper::start(&build, bulk, signals, session, serve)?;
    let result = keeper.build_and_keep(&build, session, began);
    let cleaned = keeper.clean();
    result.and(cleaned)
}

/// A lab that is being built or is up.
struct Keeper {
    signals: EndSignals,
    directory: RunDir,
    groups: Groups,
    reports: Receiver,
    pid: i32,
    init: PidFd,
    /// The data that the client wants in `lab.json`.
    record: Option<Box<RawValue>>,
    /// The lab's interfaces in the machine's own network namespace. Empty until the lab is built: before that
    /// an interface of the same name may be another's.
    on_machine: Vec<String>,
}

/// The contents of `lab.json`.
#[derive(Serialize)]
struct Described<'a> {
    record: Option<&'a RawValue>,
    keeper: &'a BuildDone<'a>,
}

/// Remove what a lab that cannot be started has already, and return why it cannot.
fn abandon(directory: RunDir, groups: Groups, failure: Failure) -> Failure {
    let _ = groups.remove();
    let _ = directory.remove();
    failure
}

/// The reason why a lab ends.
enum WhyEnded {
    /// A client or a signal requested the end, or the client left.
    Asked,
    /// The lab's PID 1 died by itself.
    Died,
}

impl Keeper {
    fn start(
        build: &Build,
        Bulk { record, operations, names }: Bulk,
        signals: EndSignals,
        session: &mut Session,
        serve: Serve,
    ) -> Result<Self, Failure> {
        let began = Instant::now();
        let namespaces = build.plan.namespaces(build.rootless)?;
        let network = Network::new(build, &operations, &namespaces)?;
        info!(lab = build.lab, stage = "plan checked", elapsed = ?began.elapsed(), "stage done");
        let directory = RunDir::create(&build.dir, &build.lab, |folders| {
            // A group that cannot be removed now is recorded nowhere any more, but it holds no process
            // either.
            let _ = removal::remove(folders);
        })?;
        let groups = match Groups::create(build, |groups| directory.record(groups)) {
            Ok(groups) => groups,
            Err(failure) => {
                let _ = directory.remove();
                return Err(failure);
            }
        };
        let prepared = || -> io::Result<_> {
            // The handle of the lab's first process gets the place of this file, however few may be open.
            Ok((directory.place()?, credential_channel::channel()?, File::open("/dev/null")?))
        };
        let (place, (sender, reports), room) = match prepared().context("start the lab") {
            Ok(prepared) => prepared,
            Err(failure) => return Err(abandon(directory, groups, failure)),
        };
        let members = members(&build.plan, &directory, &place, &groups, &network, serve);
        let on_machine = network.on_machine();
        drop(network);
        // Every process of the lab starts as a copy of this one.
        memory::trim();
        let user = namespace::user();
        let mut spaces_of_lab = Namespaces::CLONE_NEWPID | Namespaces::CLONE_NEWNS;
        spaces_of_lab.set(Namespaces::CLONE_NEWUSER, build.rootless);
        match process::clone(spaces_of_lab) {
            Ok(Side::Child) => {
                // The lock, the keeper's ends and its streams must stay with the keeper alone.
                drop((directory, reports, signals));
                drop((record, groups, room));
                let _ = end_signals::unblock_all();
                let _ = process::leave_terminal();
                let _ = descriptor::detach_stdio();
                logging::to_file(&place, "lab");
                let _ = session.detach();
                let namespaces = &namespaces;
                let lab = Lab { build, operations, names, namespaces, members, user };
                init::live(lab, sender)
            }
            Ok(Side::Parent(pid)) => {
                drop(room);
                let init = PidFd::open(pid).context("start the lab")?;
                info!(pid, stage = "lab started", elapsed = ?began.elapsed(), "stage done");
                Ok(Self { signals, directory, groups, reports, pid, init, record, on_machine })
            }
            Err(error) => Err(abandon(directory, groups, refused(error, build.rootless))),
        }
    }

    fn build_and_keep(
        &mut self,
        build: &Build,
        session: &mut Session,
        began: Instant,
    ) -> Result<(), Failure> {
        let Some(pids) =
            self.wait_until_built(build, session).inspect_err(|_| self.on_machine.clear())?
        else {
            self.on_machine.clear();
            return Ok(());
        };
        let done = BuildDone {
            pid: std::process::id(),
            start: process::start_time(own_pid()).context("keep the lab")?,
            agents: self.describe(&build.plan, &pids),
            warnings: &self.groups.warnings,
            elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
        };
        let described = Described { record: self.record.as_deref(), keeper: &done };
        self.directory.describe(&described).context("keep the lab")?;
        session.reply(&Reply::<(), _>::Done(done))?;
        info!(lab = build.lab, stage = "lab built", elapsed = ?began.elapsed(), "stage done");
        match self.wait_for_end(session)? {
            WhyEnded::Asked => Ok(()),
            WhyEnded::Died => Err(Failure::new("keep the lab", "its pid 1 was killed")),
        }
    }

    fn describe(&self, plan: &Plan, pids: &[i32]) -> BTreeMap<String, BuiltAgent<'_>> {
        let agents = plan.agents.iter().zip(pids).zip(&self.groups.folders);
        agents
            .map(|((agent, pid), folders)| {
                let described = BuiltAgent {
                    pid: *pid,
                    start: process::start_time(*pid).unwrap_or(0),
                    socket: self.directory.socket(&agent.name),
                    cgroups: folders,
                };
                (agent.name.clone(), described)
            })
            .collect()
    }

    /// Wait until all agents are ready and the network is built, and return the agents' pids; `None` if the
    /// end was requested.
    fn wait_until_built(
        &self,
        build: &Build,
        session: &mut Session,
    ) -> Result<Option<Vec<i32>>, Failure> {
        let mut pids = vec![0; build.plan.agents.len()];
        let mut awaited = pids.len() + 1;
        while awaited > 0 {
            let on = [
                (self.reports.as_fd(), Interest::Read),
                (self.signals.as_fd(), Interest::Read),
                (self.init.as_fd(), Interest::Read),
                (session.input(), Interest::Read),
            ];
            let ready = poll::wait(&on, None).context("build the lab")?;
            // The client cannot keep a lab that it has not been told of.
            if ready[1] || (ready[3] && matches!(wish(session)?, Some(Wish::End))) {
                return Ok(None);
            }
            let died = || Failure::new("build the lab", "its pid 1 died");
            if ready[0] {
                let message = self.reports.receive().context("build the lab")?.ok_or_else(died)?;
                let report = serde_json::from_slice(&message.bytes).context("read a report")?;
                match report {
                    Report::Ready(index) => pids[index] = message.pid,
                    Report::Built => {}
                    Report::Failed(failure) => return Err(failure),
                }
                awaited -= 1;
            } else if ready[2] {
                return Err(died());
            }
        }
        Ok(Some(pids))
    }

    /// Wait for the end of the lab. It ends with the client, unless the client orders to keep it.
    fn wait_for_end(&self, session: &mut Session) -> Result<WhyEnded, Failure> {
        let mut kept = false;
        loop {
            let mut on =
                vec![(self.init.as_fd(), Interest::Read), (self.signals.as_fd(), Interest::Read)];
            if !kept {
                on.push((session.input(), Interest::Read));
            }
            let ready = poll::wait(&on, None).context("keep the lab")?;
            if ready[0] {
                return Ok(WhyEnded::Died);
            }
            if ready[1] {
                return Ok(WhyEnded::Asked);
            }
            if ready.get(2) == Some(&true) {
                match wish(session)? {
                    Some(Wish::Keep) => {
                        self.leave_client(session).context("keep the lab")?;
                        kept = true;
                    }
                    Some(Wish::End) => return Ok(WhyEnded::Asked),
                    None => {}
                }
            }
        }
    }

    /// Close the client's streams, and leave its terminal.
    fn leave_client(&self, session: &mut Session) -> io::Result<()> {
        // Fails only for a process that already leads a group, which is as good.
        let _ = process::leave_terminal();
        descriptor::detach_stdio()?;
        logging::to_file(&self.directory.place()?, "keeper");
        session.detach()
    }

    /// Kill every process of the lab, then remove what the kernel does not clean up.
    fn clean(self) -> Result<(), Failure> {
        info!("lab ends");
        let began = Instant::now();
        self.init.signal(SIGKILL).context("clean up after the lab")?;
        process::wait(self.pid);
        local::remove(&self.on_machine)?;
        self.groups.remove().context("clean up after the lab")?;
        self.directory.remove().context("clean up after the lab")?;
        info!(stage = "cleaned up", elapsed = ?began.elapsed(), "stage done");
        Ok(())
    }
}

/// A client's wish for its lab.
enum Wish {
    /// Keep the lab after the client has gone.
    Keep,
    /// End the lab: an order, or the client has gone.
    End,
}

/// Return the first wish among the pending orders.
fn wish(session: &mut Session) -> Result<Option<Wish>, Failure> {
    Ok(session.orders()?.iter().find_map(|order| match order {
        Order::Keep => Some(Wish::Keep),
        Order::Stop | Order::Closed => Some(Wish::End),
        _ => None,
    }))
}

fn members<'a>(
    plan: &'a Plan,
    directory: &RunDir,
    place: &'a Folder,
    groups: &Groups,
    network: &Network,
    serve: Serve,
) -> Vec<Member<'a>> {
    let agents = plan.agents.iter().zip(&groups.folders).enumerate();
    agents
        .map(|(index, (agent, folders))| Member {
            index,
            agent,
            place,
            folder: directory.folder(&agent.name),
            cgroups: folders.values().cloned().collect::<Vec<PathBuf>>(),
            affinity: agent.bound_to().filter(|_| !groups.has_cpus[index]).map(<[_]>::to_vec),
            network: None,
            others: Agents::new(),
            has_bridges: agent.network == AgentNetwork::New
                && network.has_bridges(NetNs::Of(index)),
            serve,
        })
        .collect()
}

fn refused(error: io::Error, rootless: bool) -> Failure {
    let what = "make the lab's namespaces";
    let fix = if rootless {
        "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 \
         kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "run as root, or let delaylab work without it (rootless)"
    };
    Failure::new(what, error).fix(fix)
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}
