//! `delaylab-agent call`: run a command through another agent, with its standard input and output joined to
//! one stream.
//!
//! This is the way into a nested machine: the command runs in the outer machine and connects to the inner
//! one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure, Frame, Kind, OUTPUT_WINDOW, Reply, STDIN_WINDOW, Window};

use crate::protocol::programs::{Exec, ExecDone};
use crate::protocol::requests::Sent;
use crate::protocol::running::{Event, Order};
use crate::session::line::Line;

const PIECE: usize = 32 << 10;

/// Run a command through the agent that listens on SOCKET.
#[derive(Args)]
pub(crate) struct Call {
    /// The socket on which the agent listens.
    socket: PathBuf,
    /// The number of the file descriptor that becomes the command's standard input and output.
    #[arg(long)]
    stream: i32,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    words: Vec<String>,
}

/// Relay bytes until the command ends; return its exit code, or an error if it never ran.
pub(crate) fn run(call: &Call) -> Result<u8, Failure> {
    let what = || format!("call {}", call.socket.display());
    let socket = UnixStream::connect(&call.socket).with_context(what)?;
    let mut agent = Line::of(socket.into()).with_context(what)?;
    let stream = descriptor::inherited(call.stream).with_context(what)?;
    descriptor::set_nonblocking(stream.as_fd()).with_context(what)?;
    let request = Exec {
        argv: call.words.clone(),
        stdin: true,
        window: Some(OUTPUT_WINDOW),
        ..Exec::default()
    };
    let request = serde_json::to_vec(&Sent::from(&request)).with_context(what)?;
    agent.send(&Frame::new(Kind::Message, request)).with_context(what)?;
    let (mut unsent, mut window) = (Vec::new(), Window::new(STDIN_WINDOW));
    loop {
        wait(&agent, &stream, window, !unsent.is_empty()).with_context(what)?;
        agent.flush().with_context(what)?;
        forward(&stream, &mut agent, &mut window)?;
        let (frames, ended) = agent.receive().with_context(what)?;
        for frame in frames {
            match frame.kind {
                Kind::Stdout => unsent.extend(frame.payload),
                Kind::Stderr => {
                    io::Write::write_all(&mut io::stderr(), &frame.payload).with_context(what)?;
                    tell_used(&mut agent, frame.payload.len())?;
                }
                Kind::Message => match said(&frame.payload)? {
                    Said::Used(bytes) => window.used(bytes),
                    Said::Ended(code) => {
                        drain(&stream, &mut unsent).with_context(what)?;
                        return Ok(code);
                    }
                    Said::Else => {}
                },
                Kind::Table | Kind::Stdin | Kind::Close => {}
            }
        }
        if let Some(count @ 1..) =
            descriptor::write_some(stream.as_fd(), &unsent).with_context(what)?
        {
            unsent.drain(..count);
            tell_used(&mut agent, count)?;
        }
        if unsent.len() as u64 > OUTPUT_WINDOW {
            // Nothing else bounds what an agent in a machine sends.
            return Err(Failure::new(what(), "the agent sends more output than it was allowed"));
        }
        if ended {
            return Err(Failure::new(what(), "the agent has gone"));
        }
    }
}

fn wait(agent: &Line, stream: &OwnedFd, window: Window, unsent: bool) -> io::Result<()> {
    let mut on = vec![(agent.input(), Interest::Read)];
    // Stop reading the stream while the agent does not take the data that already came from it.
    match agent.output() {
        Some(output) => on.push((output, Interest::Write)),
        None if window.room() > 0 => on.push((stream.as_fd(), Interest::Read)),
        None => {}
    }
    if unsent {
        on.push((stream.as_fd(), Interest::Write));
    }
    poll::wait(&on, None).map(|_| ())
}

/// Write the command's last output to the stream. Discard it if the stream's other end is closed.
fn drain(stream: &OwnedFd, unsent: &mut Vec<u8>) -> io::Result<()> {
    while !unsent.is_empty() {
        poll::wait(&[(stream.as_fd(), Interest::Write)], None)?;
        match descriptor::write_some(stream.as_fd(), unsent) {
            Ok(count) => drop(unsent.drain(..count.unwrap_or(0))),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Relay data from the stream to the command, as much as the window allows.
fn forward(stream: &OwnedFd, agent: &mut Line, window: &mut Window) -> Result<(), Failure> {
    let mut piece = [0; PIECE];
    let room = window.room().min(piece.len());
    if agent.backlog() > 0 || room == 0 {
        return Ok(());
    }
    let failed = |error: &dyn ToString| Failure::new("read the stream", error.to_string());
    match descriptor::read_some(stream.as_fd(), &mut piece[..room])
        .map_err(|error| failed(&error))?
    {
        None => Ok(()),
        // Nobody is left who could talk to the nested machine.
        Some(0) => Err(failed(&"its other end has gone")),
        Some(count) => {
            window.sent(count);
            agent.send(&Frame::new(Kind::Stdin, &piece[..count])).map_err(|error| failed(&error))
        }
    }
}

/// Tell the agent how much more output it may send.
fn tell_used(agent: &mut Line, bytes: usize) -> Result<(), Failure> {
    let order = serde_json::to_vec(&Order::Used(bytes as u64)).context("talk to the agent")?;
    agent.send(&Frame::new(Kind::Message, order)).context("talk to the agent")
}

/// An agent's message about the command.
enum Said {
    /// The agent has used this many bytes of input.
    Used(u64),
    /// The command has ended with this exit code.
    Ended(u8),
    /// A message that does not matter here.
    Else,
}

fn said(payload: &[u8]) -> Result<Said, Failure> {
    let reply: Reply<Event, ExecDone> =
        serde_json::from_slice(payload).context("read an answer")?;
    Ok(match reply {
        Reply::Event(Event::Used(bytes)) => Said::Used(bytes),
        Reply::Event(_) => Said::Else,
        Reply::Error(failure) => return Err(failure),
        Reply::Done(done) => {
            Said::Ended(done.exit.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixListener;

    use delaylab_os::files::descriptor;
    use delaylab_proto::write_frame;

    use super::*;

    #[test]
    fn an_agent_that_exceeds_the_window_ends_the_call() {
        let socket = std::env::temp_dir().join(format!("dl-call-{}", std::process::id()));
        let listener = UnixListener::bind(&socket).unwrap();
        let agent = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.read_exact(&mut [0; 8]).unwrap();
            let flood = Frame::new(Kind::Stdout, vec![0; 1 << 20]);
            (0..64).take_while(|_| write_frame(&mut client, &flood).is_ok()).count()
        });
        // Nobody reads from the stream's other end.
        let (ours, theirs) = descriptor::stream_pair().unwrap();
        let call =
            Call { socket: socket.clone(), stream: theirs.into_raw_fd(), words: vec!["x".into()] };
        let failure = run(&call).unwrap_err();
        assert!(failure.why.contains("more output than it was allowed"), "{failure}");
        assert!(agent.join().unwrap() < 8);
        std::fs::remove_file(socket).unwrap();
        drop(ours);
    }
}
