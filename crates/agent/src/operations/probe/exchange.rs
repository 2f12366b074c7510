//! One request of HTTP/1.1 on a connection of its own, and the first line of its answer.

use crate::protocol::measuring::Probe;
use delaylab_os::socket::connection;
use delaylab_wire::http::{STATUS, status};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// The start of an answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    bytes: [u8; STATUS],
    length: usize,
}

/// The state of an answer after more of it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The status code is still to come.
    Begun,
    /// The status code has come, or never will.
    Done,
}

impl Answer {
    /// Read what has come, without waiting. Fails with `WouldBlock` if nothing has, and with `UnexpectedEof` if the
    /// server has closed the connection without an answer.
    pub(super) fn read(&mut self, fd: BorrowedFd<'_>) -> io::Result<Progress> {
        let count = connection::receive(fd, &mut self.bytes[self.length..])?;
        self.length += count;
        match (count, self.length) {
            (0, 0) => Err(io::ErrorKind::UnexpectedEof.into()),
            (0, _) | (_, STATUS) => Ok(Progress::Done),
            _ => Ok(Progress::Begun),
        }
    }

    /// Return what an answer is if not one of success (2xx), which `None` stands for.
    pub(super) fn flaw(&self) -> Option<String> {
        match status(&self.bytes[..self.length]) {
            Some(200..300) => None,
            Some(code) => Some(format!("HTTP {code}")),
            None => Some("the answer is not HTTP/1".into()),
        }
    }
}

/// Build the request that a probe sends.
pub(super) fn request_text(request: &Probe, to: SocketAddr) -> String {
    let host = if request.host.is_empty() { to.to_string() } else { request.host.clone() };
    let (path, version) = (&request.path, env!("CARGO_PKG_VERSION"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: delaylab/{version}\r\n\
         Accept: */*\r\nConnection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// Read an answer that comes in these parts, and return its flaw.
    fn flaw(parts: &[&str]) -> Option<String> {
        let (here, mut there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let mut answer = Answer::default();
        for part in parts {
            there.write_all(part.as_bytes()).unwrap();
            answer.read(here.as_fd()).unwrap();
        }
        answer.flaw()
    }

    #[test]
    fn an_answer_may_come_in_parts() {
        assert_eq!(flaw(&["HTTP/1.1 204 No Content\r\n\r\n"]), None);
        assert_eq!(flaw(&["HTT", "P/1.1 302", " Found\r\n"]), Some("HTTP 302".into()));
        assert_eq!(flaw(&["HTTP/1.1 503 Service Unavailable\r\n"]), Some("HTTP 503".into()));
        let other = Some("the answer is not HTTP/1".into());
        assert_eq!(flaw(&["SSH-2.0-OpenSSH_9.2\r\n"]), other);
        assert_eq!(flaw(&["HTTP/1.1 2"]), other);
    }

    #[test]
    fn reading_says_whether_the_status_has_come() {
        let (here, mut there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let mut answer = Answer::default();
        let nothing = answer.read(here.as_fd()).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        there.write_all(b"HTTP/1.1 20").unwrap();
        assert_eq!(answer.read(here.as_fd()).unwrap(), Progress::Begun);
        there.write_all(b"0 OK").unwrap();
        assert_eq!(answer.read(here.as_fd()).unwrap(), Progress::Done);
        drop(there);
        let end = Answer::default().read(here.as_fd()).unwrap();
        assert_eq!(end, Progress::Begun, "the rest of the line");
        let end = Answer::default().read(here.as_fd()).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
