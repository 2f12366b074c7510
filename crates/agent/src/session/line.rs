//! A non-blocking stream of frames that loses nothing: partly received frames and unsent bytes are buffered.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use delaylab_os::files::descriptor;
use delaylab_proto::{Frame, FrameError, Window, split_frame, write_frame};
use nix::sys::socket::{Shutdown, shutdown};

const PIECE: usize = 64 << 10;

/// A stream in both directions, by descriptors that do not block.
pub(crate) struct Line {
    input: OwnedFd,
    output: OwnedFd,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// The number of bytes of `unsent` that have been sent.
    sent: usize,
    /// The decoder, for a stream whose bytes arrive escaped.
    unescape: Option<Unescape>,
    /// The window, for a stream whose other end buffers only so many bytes.
    window: Option<Window>,
}

impl Line {
    /// Build a line that reads from `input` and writes to `output`.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        descriptor::set_nonblocking(input.as_fd())?;
        descriptor::set_nonblocking(output.as_fd())?;
        let (unread, unsent) = (Vec::new(), Vec::new());
        Ok(Self { input, output, unread, unsent, sent: 0, unescape: None, window: None })
    }

    /// Decode everything that is read from now on.
    pub(crate) fn unescaping(self) -> Self {
        Self { unescape: Some(Unescape::default()), ..self }
    }

    /// Keep at most `window` bytes under way until [`Line::used`] reports that some have been read.
    pub(crate) fn limit(&mut self, window: u64) {
        self.window = Some(Window::new(window));
    }

    /// Count bytes that the other end has read.
    pub(crate) fn used(&mut self, bytes: u64) {
        if let Some(window) = &mut self.window {
            window.used(bytes);
        }
    }

    /// Build a line that uses one descriptor for both directions.
    pub(crate) fn of(stream: OwnedFd) -> io::Result<Self> {
        let output = stream.try_clone()?;
        Self::new(stream, output)
    }

    /// Return the descriptor to wait for before reading.
    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Return the descriptor to wait for before writing; `None` if there is nothing to write.
    pub(crate) fn output(&self) -> Option<BorrowedFd<'_>> {
        (self.backlog() > 0 && self.room() > 0).then(|| self.output.as_fd())
    }

    /// End a socket for all processes that have a copy of it; other streams end with their last copy.
    pub(crate) fn hang_up(&self) {
        // A terminal or a pipe is no socket: the error says only that.
        let _ = shutdown(self.output.as_raw_fd(), Shutdown::Both);
    }

    /// Return the number of bytes that are still to be sent.
    pub(crate) fn backlog(&self) -> usize {
        self.unsent.len() - self.sent
    }

    fn room(&self) -> usize {
        self.window.map_or(usize::MAX, |window| window.room())
    }

    /// Return the complete frames received, and true if the stream has ended. Does not block.
    pub(crate) fn receive(&mut self) -> Result<(Vec<Frame>, bool), FrameError> {
        self.receive_counted().map(|(frames, ended, _)| (frames, ended))
    }

    /// Return the same, and the number of bytes that were read for it.
    pub(crate) fn receive_counted(&mut self) -> Result<(Vec<Frame>, bool, usize), FrameError> {
        let mut piece = [0; PIECE];
        let mut read = 0;
        let ended = match descriptor::read_some(self.input.as_fd(), &mut piece) {
            Ok(None) => false,
            // A stream that fails has ended.
            Ok(Some(0)) | Err(_) => true,
            Ok(Some(count)) => {
                read = count;
                match &mut self.unescape {
                    Some(unescape) => unescape.take(&piece[..count], &mut self.unread),
                    None => self.unread.extend_from_slice(&piece[..count]),
                }
                false
            }
        };
        let (mut frames, mut taken) = (Vec::new(), 0);
        while let Some((frame, length)) = split_frame(&self.unread[taken..])? {
            frames.push(frame);
            taken += length;
        }
        self.unread.drain(..taken);
        Ok((frames, ended, read))
    }

    /// Return true if the bytes received so far end in the middle of a frame.
    pub(crate) fn is_within_frame(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Send a frame as far as there is room; the rest is buffered.
    pub(crate) fn send(&mut self, frame: &Frame) -> Result<(), FrameError> {
        // Sent bytes are dropped once they outnumber those that wait, so that few bytes are moved.
        if self.sent > self.backlog().max(PIECE) {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        write_frame(&mut self.unsent, frame)?;
        Ok(self.flush()?)
    }

    /// Send buffered bytes as far as there is room.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.backlog() > 0 {
            let now = self.backlog().min(self.room());
            if now == 0 {
                return Ok(());
            }
            let piece = &self.unsent[self.sent..self.sent + now];
            let Some(count) = descriptor::write_some(self.output.as_fd(), piece)? else {
                return Ok(());
            };
            self.sent += count;
            if let Some(window) = &mut self.window {
                window.sent(count);
            }
        }
        self.unsent.clear();
        self.sent = 0;
        Ok(())
    }
}

const SYSRQ: u8 = 0x0f;
const ESCAPE: u8 = 0x10;
const CHANGE: u8 = 0x40;

/// Escape the byte that Linux's hypervisor console swallows, on the way to the guest.
///
/// A console on `hvc` takes byte 15 for the SysRq key and drops it, whatever its terminal settings are
/// (drivers/tty/hvc/hvc_console.c). So the byte is sent to such a guest as two others.
pub(crate) fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len() + 16);
    for &byte in bytes {
        if matches!(byte, SYSRQ | ESCAPE) {
            escaped.extend([ESCAPE, byte ^ CHANGE]);
        } else {
            escaped.push(byte);
        }
    }
    escaped
}

/// The decoder in the guest, which works piece by piece.
#[derive(Default)]
pub(crate) struct Unescape {
    within: bool,
}

impl Unescape {
    /// Decode a piece of the stream and append the result to `into`.
    pub(crate) fn take(&mut self, piece: &[u8], into: &mut Vec<u8>) {
        for &byte in piece {
            if std::mem::take(&mut self.within) {
                into.push(byte ^ CHANGE);
            } else if byte == ESCAPE {
                self.within = true;
            } else {
                into.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_come_through_in_any_pieces(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            cut in 1usize..7,
        ) {
            let escaped = escape(&bytes);
            prop_assert!(!escaped.contains(&SYSRQ));
            let (mut unescape, mut back) = (Unescape::default(), Vec::new());
            for piece in escaped.chunks(cut) {
                unescape.take(piece, &mut back);
            }
            prop_assert_eq!(back, bytes);
        }
    }
}
