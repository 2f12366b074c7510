//! The cards of a QEMU, whose carriers its monitor takes and gives back by QMP.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use delaylab_os::process::scheduling;
use delaylab_proto::{Context, Failure, Frame, Kind, Reply, read_frame, write_frame};

use super::qmp::Qmp;
use crate::protocol::network::Carrier;
use crate::protocol::programs::Nothing;
use crate::protocol::requests::Request;
use crate::session::listen;

/// The end of the name of the socket at which a monitor is asked, after the agent's name.
pub(super) const SOCKET: &str = ".card";
/// The time that a client has to send its request.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket, and the session with QEMU.
pub(super) struct Cards {
    listener: UnixListener,
    qmp: Qmp,
}

impl Cards {
    /// Begin the session with a QEMU, and bind its virtual CPUs, which are threads of it, to the CPUs `pin`.
    pub(super) fn open(listener: UnixListener, qmp: OwnedFd, pin: &[usize]) -> io::Result<Self> {
        let mut qmp = Qmp::begin(qmp)?;
        if !pin.is_empty() {
            for (number, thread) in qmp.cpu_threads()? {
                if let Some(&cpu) = pin.get(number) {
                    scheduling::set_thread_affinity(thread, &[cpu])?;
                }
            }
        }
        Ok(Self { listener, qmp })
    }

    /// Return the descriptors to wait for: that of clients, and that of QEMU's events.
    pub(super) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.listener.as_fd(), self.qmp.fd()]
    }

    /// Serve what is ready of the two; return false if QEMU speaks no more.
    pub(super) fn serve(&mut self, ready: [bool; 2]) -> bool {
        if ready[1] && self.qmp.pass_over().is_err() {
            return false;
        }
        if ready[0]
            && let Some(client) = listen::next_client(&self.listener)
        {
            // A client that sends no request, or has gone, needs no answer.
            let _ = self.answer(client);
        }
        true
    }

    fn answer(&mut self, client: UnixStream) -> Result<(), Failure> {
        let what = "answer about a card";
        client.set_read_timeout(Some(PATIENCE)).context(what)?;
        client.set_write_timeout(Some(PATIENCE)).context(what)?;
        let mut client = File::from(OwnedFd::from(client));
        let Some(frame) = read_frame(&mut client).context(what)? else { return Ok(()) };
        let reply: Reply<(), Nothing> = match self.set(&frame) {
            Ok(()) => Reply::Done(Nothing {}),
            Err(failure) => Reply::Error(failure),
        };
        let bytes = serde_json::to_vec(&reply).context(what)?;
        write_frame(&mut client, &Frame::new(Kind::Message, bytes)).context(what)
    }

    fn set(&mut self, frame: &Frame) -> Result<(), Failure> {
        let request = serde_json::from_slice(&frame.payload).context("read a request")?;
        let Request::Carrier(Carrier { on, up }) = Request::read(request)? else {
            return Err(Failure::new("read a request", "a monitor only sets carriers"));
        };
        // The card's name in QEMU's command begins with a letter, as QEMU demands of a name.
        self.qmp
            .set_link(&format!("n-{on}"), up)
            .with_context(|| format!("set the carrier of {on}"))
    }
}
