//! One stream of frames that neither blocks nor loses: what has come, what is still to be sent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::pipe;
use delaylab_proto::{Frame, FrameError, Window, split_frame, write_frame};

use crate::escape::Unescape;

const PIECE: usize = 64 << 10;

/// A stream in both directions. Its descriptors do not block.
pub struct Line {
    input: OwnedFd,
    output: OwnedFd,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// How much of `unsent` has been sent.
    sent: usize,
    /// For a stream whose bytes come escaped.
    unescape: Option<Unescape>,
    /// For a stream whose other end can take only so many bytes ahead of its reader.
    window: Option<Window>,
}

impl Line {
    /// A line that reads from `input` and writes to `output`.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        pipe::set_nonblocking(input.as_fd())?;
        pipe::set_nonblocking(output.as_fd())?;
        let (unread, unsent) = (Vec::new(), Vec::new());
        Ok(Self { input, output, unread, unsent, sent: 0, unescape: None, window: None })
    }

    /// The same line, of which what is read was escaped.
    pub fn unescaping(self) -> Self {
        Self { unescape: Some(Unescape::default()), ..self }
    }

    /// Keeps so many bytes under way at most, until [`Line::used`] says that some have been read.
    pub fn limit(&mut self, window: u64) {
        self.window = Some(Window::new(window));
    }

    /// Counts bytes that the other end has read.
    pub fn used(&mut self, bytes: u64) {
        if let Some(window) = &mut self.window {
            window.used(bytes);
        }
    }

    /// Both directions by one descriptor.
    pub fn of(stream: OwnedFd) -> io::Result<Self> {
        let output = stream.try_clone()?;
        Self::new(stream, output)
    }

    /// What to wait for until something can be read.
    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// What to wait for until something can be written; `None` if nothing is to be.
    pub fn output(&self) -> Option<BorrowedFd<'_>> {
        (self.backlog() > 0 && self.room() > 0).then(|| self.output.as_fd())
    }

    /// How many bytes are still to be sent.
    pub fn backlog(&self) -> usize {
        self.unsent.len() - self.sent
    }

    fn room(&self) -> usize {
        self.window.map_or(usize::MAX, |window| window.room())
    }

    /// The frames that have come whole, and whether the stream has ended. Does not wait.
    pub fn receive(&mut self) -> Result<(Vec<Frame>, bool), FrameError> {
        self.receive_counted().map(|(frames, ended, _)| (frames, ended))
    }

    /// The same, and how many bytes were read for it.
    pub fn receive_counted(&mut self) -> Result<(Vec<Frame>, bool, usize), FrameError> {
        let mut piece = [0; PIECE];
        let mut read = 0;
        let ended = match pipe::read_some(self.input.as_fd(), &mut piece) {
            Ok(None) => false,
            // A stream that fails has no more to say.
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

    /// Sends a frame, as much of it as there is room for; the rest waits.
    pub fn send(&mut self, frame: &Frame) -> Result<(), FrameError> {
        write_frame(&mut self.unsent, frame)?;
        Ok(self.flush()?)
    }

    /// Sends what waits, as much as there is room for.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.backlog() > 0 {
            let now = self.backlog().min(self.room());
            if now == 0 {
                return Ok(());
            }
            let piece = &self.unsent[self.sent..self.sent + now];
            let Some(count) = pipe::write_some(self.output.as_fd(), piece)? else { return Ok(()) };
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
