//! Requests of a probe to a service, and their answers.

mod datagram;
mod http;
mod tls;

pub(super) use datagram::{Verdict, Wanted, flaw_of_dns};
pub(super) use http::{Answer, Progress, flaw, request_text};
pub(super) use tls::{Tls, TlsSettings};

use delaylab_os::clock::Span;

/// The facts about one request and its answer beyond the stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchange {
    /// The source port of its connection; 0 if it was not sent.
    pub port: u16,
    /// The sequence numbers of the request's last byte, and of the answer's first and last byte.
    pub asked: Option<u32>,
    pub first: Option<u32>,
    pub last: Option<u32>,
    /// The time in which TLS was agreed on, if the connection was opened for this request.
    pub tls: Option<Span>,
    /// The time from the request to the last byte of its answer.
    pub whole: Option<Span>,
    /// The status code of HTTP, or the response code of DNS.
    pub status: Option<u16>,
    /// The bytes of the answer's body so far, or those of its datagram.
    pub bytes: u64,
}
