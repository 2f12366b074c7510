//! Requests of HTTP/1.1, and their answers from the first byte to the last (RFC 9112).

use std::net::SocketAddr;

use crate::protocol::measuring::{Probe, Protocol};

/// The most bytes of an answer's head, and of one line within a chunked body.
const MOST_HEAD: usize = 1 << 16;
const MOST_LINE: usize = 1 << 12;
/// The most fields of an answer's head.
const MOST_FIELDS: usize = 256;

/// Build the request that a probe sends.
pub(crate) fn request_text(request: &Probe, to: SocketAddr) -> String {
    let ask = request.asked();
    let usual = if request.protocol == Protocol::Https { 443 } else { 80 };
    let host = match ask.host.as_str() {
        "" => to.ip().to_string(),
        name => name.to_owned(),
    };
    // Only the colons of an address of IPv6 are not those before a port.
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let host = if to.port() == usual { host } else { format!("{host}:{}", to.port()) };
    let (path, version) = (&ask.path, env!("CARGO_PKG_VERSION"));
    let connection = if ask.keep_alive { "keep-alive" } else { "close" };
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: delaylab/{version}\r\n\
         Accept: */*\r\nConnection: {connection}\r\n\r\n"
    )
}

/// The state of an answer after more of it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More of it is to come.
    Begun,
    /// All of it has come.
    Done,
}

/// An answer that is being read.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    head: Vec<u8>,
    body: Option<Body>,
    status: Option<u16>,
    closes: bool,
    bytes: u64,
}

#[derive(Debug)]
enum Body {
    Length(u64),
    Chunked(Chunks),
    /// All until the server closes the connection.
    ToEnd,
}

impl Answer {
    /// Return the status code, once it has come.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    /// Return the number of bytes of the body so far, without those that frame it.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Return true if the server closes the connection after this answer.
    pub(crate) fn closes(&self) -> bool {
        self.closes
    }

    /// Read more of the answer; fail with the reason if it is not one of HTTP/1, or goes on after its end.
    pub(crate) fn read(&mut self, more: &[u8]) -> Result<Progress, String> {
        if self.body.is_some() {
            return self.read_body(more);
        }
        self.head.extend_from_slice(more);
        while let Some(length) = self.parse_head()? {
            let rest = self.head.split_off(length);
            if self.body.is_some() {
                self.head = Vec::new();
                return self.read_body(&rest);
            }
            self.head = rest;
        }
        Ok(Progress::Begun)
    }

    /// Read that the server has closed the connection; fail if the answer is not whole.
    pub(crate) fn end(&mut self) -> Result<Progress, String> {
        match &self.body {
            Some(Body::ToEnd) => Ok(Progress::Done),
            None if self.head.is_empty() => {
                Err("the connection was closed without an answer".into())
            }
            _ => Err("the connection was closed within the answer".into()),
        }
    }

    /// Parse the head of the answer, or of an interim one (1xx), which has no body; return its length if it is whole.
    fn parse_head(&mut self) -> Result<Option<usize>, String> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let length = match response.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if self.head.len() < MOST_HEAD => return Ok(None),
            Ok(httparse::Status::Partial) => {
                return Err("the head of the answer is too long".into());
            }
            Err(_) => return Err("the answer is not HTTP/1".into()),
        };
        let code = response.code.unwrap_or_default();
        if (100..200).contains(&code) {
            return Ok(Some(length));
        }
        let has = |name: &str, value: &str| {
            let values =
                response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            values
                .filter_map(|field| std::str::from_utf8(field.value).ok())
                .flat_map(|values| values.split(','))
                .any(|each| each.trim().eq_ignore_ascii_case(value))
        };
        self.status = Some(code);
        self.closes = has("connection", "close")
            || (response.version == Some(0) && !has("connection", "keep-alive"));
        let length_field =
            response.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
        self.body = Some(if matches!(code, 204 | 304) {
            Body::Length(0)
        } else if has("transfer-encoding", "chunked") {
            Body::Chunked(Chunks::default())
        } else if let Some(field) = length_field {
            let text = std::str::from_utf8(field.value).unwrap_or_default().trim();
            Body::Length(text.parse().map_err(|_| "the answer's Content-Length is no number")?)
        } else {
            Body::ToEnd
        });
        self.closes |= matches!(self.body, Some(Body::ToEnd));
        Ok(Some(length))
    }

    fn read_body(&mut self, more: &[u8]) -> Result<Progress, String> {
        match self.body.as_mut().expect("the head was read") {
            Body::Length(left) => {
                let taken = (more.len() as u64).min(*left);
                *left -= taken;
                self.bytes += taken;
                match *left {
                    0 if taken < more.len() as u64 => {
                        Err("the answer goes on after its end".into())
                    }
                    0 => Ok(Progress::Done),
                    _ => Ok(Progress::Begun),
                }
            }
            Body::Chunked(chunks) => chunks.read(more, &mut self.bytes),
            Body::ToEnd => {
                self.bytes += more.len() as u64;
                Ok(Progress::Begun)
            }
        }
    }
}

/// A chunked body that is being read (RFC 9112, section 7.1).
#[derive(Debug, Default)]
struct Chunks {
    /// The line that is being read: a chunk's size, or a field after the last chunk.
    line: Vec<u8>,
    /// The bytes that are left of a chunk, with the two that end it; 0 within a line.
    left: u64,
    /// True after the last chunk.
    last: bool,
    done: bool,
}

impl Chunks {
    fn read(&mut self, mut more: &[u8], bytes: &mut u64) -> Result<Progress, String> {
        while let [first, rest @ ..] = more {
            if self.done {
                return Err("the answer goes on after its end".into());
            }
            if self.left > 0 {
                let taken = (more.len() as u64).min(self.left);
                *bytes += taken.min(self.left.saturating_sub(2));
                self.left -= taken;
                more = &more[taken as usize..];
                continue;
            }
            self.line.push(*first);
            more = rest;
            if self.line.len() > MOST_LINE {
                return Err("a line of the chunked answer is too long".into());
            }
            if *first == b'\n' {
                self.end_line()?;
            }
        }
        Ok(if self.done { Progress::Done } else { Progress::Begun })
    }

    fn end_line(&mut self) -> Result<(), String> {
        let line = std::mem::take(&mut self.line);
        if self.last {
            self.done = line == b"\r\n";
            return Ok(());
        }
        match httparse::parse_chunk_size(&line) {
            Ok(httparse::Status::Complete((_, 0))) => self.last = true,
            Ok(httparse::Status::Complete((_, size))) => {
                self.left = size.checked_add(2).ok_or("a chunk of the answer is too long")?;
            }
            _ => return Err("the answer has a chunk without a size".into()),
        }
        Ok(())
    }
}

/// Return what an answer with this status is if not a success (2xx), which `None` stands for.
pub(crate) fn flaw(status: u16) -> Option<String> {
    (!(200..300).contains(&status)).then(|| format!("HTTP {status}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Read an answer that comes in these parts, and what follows if the server then closes the connection.
    fn read(parts: &[&[u8]], closed: bool) -> (Answer, Result<Progress, String>) {
        let mut answer = Answer::default();
        let mut progress = Ok(Progress::Begun);
        for part in parts {
            progress = answer.read(part);
        }
        if closed {
            progress = answer.end();
        }
        (answer, progress)
    }

    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n\
        5\r\nhello\r\n6;a=b\r\n, you!\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn answers_end_as_their_heads_say() {
        for (bytes, status, body, closes) in [
            (&b"HTTP/1.1 204 No Content\r\n\r\n"[..], 204, 0, false),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 200, 5, false),
            (b"HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 503, 0, true),
            (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, 1, true),
            (
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                200,
                0,
                false,
            ),
            (CHUNKED, 200, 11, false),
        ] {
            let text = String::from_utf8_lossy(bytes);
            let (answer, progress) = read(&[bytes], false);
            assert_eq!(progress, Ok(Progress::Done), "{text}");
            assert_eq!(
                (answer.status(), answer.bytes(), answer.closes()),
                (Some(status), body, closes),
                "{text}"
            );
        }
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let bytes = b"HTTP/1.0 200 OK\r\n\r\nhello";
        assert_eq!(read(&[bytes], false).1, Ok(Progress::Begun));
        let (answer, progress) = read(&[bytes], true);
        assert_eq!((progress, answer.bytes(), answer.closes()), (Ok(Progress::Done), 5, true));
    }

    #[test]
    fn what_is_no_whole_answer_is_named() {
        for (bytes, closed, wanted) in [
            (&b"SSH-2.0-OpenSSH_9.2\r\n"[..], false, "the answer is not HTTP/1"),
            (b"", true, "the connection was closed without an answer"),
            (b"HTTP/1.1 200", true, "the connection was closed within the answer"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
                true,
                "the connection was closed within the answer",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhello",
                false,
                "the answer goes on after its end",
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                false,
                "the answer's Content-Length is no number",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
                false,
                "the answer has a chunk without a size",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                false,
                "a chunk of the answer is too long",
            ),
        ] {
            assert_eq!(
                read(&[bytes], closed).1,
                Err(wanted.to_owned()),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn only_successes_have_no_flaw() {
        assert_eq!(
            [204, 302, 503].map(flaw),
            [None, Some("HTTP 302".into()), Some("HTTP 503".into())]
        );
    }

    proptest! {
        #[test]
        fn an_answer_may_come_in_any_parts(cuts in proptest::collection::vec(0..CHUNKED.len(), 0..6)) {
            let mut cuts = [cuts, vec![0, CHUNKED.len()]].concat();
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &CHUNKED[cut[0]..cut[1]]).collect();
            let (answer, progress) = read(&parts, false);
            prop_assert_eq!((progress, answer.status(), answer.bytes()), (Ok(Progress::Done), Some(200), 11));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), closed: bool) {
            let _ = read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &bytes], closed);
            let _ = read(&[&bytes], closed);
        }
    }
}
