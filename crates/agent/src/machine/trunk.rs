//! `delaylab-agent trunk`: the user's end of the stream to a machine.
//!
//! Standard input and output are the stream, such as those of an ssh. The program that started this one sends
//! a socket for each session by the descriptor `--control` (unix(7), `SCM_RIGHTS`), and closes that at the end.

use std::os::fd::AsFd;
use std::time::Instant;

use delaylab_os::files::descriptor::{self, Received};
use delaylab_os::files::poll::Interest;
use delaylab_proto::{Context, Failure};

use super::{BEAT, SILENCE};
use crate::session::line::Line;
use crate::session::mux::{self, Mux};
use crate::session::stdio;

/// Carry sessions until the stream or the program that started this one has ended.
pub(crate) fn run(control: i32) -> Result<(), Failure> {
    let what = "carry sessions to a machine";
    let control = descriptor::inherited(control).context(what)?;
    let (input, output) = stdio()?;
    let mut mux = Mux::on(Line::new(input, output).context(what)?);
    mux.expect_whole_frames(SILENCE);
    let (mut heard, mut said) = (Instant::now(), Instant::now());
    loop {
        let turn = mux.turn(&[(control.as_fd(), Interest::Read)], Some(BEAT))?;
        if turn.read > 0 {
            heard = Instant::now();
        }
        if turn.ended {
            return Ok(());
        }
        if heard.elapsed() > SILENCE {
            return Err(Failure::new(what, "it has been silent for too long"));
        }
        if said.elapsed() >= BEAT {
            mux.send(&mux::tell_read(0))?;
            said = Instant::now();
        }
        if turn.ready[0] {
            match descriptor::receive_descriptor(control.as_fd()).context(what)? {
                Received::Descriptor(session) => mux.admit(session),
                Received::Nothing => {}
                Received::End => return Ok(()),
            }
        }
    }
}
