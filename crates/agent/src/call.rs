//! `delaylab-agent call`: runs a command by another agent, its standard input and output one stream.
//!
//! So a machine inside a machine is reached: the command, in the outer one, is the way to the inner.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use delaylab_os::pipe;
use delaylab_os::poll::{self, Want};
use delaylab_proto::{Failure, Frame, Kind, Reply, STDIN_WINDOW, Window};
use serde_json::{Value, json};

use crate::line::Line;

const PIECE: usize = 32 << 10;
/// How many bytes of output may be under way.
const OUTPUT_WINDOW: u64 = 1 << 20;

/// Run a command by the agent that listens on SOCKET.
#[derive(Args)]
pub struct Call {
    /// Where the agent listens.
    socket: PathBuf,
    /// The descriptor that is the command's standard input and output.
    #[arg(long)]
    stream: i32,
    /// The command.
    #[arg(last = true, required = true)]
    words: Vec<String>,
}

/// Carries bytes until the command ends; its exit code, or an error if it never ran.
pub fn run(call: &Call) -> Result<u8, Failure> {
    let what = || format!("call {}", call.socket.display());
    let failed = |error: io::Error| Failure::new(what(), error);
    let socket = UnixStream::connect(&call.socket).map_err(failed)?;
    let mut agent = Line::of(socket.into()).map_err(failed)?;
    let stream = pipe::inherited(call.stream).map_err(failed)?;
    pipe::set_nonblocking(stream.as_fd()).map_err(failed)?;
    let request = json!({"op": "exec", "argv": call.words, "stdin": true, "window": OUTPUT_WINDOW})
        .to_string();
    let broken = |error: &dyn ToString| Failure::new(what(), error.to_string());
    agent.send(&Frame::new(Kind::Message, request)).map_err(|error| broken(&error))?;
    let (mut unsent, mut window) = (Vec::new(), Window::new(STDIN_WINDOW));
    loop {
        wait(&agent, &stream, window, !unsent.is_empty()).map_err(failed)?;
        agent.flush().map_err(failed)?;
        forward(&stream, &mut agent, &mut window)?;
        let (frames, ended) = agent.receive().map_err(|error| broken(&error))?;
        for frame in frames {
            match frame.kind {
                Kind::Stdout => unsent.extend(frame.payload),
                Kind::Stderr => {
                    io::Write::write_all(&mut io::stderr(), &frame.payload).map_err(failed)?;
                    tell_used(&mut agent, frame.payload.len())?;
                }
                Kind::Message => match said(&frame.payload)? {
                    Said::Used(bytes) => window.used(bytes),
                    Said::Ended(code) => {
                        drain(&stream, &mut unsent).map_err(failed)?;
                        return Ok(code);
                    }
                    Said::Else => {}
                },
                Kind::Table | Kind::Stdin | Kind::Close => {}
            }
        }
        if let Some(count @ 1..) = pipe::write_some(stream.as_fd(), &unsent).map_err(failed)? {
            unsent.drain(..count);
            tell_used(&mut agent, count)?;
        }
        if ended {
            return Err(Failure::new(what(), "the agent has gone"));
        }
    }
}

fn wait(agent: &Line, stream: &OwnedFd, window: Window, unsent: bool) -> io::Result<()> {
    let mut on = vec![(agent.input(), Want::Read)];
    // The stream waits while the agent does not take what came by it.
    match agent.output() {
        Some(output) => on.push((output, Want::Write)),
        None if window.room() > 0 => on.push((stream.as_fd(), Want::Read)),
        None => {}
    }
    if unsent {
        on.push((stream.as_fd(), Want::Write));
    }
    poll::wait(&on, None).map(|_| ())
}

/// Writes what the command said last; to nobody, if the stream's other end has gone.
fn drain(stream: &OwnedFd, unsent: &mut Vec<u8>) -> io::Result<()> {
    while !unsent.is_empty() {
        poll::wait(&[(stream.as_fd(), Want::Write)], None)?;
        match pipe::write_some(stream.as_fd(), unsent) {
            Ok(count) => drop(unsent.drain(..count.unwrap_or(0))),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Carries what has come by the stream to the command, as much as it takes.
fn forward(stream: &OwnedFd, agent: &mut Line, window: &mut Window) -> Result<(), Failure> {
    let mut piece = [0; PIECE];
    let room = window.room().min(piece.len());
    if agent.backlog() > 0 || room == 0 {
        return Ok(());
    }
    let failed = |error: &dyn ToString| Failure::new("read the stream", error.to_string());
    match pipe::read_some(stream.as_fd(), &mut piece[..room]).map_err(|error| failed(&error))? {
        None => Ok(()),
        // Nobody is left who would want to talk to the machine inside.
        Some(0) => Err(failed(&"its other end has gone")),
        Some(count) => {
            window.sent(count);
            agent.send(&Frame::new(Kind::Stdin, &piece[..count])).map_err(|error| failed(&error))
        }
    }
}

/// Tells the agent how much more output it may send.
fn tell_used(agent: &mut Line, bytes: usize) -> Result<(), Failure> {
    let order = Frame::new(Kind::Message, json!({"used": bytes}).to_string());
    agent.send(&order).map_err(|error| Failure::new("talk to the agent", error))
}

/// What an agent says about the command.
enum Said {
    /// So many bytes of input are used up.
    Used(u64),
    /// It has ended, with this exit code.
    Ended(u8),
    /// Something that is of no matter here.
    Else,
}

fn said(payload: &[u8]) -> Result<Said, Failure> {
    let reply =
        serde_json::from_slice(payload).map_err(|error| Failure::new("read an answer", error))?;
    Ok(match reply {
        Reply::Event(event) => {
            event.get("used").and_then(Value::as_u64).map_or(Said::Else, Said::Used)
        }
        Reply::Error(failure) => return Err(failure),
        Reply::Done(done) => {
            let code = done.get("exit").and_then(Value::as_u64);
            Said::Ended(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
    })
}
