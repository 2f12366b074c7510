//! The node that an interface of this machine is: a process passes on what arrives at the interface by the node's
//! card, and what arrives at the card by the interface.
//!
//! The interface is not changed, and nothing of the lab is put on it. Two packet sockets see its frames and send by
//! it, as a program that captures does; they end with the process, however that ends. Who else uses the interface on
//! this machine goes on: frames of the lab that leave by it do not reach this machine's own stack.

use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread;
use std::time::Duration;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::interface::{self, interface_index};
use delaylab_os::netlink::interface::alias;
use delaylab_os::process::scheduling::{self, RealTime};
use delaylab_os::process::{self, PidFd, Side, namespace, title};
use delaylab_os::socket::passing_frames::{Arrived, PassingFrames, ROOM};
use delaylab_proto::{Context, Failure};
use tracing::warn;

use crate::protocol::lab::RealInterface;

/// The priority of the process among real-time processes: the least, below a link engine's.
const PRIORITY: i32 = 1;
/// The time after which an interface that is down is looked for.
const LOOK: Duration = Duration::from_millis(200);
/// The frames that are passed on before the thread looks whether it is to wait.
const TURN: usize = 64;

/// An interface that this lab alone uses from now on, and the card that stands for it.
pub(super) struct Claimed<'a> {
    of: &'a RealInterface,
    frames: PassingFrames,
    /// The claim: a name of this machine's network namespace, free again once no process has it open.
    _claim: UnixDatagram,
}

impl RealInterface {
    /// Open the interface in the network namespace of this machine, unless another lab has it.
    pub(super) fn claim(&self) -> Result<Claimed<'_>, Failure> {
        // Only this thread moves there, and it ends.
        thread::scope(|scope| scope.spawn(|| self.claim_here()).join())
            .unwrap_or_else(|_| Err(self.failure("the thread that opens it has failed")))
    }

    fn claim_here(&self) -> Result<Claimed<'_>, Failure> {
        let what = || self.what();
        let machine = PidFd::open(1).with_context(what)?;
        namespace::join_network(&machine).with_context(what)?;
        let Ok(index) = interface_index(&self.name) else {
            let others = interface::names().with_context(what)?;
            let others: Vec<String> = others.into_iter().filter(|name| name != "lo").collect();
            let failure = self.failure("there is no such interface");
            return Err(match others.is_empty() {
                true => failure,
                false => failure.fix(format!("one of: {}", others.join(", "))),
            });
        };
        self.check(index)?;
        let claim = format!("delaylab-interface-{index}");
        let claim = SocketAddr::from_abstract_name(claim).with_context(what)?;
        let claim = UnixDatagram::bind_addr(&claim).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                self.failure("another lab has it").fix("take that lab down (delaylab ps)")
            }
            _ => self.failure(&error.to_string()),
        })?;
        let frames = PassingFrames::open(index).with_context(what)?;
        Ok(Claimed { of: self, frames, _claim: claim })
    }

    /// Refuse what is no interface of a real network, and one that does not fit to the link.
    fn check(&self, index: u32) -> Result<(), Failure> {
        let facts = interface::facts(&self.name).with_context(|| self.what())?;
        let owner = alias(index).with_context(|| self.what())?;
        if facts.is_loopback {
            Err(self.failure("it is the loopback").fix("name an interface of a network"))
        } else if let Some(lab) = owner.strip_prefix("delaylab:") {
            Err(self
                .failure(&format!("it is delaylab's own, of lab {lab}"))
                .fix("name an interface of a network"))
        } else if !facts.is_ethernet {
            Err(self.failure("it carries no Ethernet frames"))
        } else if !facts.is_up {
            let name = &self.name;
            Err(self.failure("it is down").fix(format!("as root: ip link set {name} up")))
        } else if facts.mtu < self.mtu {
            let (mtu, wanted) = (facts.mtu, self.mtu);
            Err(self
                .failure(&format!("its MTU is {mtu}, and that of the link {wanted}"))
                .fix(format!("give the link `mtu: {mtu}`")))
        } else {
            Ok(())
        }
    }

    fn what(&self) -> String {
        format!("use interface {} of this machine", self.name)
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::new(self.what(), why)
    }
}

impl Claimed<'_> {
    /// Start the process that joins the interface with the card, which is in this process's network namespace. This
    /// process ends with it.
    pub(super) fn join(self) -> Result<(), Failure> {
        let what = || self.of.what();
        let card = interface_index(&self.of.card).with_context(what)?;
        let card = PassingFrames::open(card).with_context(what)?;
        match process::fork().with_context(what)? {
            Side::Parent(pid) => {
                let running = PidFd::open(pid).with_context(what)?;
                thread::spawn(move || end_with(&running));
                Ok(())
            }
            Side::Child => {
                let began = process::die_with_parent().and_then(|()| self.name_process());
                if began.is_ok() {
                    thread::scope(|scope| {
                        scope.spawn(|| self.pass(&card, &self.frames));
                        self.pass(&self.frames, &card);
                    });
                }
                std::process::exit(1)
            }
        }
    }

    fn name_process(&self) -> io::Result<()> {
        title::set(&format!("delaylab-agent interface {}", self.of.name), "interface")
    }

    /// Pass frames on in one direction until the interface that they come from is gone. Then end the process: one
    /// direction alone is no network.
    fn pass(&self, from: &PassingFrames, to: &PassingFrames) {
        if let Err(error) = pass_on(from, to) {
            warn!(interface = self.of.name, %error, "the interface is joined no longer");
        }
        std::process::exit(1)
    }
}

/// End this process, and with it the node, when the other one has ended.
fn end_with(running: &PidFd) {
    let _ = poll::wait(&[(running.as_fd(), Interest::Read)], None);
    warn!("the process of the interface has ended, and so does its node");
    std::process::exit(1)
}

/// Send what arrives at one interface by the other one, until the first is gone.
fn pass_on(from: &PassingFrames, to: &PassingFrames) -> io::Result<()> {
    // Without these rights frames wait for the CPU like those of any process.
    let _realtime = RealTime::fifo(PRIORITY);
    let _ = scheduling::no_timer_slack();
    let mut buffer = vec![0; ROOM];
    let (mut dropped, mut is_down) = (0u64, false);
    loop {
        let ready = poll::wait(&[(from.fd(), Interest::Read)], is_down.then_some(LOOK))?;
        if is_down && !from.is_there()? {
            return Err(io::ErrorKind::NotFound.into());
        }
        is_down &= !ready[0];
        for _ in 0..TURN {
            let lost = match from.receive(&mut buffer) {
                Ok(Arrived::Whole(length)) => to.send(&buffer[..length]).err(),
                Ok(Arrived::Other) => Some(io::ErrorKind::InvalidData.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The kernel tells once that the interface has gone down, and nothing if it then goes away.
                Err(_) if from.is_there()? => {
                    is_down = true;
                    break;
                }
                Err(error) => return Err(error),
            };
            if let Some(error) = lost {
                dropped += 1;
                if dropped.is_power_of_two() {
                    warn!(dropped, %error, "frames were not passed on");
                }
            }
        }
    }
}
