//! `exec`: a command whose input and output travel in frames.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use delaylab_os::clock::{EpochOffset, Monotonic};
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::files::{descriptor, terminal};
use delaylab_os::process::{self, Ended, PidFd};
use delaylab_proto::{Context, Failure, FailureKind, Frame, Kind, STDIN_WINDOW, Window};

use super::{hold, tables};
use crate::protocol::programs::{Exec, ExecDone, Ran, Terminal};
use crate::protocol::running::{Event, Order};
use crate::session::Session;

/// The time that a command, and what it started, has to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
const SIGTERM: i32 = 15;

/// Run a command: send `{"started": pid}`, then its output, and return its exit code or the signal that
/// killed it.
pub(super) fn serve(request: Exec, session: &mut Session) -> Result<ExecDone, Failure> {
    if request.hold && !hold::until_go(session)? {
        return Ok(ExecDone { exit: None, ran: None });
    }
    let mut running = Running::start(&request)?;
    let result = running.relay(session);
    if result.is_err() {
        running.abandon()?;
    }
    result
}

/// A running command and this process's ends of its streams.
struct Running {
    pid: i32,
    /// The offset between the clocks when the command began: it gives the times of its begin and end.
    offset: EpochOffset,
    began: Monotonic,
    handle: PidFd,
    input: Option<OwnedFd>,
    outputs: Vec<(Kind, OwnedFd)>,
    /// Input from the client that the command has not read yet: at most [`STDIN_WINDOW`].
    pending: Vec<u8>,
    closing: bool,
    /// Bytes of input that are used up but not yet reported to the client.
    untold: usize,
    /// The flow control window of output to the client.
    window: Window,
    /// The client has asked for the command's end: nothing of it may stay behind.
    stopped: bool,
}

