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
use delaylab_proto::{Failure, Frame, Kind, Reply};
use serde_json::json;

use crate::line::Line;

const PIECE: usize = 32 << 10;

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
    let request = json!({"op": "exec", "argv": call.words, "stdin": true}).to_string();
    let broken = |error: &dyn ToString| Failure::new(what(), error.to_string());
    agent.send(&Frame::new(Kind::Message, request)).map_err(|error| broken(&error))?;
    let mut unsent = Vec::new();
    loop {
        wait(&agent, &stream, !unsent.is_empty()).map_err(failed)?;
        agent.flush().map_err(failed)?;
        forward(&stream, &mut agent)?;
        let (frames, ended) = agent.receive().map_err(|error| broken(&error))?;
        for frame in frames {
            match frame.kind {
                Kind::Stdout => unsent.extend(frame.payload),
                Kind::Stderr => {
                    io::Write::write_all(&mut io::stderr(), &frame.payload).map_err(failed)?
                }
                Kind::Message => {
                    if let Some(code) = ended_with(&frame.payload)? {
                        drain(&stream, &mut unsent).map_err(failed)?;
                        return Ok(code);
                    }
                }
                Kind::Table | Kind::Stdin | Kind::Close => {}
            }
        }
        if let Some(count) = pipe::write_some(stream.as_fd(), &unsent).map_err(failed)? {
            unsent.drain(..count);
        }
        if ended {
            return Err(Failure::new(what(), "the agent has gone"));
        }
    }
}

fn wait(agent: &Line, stream: &OwnedFd, unsent: bool) -> io::Result<()> {
    let mut on = vec![(agent.input(), Want::Read)];
    // The stream waits while the agent does not take what came by it.
    match agent.output() {
        Some(output) => on.push((output, Want::Write)),
        None => on.push((stream.as_fd(), Want::Read)),
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

/// Carries what has come by the stream to the command.
fn forward(stream: &OwnedFd, agent: &mut Line) -> Result<(), Failure> {
    if agent.backlog() > 0 {
        return Ok(());
    }
    let mut piece = [0; PIECE];
    let failed = |error: &dyn ToString| Failure::new("read the stream", error.to_string());
    match pipe::read_some(stream.as_fd(), &mut piece).map_err(|error| failed(&error))? {
        None => Ok(()),
        // Nobody is left who would want to talk to the machine inside.
        Some(0) => Err(failed(&"its other end has gone")),
        Some(count) => {
            agent.send(&Frame::new(Kind::Stdin, &piece[..count])).map_err(|error| failed(&error))
        }
    }
}

/// The exit code in a message that ends the request; `None` for any other.
fn ended_with(payload: &[u8]) -> Result<Option<u8>, Failure> {
    let reply =
        serde_json::from_slice(payload).map_err(|error| Failure::new("read an answer", error))?;
    match reply {
        Reply::Event(_) => Ok(None),
        Reply::Error(failure) => Err(failure),
        Reply::Done(done) => {
            let code = done.get("exit").and_then(serde_json::Value::as_u64);
            Ok(Some(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
    }
}
