//! An agent whose node is a container or a virtual machine. It starts the guest, waits until the agent inside
//! answers, and then represents it.

mod cards;
mod console;
mod leash;
mod qmp;

use std::cell::{Cell, OnceCell};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use delaylab_os::files::descriptor::{self, Received};
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::credential_channel::Sender;
use delaylab_os::process::{self, PidFd, namespace};
use delaylab_os::tsc;
use delaylab_proto::{Context, Failure, Frame, Kind, Reply};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::member::{Member, StartupResources};
use super::names;
use super::report::{Report, tell};
use crate::init::container;
use crate::protocol::agent_network::AgentNetwork;
use crate::protocol::lab::{Guest, Reach};
use crate::protocol::running::Event;
use crate::session::listen;
use crate::session::mux::Mux;
use cards::Cards;
use console::Console;
use qmp::Qmp;

/// The number of the command's file descriptor of the stream.
const STREAM: i32 = 3;
/// The same of QMP's stream. QEMU gets it as a descriptor: a name in the guest's folder could lead elsewhere.
const QMP: i32 = 4;
/// The placeholder in a command that asks for a QMP stream.
const QMP_WORD: &str = "{qmp}";
const ENDED: &str = "it has ended";
/// The time for which a guest's agent may stop in the middle of a frame. It writes whole ones, but the guest may
/// get no CPU for a while.
const STALL: Duration = Duration::from_secs(60);

/// Run a monitor until the lab ends.
pub(super) fn live(
    member: &Member,
    guest: &Guest,
    keeper: &Sender,
    mut resources: StartupResources,
) -> Result<(), Failure> {
    let mut monitor = Monitor {
        member,
        guest,
        deadline: Instant::now(),
        console: OnceCell::new(),
        qmp: Cell::new(None),
    };
    let held = match monitor.start(&mut resources) {
        Ok(held) => held,
        Err(failure) => return tell(keeper, &Report::Failed(failure)),
    };
    tell(keeper, &Report::Ready(member.index))?;
    drop(resources);
    match held {
        Held::Stream(mux, listener, running, cards) => {
            let why = monitor.relay(mux, &listener, &running, cards);
            monitor.answer_for_the_ended(&listener, &why)
        }
        Held::Leash(leash, listener) => monitor.hand_over(&leash, &listener),
        Held::Command(running) => {
            let ended = wait_for_end(&running);
            let failure = monitor.failure(ended.err().unwrap_or_else(|| ENDED.to_owned()));
            // Once the lab is up nobody reads this report. None is needed: the guests that this command
            // served report the end.
            let _ =
                keeper.try_send(&serde_json::to_vec(&Report::Failed(failure)).unwrap_or_default());
            wait_for_ever()
        }
    }
}

/// The resources that a monitor holds as long as its guest lives.
enum Held {
    Stream(Mux, UnixListener, PidFd, Option<Box<Cards>>),
    Leash(OwnedFd, UnixListener),
    Command(PidFd),
}

/// A reply of a machine that is being set up.
type MachineReply = Reply<Event<'static>, IgnoredAny>;

struct Monitor<'a> {
    member: &'a Member<'a>,
    guest: &'a Guest,
    deadline: Instant,
    console: OnceCell<Console>,
    /// The stream to QEMU's monitor, of guests whose command takes one, until the guest has started.
    qmp: Cell<Option<OwnedFd>>,
}

