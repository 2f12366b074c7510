//! The request `reflect`.

use crate::operations::protocol::Protocol;
use serde::Deserialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The request `reflect` of `docs/protocol.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(rename = "op")]
    _op: String,
    #[serde(default)]
    pub port: u16,
    pub ip: u8,
    pub stamps: bool,
    #[serde(default)]
    pub probe: u32,
    #[serde(default)]
    pub protocol: Protocol,
}

impl Request {
    /// Return the address to receive at.
    pub fn local(&self) -> io::Result<SocketAddr> {
        let any: IpAddr = match self.ip {
            4 => Ipv4Addr::UNSPECIFIED.into(),
            6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "ip must be 4 or 6")),
        };
        Ok((any, self.port).into())
    }
}
