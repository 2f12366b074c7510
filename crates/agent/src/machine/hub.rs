//! `delaylab-agent hub`: a machine's end of the stream from its user, on standard input and output.
//!
//! Each new session says first what it is with ([`Open`]). When the stream ends, so do the sessions, and the
//! keepers of labs that are still being built; labs that are kept stay.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use delaylab_os::files::descriptor;
use delaylab_os::process;
use delaylab_proto::{Context, Failure, Frame, Kind, Reply};

use super::{BEAT, SILENCE};
use crate::fabric;
use crate::protocol::machine::Open;
use crate::protocol::running::Event;
use crate::session::line::Line;
use crate::session::mux::{self, Mux};
use crate::session::{Serve, listen, stdio};

/// Serve sessions until the stream ends, or its other end is silent for too long.
pub(crate) fn run(serve: Serve) -> Result<(), Failure> {
    let what = "serve a machine";
    let (input, output) = stdio()?;
    let mut mux = Mux::on(Line::new(input, output).context(what)?);
    // sshd may have left the handling of ended children as it was for itself.
    process::reap_by_wait().context(what)?;
    let ready = Reply::<_, ()>::Event(Event::Machine { ready: true, window: None });
    mux.send(&Frame::new(Kind::Message, serde_json::to_vec(&ready).context(what)?))?;
    let (mut heard, mut said) = (Instant::now(), Instant::now());
    loop {
        let turn = mux.turn(&[], Some(BEAT))?;
        if turn.read > 0 {
            heard = Instant::now();
        }
        for frame in turn.new {
            take(&mut mux, &frame, serve)?;
        }
        if turn.ended {
            return Ok(());
        }
        if heard.elapsed() > SILENCE {
            return Err(Failure::new(what, "its user has been silent for too long"));
        }
        if said.elapsed() >= BEAT {
            mux.send(&mux::tell_read(0))?;
            said = Instant::now();
        }
        process::reap_ended();
    }
}

/// Take a frame of a channel that had no branch when it came.
fn take(mux: &mut Mux, frame: &Frame, serve: Serve) -> Result<(), Failure> {
    // Several frames may have come at once for one new session.
    let known = mux.has(frame.channel);
    match (frame.channel, frame.kind) {
        // Channel 0 says only that the other end is there.
        (0, _) => Ok(()),
        (_, Kind::Close) if !known => mux.send(&mux::closing_of(frame.channel)),
        _ if known => mux.deliver(frame),
        _ => match open(frame, serve) {
            Ok(stream) => match mux.join(frame.channel, stream) {
                Ok(()) => Ok(()),
                Err(error) => mux.refuse(frame.channel, &listen::cannot_start(&error)),
            },
            Err(failure) => mux.refuse(frame.channel, &failure),
        },
    }
}

/// Return a stream to what a session is with.
fn open(frame: &Frame, serve: Serve) -> Result<OwnedFd, Failure> {
    let what = "open a session";
    if frame.kind != Kind::Message {
        return Err(Failure::new(what, format!("a frame of {:?} came", frame.kind)));
    }
    match serde_json::from_slice(&frame.payload).context("read what a session is with")? {
        Open::Session => {
            let (ours, theirs) = descriptor::stream_pair().context(what)?;
            listen::start(theirs, None, serve);
            Ok(ours)
        }
        Open::Keeper => {
            let (ours, theirs) = descriptor::stream_pair().context(what)?;
            start_keeper(theirs).context("start the keeper of a lab")?;
            Ok(ours)
        }
        Open::Agent { lab, agent } => {
            fabric::connect(&lab, &agent).map(|stream: UnixStream| stream.into())
        }
    }
}

/// Start the keeper of a lab. It ends when its stream does, unless it has got the order to keep the lab.
fn start_keeper(stream: OwnedFd) -> std::io::Result<()> {
    let output = stream.try_clone()?;
    Command::new("/proc/self/exe")
        .arg("fabric")
        .stdin(Stdio::from(stream))
        .stdout(Stdio::from(output))
        // A kept lab must not hold the stream of messages of the shell that began it.
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}