impl Running {
    fn start(request: &Exec) -> Result<Self, Failure> {
        let Some((program, arguments)) = request.argv.split_first() else {
            return Err(Failure::new("run a command", "`argv` is empty"));
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(&request.env);
        if let Some(directory) = &request.cwd {
            command.current_dir(directory);
        }
        process::new_session(&mut command, request.tty.is_some());
        let started = match &request.tty {
            Some(size) => Self::on_terminal(command, size),
            None => Self::on_pipes(command, request.stdin),
        };
        let mut started = started
            .with_context(|| format!("run {program}"))
            .map_err(|failure| failure.kind(FailureKind::NotStarted))?;
        started.window = Window::new(request.window.unwrap_or(u64::MAX));
        Ok(started)
    }

    fn on_pipes(mut command: Command, stdin: bool) -> io::Result<Self> {
        command.stdin(if stdin { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().map(|pipe| (Kind::Stdout, OwnedFd::from(pipe)));
        let stderr = child.stderr.take().map(|pipe| (Kind::Stderr, OwnedFd::from(pipe)));
        let input = child.stdin.take().map(OwnedFd::from);
        Self::new(child.id(), input, stdout.into_iter().chain(stderr).collect())
    }

    fn on_terminal(mut command: Command, size: &Terminal) -> io::Result<Self> {
        let terminal = terminal::open(size.rows, size.cols)?;
        if let Some(term) = &size.term {
            command.env("TERM", term);
        }
        command.stdin(terminal.command.try_clone()?);
        command.stdout(terminal.command.try_clone()?).stderr(terminal.command);
        let child = command.spawn()?;
        let input = terminal.ours.try_clone()?;
        Self::new(child.id(), Some(input), vec![(Kind::Stdout, terminal.ours)])
    }

    fn new(pid: u32, input: Option<OwnedFd>, outputs: Vec<(Kind, OwnedFd)>) -> io::Result<Self> {
        let pid = i32::try_from(pid).map_err(io::Error::other)?;
        let mut ours = outputs.iter().map(|(_, fd)| fd).chain(&input);
        ours.try_for_each(|fd| descriptor::set_nonblocking(fd.as_fd()))?;
        let (offset, _) = EpochOffset::read_exactly();
        let (began, handle) = (Monotonic::now(), PidFd::open(pid)?);
        let (pending, window) = (Vec::new(), Window::new(u64::MAX));
        Ok(Self {
            pid,
            offset,
            began,
            handle,
            input,
            outputs,
            pending,
            closing: false,
            untold: 0,
            window,
            stopped: false,
        })
    }

    /// Relay bytes both ways until the command has ended and all of its output is sent.
    fn relay(&mut self, session: &mut Session) -> Result<ExecDone, Failure> {
        session.event(&Event::Started(self.pid))?;
        let mut ended = false;
        loop {
            let ready = self.wait(session.input(), ended).map_err(broken)?;
            ended |= ready.ended;
            let emptied = self.read(session, ended)?;
            if ended && emptied {
                let time = Monotonic::now();
                if self.stopped {
                    self.end_session()?;
                }
                return self.reap(time);
            }
            if ready.writable {
                self.write();
            }
            if ready.ordered {
                self.obey(session)?;
            }
            self.tell_used(session)?;
        }
    }

    fn wait(&self, orders: BorrowedFd<'_>, ended: bool) -> io::Result<Ready> {
        let mut on = vec![(orders, Interest::Read)];
        if !ended {
            on.push((self.handle.as_fd(), Interest::Read));
        }
        if self.window.room() > 0 {
            on.extend(self.outputs.iter().map(|(_, fd)| (fd.as_fd(), Interest::Read)));
        }
        if !self.pending.is_empty() {
            on.extend(self.input.as_ref().map(|fd| (fd.as_fd(), Interest::Write)));
        }
        let ready = poll::wait(&on, None)?;
        let writable =
            on.iter().zip(&ready).any(|((_, want), ready)| *want == Interest::Write && *ready);
        Ok(Ready { ordered: ready[0], ended: !ended && ready[1], writable })
    }

    /// Relay the command's output, as much as the client accepts, and drop streams that the command has
    /// closed. Unless the command has `ended`, orders have priority: a flood of output must not delay a
    /// signal. Return true if there is no more output for now.
    fn read(&mut self, session: &mut Session, ended: bool) -> Result<bool, Failure> {
        let mut bytes = vec![0; 64 << 10];
        let (mut open, mut emptied) = (Vec::new(), true);
        for (kind, fd) in std::mem::take(&mut self.outputs) {
            let closed = loop {
                let room = self.window.room().min(bytes.len());
                if room == 0 {
                    emptied = false;
                    break false;
                }
                match descriptor::read_some(fd.as_fd(), &mut bytes[..room]).map_err(broken)? {
                    None => break false,
                    Some(0) => break true,
                    Some(count) => {
                        self.window.sent(count);
                        session.frame(&Frame::new(kind, &bytes[..count]))?;
                    }
                }
                if !ended && has_orders(session)? {
                    emptied = false;
                    break false;
                }
            };
            if !closed {
                open.push((kind, fd));
            }
        }
        self.outputs = open;
        Ok(emptied)
    }

    fn write(&mut self) {
        let Some(input) = &self.input else { return };
        match descriptor::write_some(input.as_fd(), &self.pending) {
            Ok(count) => {
                let count = count.unwrap_or(0);
                self.pending.drain(..count);
                self.untold += count;
            }
            Err(_) => self.forget_input(),
        }
        self.close_if_asked();
    }

    /// Drop the command's input, which the command has closed, as it may. Pending input counts as used.
    fn forget_input(&mut self) {
        self.input = None;
        self.untold += self.pending.len();
        self.pending.clear();
    }

    /// Queue input for the command. Fail if the client exceeds its window.
    fn take(&mut self, bytes: Vec<u8>) -> Result<(), Failure> {
        if (self.pending.len() + self.untold + bytes.len()) as u64 > STDIN_WINDOW {
            let why = format!("more than {STDIN_WINDOW} bytes came that the command has not read");
            return Err(Failure::new("take input", why));
        }
        if self.input.is_some() {
            self.pending.extend(bytes);
        } else {
            self.untold += bytes.len();
        }
        Ok(())
    }

    /// Report to the client how much more input it may send.
    fn tell_used(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.untold == 0 {
            return Ok(());
        }
        session.event(&Event::Used(std::mem::take(&mut self.untold) as u64))
    }

    fn close_if_asked(&mut self) {
        if self.closing && self.pending.is_empty() {
            self.input = None;
        }
    }

    fn obey(&mut self, session: &mut Session) -> Result<(), Failure> {
        for order in session.orders()? {
            match order {
                Order::Stdin(bytes) if bytes.is_empty() => self.closing = true,
                Order::Stdin(bytes) => self.take(bytes)?,
                Order::Used(bytes) => self.window.used(bytes),
                Order::Signal(number) => process::signal_group(self.pid, number).map_err(broken)?,
                Order::Stop => {
                    self.stopped = true;
                    process::signal_group(self.pid, SIGTERM).map_err(broken)?;
                }
                Order::Keep | Order::Pause(_) | Order::Go | Order::Window(_) | Order::Drops(_) => {}
                Order::Closed => return Err(Failure::new("exec", "the client went away")),
            }
        }
        self.close_if_asked();
        Ok(())
    }

    /// Stop a command that nobody waits for: signal its process group with SIGTERM, and end its session.
    fn abandon(&mut self) -> Result<(), Failure> {
        process::signal_group(self.pid, SIGTERM).map_err(broken)?;
        self.input = None;
        self.outputs.clear();
        self.end_session()?;
        self.reap(Monotonic::now()).map(|_| ())
    }

    /// Wait until all of the command's session has ended, and kill what has not after [`GRACE`].
    fn end_session(&self) -> Result<(), Failure> {
        process::end_session(self.pid, GRACE).map_err(broken)
    }

    fn reap(&self, time: Monotonic) -> Result<ExecDone, Failure> {
        let written = written_bytes(self.pid);
        let Some((_, ended, used)) = process::wait_usage(self.pid) else {
            return Err(Failure::new("wait for the command", "it is not a child of this process"));
        };
        let (exit, killed) = match ended {
            Ended::Exit(code) => (Some(code), None),
            Ended::Killed(signal) => (None, Some(signal)),
        };
        let ran = Ran {
            killed,
            written_bytes: written,
            began_ns: self.offset.realtime(self.began).ns(),
            ended_ns: self.offset.realtime(time).ns(),
            user_ns: tables::nanoseconds(used.user),
            system_ns: tables::nanoseconds(used.system),
        };
        Ok(ExecDone { exit, ran: Some(ran) })
    }
}

/// Read how many bytes a process that has ended, and those of its children that it waited for, wrote to
/// storage (`write_bytes`, proc_pid_io(5)). What they wrote to a file system in memory does not count.
fn written_bytes(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.trim().parse().ok()
}

/// The events that occurred.
struct Ready {
    ended: bool,
    ordered: bool,
    writable: bool,
}

fn has_orders(session: &Session) -> Result<bool, Failure> {
    let on = [(session.input(), Interest::Read)];
    Ok(poll::wait(&on, Some(Duration::ZERO)).map_err(broken)?[0])
}

fn broken(error: io::Error) -> Failure {
    Failure::new("relay the command", error)
}
