//! `record`: a program runs with a library that records its calls, as long as the client listens.
//!
//! The library and the log are in the folder of the node's programs. When the recording ends, in whatever way, they are
//! removed, and the program runs as before; one that has died stays dead.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use delaylab_calls::Decoder;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::PidFd;
use delaylab_proto::{Context, Failure, Frame, Kind};
use delaylab_recording::files::Files;
use delaylab_recording::loading;

use super::PIECE;
use super::control::{kill, start_again};
use super::programs_folder::ProgramsFolder;
use crate::protocol::running::{Event, Order};
use crate::protocol::starting::{Program, ProgramState, Record, RecordDone};
use crate::session::Session;

/// A program that ends sooner than this after its start under the library is started again without it, in ns.
const SOON_NS: i64 = 1_000_000_000;
/// The most bytes of the library.
const MOST: usize = 64 << 20;
const NOT_LOADED: &str =
    "it does not load the library that records, which needs glibc 2.34 or newer";

/// Restart a program with the library that standard input brings, until the client stops it or the program ends.
/// Send the log.
pub(crate) fn record(request: Record, session: &mut Session) -> Result<RecordDone, Failure> {
    let what = || format!("record {}", request.name);
    let kept = ProgramsFolder::in_folder(request.folder.clone());
    kept.state(&request.name)?;
    let program = kept.remembered()?.into_iter().find(|each| each.name == request.name);
    let program = program.ok_or_else(|| Failure::new(what(), "no such program was started"))?;
    let files = kept.recording(&request.name).lock().with_context(what)?;
    let files = files.ok_or_else(|| Failure::new(what(), "another command records it now"))?;
    let library = receive(session, what)?;
    let state = kept.state(&request.name)?;
    let ran = state.ended_ns.is_none();
    // Before it is stopped: its neighbours would see that.
    if let Some(why) = loading::why_not(state.pid).filter(|_| ran) {
        return Err(Failure::new(what(), why));
    }
    // New files: a program that was forgotten may still have older ones in its memory.
    File::create_new(&files.library)
        .and_then(|mut it| it.write_all(&library))
        .with_context(what)?;
    let calls = File::create_new(&files.calls).with_context(what)?;
    let mut recorded = recorded(&kept, &program, &files, session);
    if let Ok(done) = &mut recorded {
        done.again = ran && done.ended.as_ref().is_some_and(|end| is_soon(done.began_ns, end));
    }
    let restored = restore(&kept, &program, recorded.as_ref().ok());
    let mut done = recorded?;
    restored?;
    done.cut = files.is_cut() == Some(true);
    send(&calls, session).with_context(what)?;
    Ok(done)
}

/// Return the bytes of standard input.
fn receive(session: &mut Session, what: impl Fn() -> String) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        poll::wait(&[(session.input(), Interest::Read)], None).with_context(&what)?;
        for order in session.orders()? {
            match order {
                Order::Stdin(piece) if piece.is_empty() => return Ok(bytes),
                Order::Stdin(piece) if bytes.len() + piece.len() <= MOST => {
                    bytes.extend_from_slice(&piece);
                    session.event(&Event::Used(piece.len() as u64))?;
                }
                Order::Stdin(_) => return Err(Failure::new(what(), "the library is too long")),
                Order::Stop | Order::Closed => {
                    return Err(Failure::new(what(), "the client did not wait for it"));
                }
                _ => {}
            }
        }
    }
}

/// Run the program with the library until its end or that of the request.
fn recorded(
    kept: &ProgramsFolder,
    program: &Program,
    files: &Files,
    session: &mut Session,
) -> Result<RecordDone, Failure> {
    let what = || format!("record {}", program.name);
    kill(kept, program)?;
    let mut with_library = program.clone();
    with_library.env.extend(files.variables());
    start_again(kept, &with_library, Some(session))?;
    let state = kept.state(&program.name)?;
    let (pid, began_ns) = (state.pid, state.began_ns);
    let mut done = RecordDone { pid, began_ns, ended: None, cut: false, again: false };
    // One that has ended meanwhile has no handle.
    let handle = PidFd::open(state.pid).ok();
    if !files.begin(state.pid, handle.as_ref()).with_context(what)? {
        let why = loading::why_not(state.pid);
        return Err(Failure::new(what(), why.unwrap_or_else(|| NOT_LOADED.to_owned())));
    }
    session.event(&Event::READY)?;
    if let Some(handle) = handle {
        loop {
            let on = [(handle.as_fd(), Interest::Read), (session.input(), Interest::Read)];
            let ready = poll::wait(&on, None).with_context(what)?;
            if ready[0] {
                break;
            }
            if ready[1] && session.must_end()? {
                return Ok(done);
            }
        }
    }
    let ended = kept.noted_end(&program.name)?;
    done.ended = (ended.pid == state.pid).then_some(ended);
    Ok(done)
}

/// Return true if a program ended so soon that the library may be the cause.
fn is_soon(began_ns: i64, ended: &ProgramState) -> bool {
    ended.ended_ns.is_some_and(|at| at - began_ns < SOON_NS)
}

/// Let the program run as before, unless it died later than at its start.
fn restore(
    kept: &ProgramsFolder,
    program: &Program,
    done: Option<&RecordDone>,
) -> Result<(), Failure> {
    if done.is_some_and(|done| done.ended.is_some()) {
        let again = done.is_some_and(|done| done.again);
        return if again { start_again(kept, program, None) } else { Ok(()) };
    }
    if done.is_none_or(|done| kept.state(&program.name).is_ok_and(|now| now.pid == done.pid)) {
        kill(kept, program)?;
    }
    // Also if the client has gone: the program then runs as it did.
    start_again(kept, program, None)
}

/// Send a log in `stdout` frames, without what is behind its end.
fn send(mut log: &File, session: &mut Session) -> Result<(), Failure> {
    let what = "send the log";
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes).context(what)?;
    let decoder = Decoder::new(&bytes).map_err(|damage| Failure::new(what, damage))?;
    for piece in bytes[..decoder.length()].chunks(PIECE) {
        session.frame(&Frame::new(Kind::Stdout, piece))?;
    }
    Ok(())
}
