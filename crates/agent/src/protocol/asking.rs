//! The requests that probes make of services, as fields of the request `probe`.

use schemars::JsonSchema;
use serde::Deserialize;

/// The request that a probe makes of a service, by the protocol that it has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// The path of HTTP requests, with its query if any.
    #[serde(default = "root")]
    pub path: String,
    /// The name or address of the server, as HTTP requests and TLS state it, without a port; empty for `to`.
    #[serde(default)]
    pub host: String,
    /// True if HTTP requests follow each other on a connection; else each has one of its own.
    #[serde(default)]
    pub keep_alive: bool,
    /// The certificates, in PEM, of those who may vouch for a server; if left out, no certificate is checked.
    #[serde(default)]
    pub trusted: Option<String>,
    /// The question of DNS queries.
    #[serde(default)]
    pub question: Option<Question>,
    /// The payload of datagrams of one's own, in hexadecimal digits.
    #[serde(default)]
    pub payload: String,
    /// The pattern of the answer to a datagram of one's own, in hexadecimal digits, with `*` for any bytes; an empty
    /// one fits any answer.
    #[serde(default)]
    pub answer: String,
}

/// The question of a DNS query.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The name that is asked for.
    pub name: String,
    /// The number of the record's type, such as 1 for A (RFC 1035).
    pub record: u16,
}

fn root() -> String {
    "/".into()
}