impl Monitor<'_> {
    fn start(&mut self, resources: &mut StartupResources) -> Result<Held, Failure> {
        self.member.prepare()?;
        // Listen before the network is built: other guests may be reached through this one.
        let listener = match self.guest.reach {
            Reach::Stream | Reach::Folder => Some(self.member.listen()?),
            Reach::Nothing => None,
        };
        if self.member.agent.network != AgentNetwork::Guest {
            self.member.set_sysctls(resources)?;
            self.member.configured(resources);
        }
        if let (Reach::Stream, Some(built)) = (self.guest.reach, &resources.built) {
            poll::wait(&[(built.as_fd(), Interest::Read)], None).context("wait for the network")?;
        }
        self.deadline = Instant::now() + Duration::from_millis(self.guest.deadline_ms);
        match (self.guest.reach, listener) {
            (Reach::Stream, Some(listener)) => self.by_stream(listener),
            (Reach::Folder, Some(listener)) => self.by_folder(listener, resources),
            _ => {
                let running =
                    self.run(vec![])?.ok_or_else(|| self.failure("it has no command".into()))?;
                self.member.configured(resources);
                Ok(Held::Command(running))
            }
        }
    }

    fn by_stream(&self, listener: UnixListener) -> Result<Held, Failure> {
        let failed = |error: io::Error| self.failure(error.to_string());
        let (ours, theirs) = descriptor::stream_pair().map_err(failed)?;
        let mut descriptors = vec![(theirs, STREAM)];
        if self.guest.command.iter().any(|word| word.contains(QMP_WORD)) {
            let (ours, theirs) = descriptor::stream_pair().map_err(failed)?;
            self.qmp.set(Some(ours));
            descriptors.push((theirs, QMP));
        }
        let running =
            self.run(descriptors)?.ok_or_else(|| self.failure("it has no command".into()))?;
        let mut mux = Mux::new(ours).map_err(failed)?;
        mux.expect_whole_frames(STALL);
        let ready = self.answer(&mut mux, &running, |reply| matches!(reply, Reply::Event(_)))?;
        if let Reply::Event(Event::Machine { window: Some(window), .. }) = ready {
            mux.limit(window);
        }
        if let Some(setup) = &self.guest.setup {
            let setup = self.with_names(setup).context("tell the guest the names of nodes")?;
            mux.send(&Frame::new(Kind::Message, setup))?;
            match self.answer(&mut mux, &running, |reply| !matches!(reply, Reply::Event(_)))? {
                Reply::Error(failure) => {
                    return Err(self.failure(failure.to_string()).fix(failure.fix));
                }
                Reply::Done(_) | Reply::Event(_) => {}
            }
        }
        let cards = self.cards()?;
        Ok(Held::Stream(mux, listener, running, cards))
    }

    /// Return a guest's setup with the lab's names. They are added here, since a plan that repeated all names
    /// for every guest would grow with the square of the lab.
    fn with_names(&self, setup: &RawValue) -> serde_json::Result<Vec<u8>> {
        let mut setup: serde_json::Map<String, Value> = serde_json::from_str(setup.get())?;
        if let Some(text) = names::of_guests(self.member.place) {
            setup.insert("hosts".into(), text.into());
        }
        serde_json::to_vec(&setup)
    }

    /// Wait for a reply on channel 0 that satisfies `wanted`.
    fn answer(
        &self,
        mux: &mut Mux,
        running: &PidFd,
        wanted: impl Fn(&MachineReply) -> bool,
    ) -> Result<MachineReply, Failure> {
        loop {
            let left = self.left()?;
            let turn = mux.turn(&[(running.as_fd(), Interest::Read)], Some(left))?;
            let mut replies = turn.new.iter().filter_map(|frame| {
                (frame.kind == Kind::Message)
                    .then(|| serde_json::from_slice(&frame.payload).ok())?
            });
            if let Some(reply) = replies.find(&wanted) {
                return Ok(reply);
            }
            if turn.ready[0] || turn.ended {
                return Err(self.failure(ENDED.into()));
            }
        }
    }

    /// Listen in the folder that the container sees. The socket gets its name by a rename once it listens: an
    /// engine may have started the container already, which waits for that name.
    fn listen_for_leash(&self) -> Result<UnixListener, Failure> {
        let guest = self.member.folder.file_name().map(Path::new).unwrap_or(Path::new(""));
        let folder = guest.join(container::FOLDER);
        let unnamed = folder.join("leash.new");
        let listener = self.member.listen_on(&unnamed)?;
        let name = || fs::rename(&unnamed, folder.join(container::LEASH));
        let named = self.member.place.inside(name).and_then(|renamed| renamed);
        named.map_err(|error| self.failure(error.to_string()))?;
        Ok(listener)
    }

    fn by_folder(
        &self,
        sessions: UnixListener,
        resources: &mut StartupResources,
    ) -> Result<Held, Failure> {
        let failed = |error: io::Error| self.failure(error.to_string());
        let listener = self.listen_for_leash()?;
        let running = self.run(vec![])?;
        let mut on = vec![(listener.as_fd(), Interest::Read)];
        on.extend(running.as_ref().map(|running| (running.as_fd(), Interest::Read)));
        loop {
            let ready = poll::wait(&on, Some(self.left()?)).map_err(failed)?;
            if ready[0] {
                break;
            }
            if ready.get(1) == Some(&true) {
                return Err(self.failure(ENDED.into()));
            }
        }
        let leash = OwnedFd::from(listener.accept().map_err(failed)?.0);
        let Received::Descriptor(network) =
            descriptor::receive_descriptor(leash.as_fd()).map_err(failed)?
        else {
            let why =
                leash::reason_for_end(leash).map(|why| format!(": {why}")).unwrap_or_default();
            return Err(self.failure(format!("it ended before its agent answered{why}")));
        };
        if self.member.agent.network == AgentNetwork::Guest {
            namespace::join_network_of(&network).map_err(failed)?;
            self.member.set_sysctls(resources)?;
            self.member.configured(resources);
        }
        Ok(Held::Leash(leash, sessions))
    }

    /// Start the command with these descriptors, each under the number beside it; its output goes to the
    /// console's file.
    fn run(&self, descriptors: Vec<(OwnedFd, i32)>) -> Result<Option<PidFd>, Failure> {
        let mut words = self.guest.command.iter().map(|word| self.filled(word));
        let Some(program) = words.next() else { return Ok(None) };
        let what = || format!("run {program}");
        process::reap_by_wait().with_context(what)?;
        let (output, console) = io::pipe().with_context(what)?;
        let mut command = Command::new(&program);
        command.args(words).current_dir(&self.member.folder).stdin(Stdio::null());
        command.envs(self.guest.env.iter().map(|(name, value)| (name, self.filled(value))));
        command.stdout(console.try_clone().with_context(what)?).stderr(console);
        process::new_session(&mut command, false);
        process::hand_over(&mut command, descriptors).with_context(what)?;
        let child = command.spawn().with_context(what)?;
        // Drop this process's copies of the output, so that only the command holds them.
        drop(command);
        // Start the thread only after the command, which must be forked from a single-threaded process.
        let Member { place, agent, .. } = self.member;
        let console = Console::keep(place, &agent.name, output).with_context(what)?;
        // This is called once: there is one command.
        let _ = self.console.set(console);
        PidFd::open(child.id().cast_signed()).map(Some).with_context(what)
    }

    fn filled(&self, word: &str) -> String {
        if word.contains("{tsc_khz}") {
            return self.filled(&word.replace("{tsc_khz}", &tsc::counter_khz().to_string()));
        }
        let cgroup = self.member.cgroups.first().map_or(String::new(), |folder| {
            let below = folder.components().rev().take(3).collect::<Vec<_>>();
            below.iter().rev().collect::<PathBuf>().display().to_string()
        });
        word.replace("{folder}", &self.member.folder.to_string_lossy())
            .replace(
                "{lab}",
                &self.member.folder.parent().unwrap_or(&self.member.folder).to_string_lossy(),
            )
            .replace("{pid}", &std::process::id().to_string())
            .replace("{stream}", &STREAM.to_string())
            .replace(QMP_WORD, &QMP.to_string())
            .replace("{cgroup}", &cgroup)
    }

    /// Begin the session with a QEMU, and listen for requests about its cards.
    fn cards(&self) -> Result<Option<Box<Cards>>, Failure> {
        let Some(qmp) = self.qmp.take() else { return Ok(None) };
        let name = format!("{}{}", self.member.agent.name, cards::SOCKET);
        let listener = self.member.listen_on(Path::new(&name))?;
        let cards = Cards::open(listener, qmp, &self.guest.pin);
        cards.map(|cards| Some(Box::new(cards))).map_err(|error| self.failure(error.to_string()))
    }

    /// Relay sessions to and from a machine until it ends or sends an invalid frame; return the reason.
    fn relay(
        &self,
        mut mux: Mux,
        listener: &UnixListener,
        running: &PidFd,
        mut cards: Option<Box<Cards>>,
    ) -> String {
        loop {
            let mut own =
                vec![(listener.as_fd(), Interest::Read), (running.as_fd(), Interest::Read)];
            own.extend(cards.iter().flat_map(|cards| cards.fds()).map(|fd| (fd, Interest::Read)));
            let turn = match mux.turn(&own, None) {
                Ok(turn) => turn,
                Err(failure) => return failure.why,
            };
            if turn.ready[1] || turn.ended {
                return ENDED.to_owned();
            }
            if turn.ready[0]
                && let Some(client) = listen::next_client(listener)
            {
                mux.admit(client.into());
            }
            let asked = turn.ready.get(2..4).map(|ready| [ready[0], ready[1]]);
            if let (Some(held), Some(ready)) = (&mut cards, asked)
                && !held.serve(ready)
            {
                cards = None;
            }
        }
    }

    /// Pass clients' connections to the container's agent until it has ended. The connection to the agent was
    /// made when the container started, so nothing that the container does later redirects a client.
    fn hand_over(&self, leash: &OwnedFd, listener: &UnixListener) -> ! {
        loop {
            let ready =
                listen::wait(&[(listener.as_fd(), Interest::Read), (leash.as_fd(), Interest::End)]);
            if ready[1] {
                self.answer_for_the_ended(listener, ENDED);
            }
            if ready[0]
                && let Some(client) = listen::next_client(listener)
                && let Err(error) = descriptor::send_descriptor(leash.as_fd(), client.as_fd())
            {
                let why = format!("its agent takes no session: {error}");
                listen::refuse(client.into(), &self.failure(why));
            }
        }
    }

    /// Tell every new client that the guest has ended. Its namespaces stay as long as the lab, for
    /// inspection.
    fn answer_for_the_ended(&self, listener: &UnixListener, why: &str) -> ! {
        loop {
            if let Some(client) = listen::next_client(listener) {
                listen::refuse(client.into(), &self.failure(why.to_owned()));
            }
        }
    }

    fn left(&self) -> Result<Duration, Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = self.guest.deadline_ms / 1000;
            let status = |qmp| Qmp::begin(qmp).and_then(|mut qmp| qmp.status()).ok();
            let state = self.qmp.take().and_then(status);
            let state = state.map_or(String::new(), |state| format!(" (QEMU: {state})"));
            return Err(self.failure(format!("its agent did not answer within {seconds} s{state}")));
        }
        Ok(left)
    }

    /// Build the error for a guest that failed, with the end of its console.
    fn failure(&self, why: String) -> Failure {
        let last = self.console.get().map_or(String::new(), Console::last_words);
        let said = if last.is_empty() { last } else { format!("; the end of its console: {last}") };
        Failure::new(format!("start the guest of {}", self.member.agent.name), why + &said)
    }
}

fn wait_for_end(running: &PidFd) -> Result<(), String> {
    poll::wait(&[(running.as_fd(), Interest::Read)], None)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

fn wait_for_ever() -> ! {
    loop {
        listen::wait(&[]);
    }
}
