//! Recognition of replies among the messages that a socket receives.

use std::net::IpAddr;

use delaylab_os::socket::Flavour;
use delaylab_os::socket::batch::Message;
use delaylab_wire::{EchoView, IpView, Leg, PROBE_HEADER, ProbeView, Protocol, icmp_is_intact};

use super::log::Log;
use super::route::SCOUT;

/// The reason why an answer whose data are not the packet's is no reply.
pub(super) const OTHER_DATA: &str = "the data of the reply are not those that were sent";

/// Return the reason why an answer from an address that was not probed is no reply.
pub(super) fn another_address(from: IpAddr) -> String {
    format!("the reply came from {from}")
}

/// The properties of a probe's replies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub flavour: Flavour,
    /// The protocol of echoes; not used for UDP.
    pub protocol: Protocol,
    /// The address that is probed.
    pub to: IpAddr,
    /// The bytes of data behind the ICMP or UDP header.
    pub size: usize,
}

/// A message that belongs to a packet of the probe.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Its reply.
    Reply { place: u32 },
    /// An answer that is not its reply, and why.
    Mismatched { place: u32, why: String },
    /// A reply with a wrong checksum. Only a raw socket for IPv4 gets these: the kernel drops all others.
    Corrupted { place: u32 },
}

impl Expected {
    /// Return the packet that a message belongs to, if there is one. `from` is its source, if that is known.
    pub(super) fn recognize(
        &self,
        log: &Log,
        message: &Message<'_>,
        from: Option<IpAddr>,
    ) -> Option<Received> {
        let bytes = message.bytes;
        if self.flavour == Flavour::Udp {
            let place = self.place_by_header(log, bytes)?;
            return Some(of(place, self.mismatch(log, place, bytes, message.truncated())));
        }
        let has_ip_header = self.flavour == Flavour::IcmpRaw && self.protocol == Protocol::Icmp;
        let icmp = if has_ip_header { IpView::v4(bytes).ok()?.payload() } else { bytes };
        let echo = EchoView::new(icmp, self.protocol).ok()?;
        if echo.leg() != Leg::Reply {
            return None;
        }
        if has_ip_header && !message.truncated() && !icmp_is_intact(icmp) {
            let place = self.place_by_header(log, echo.payload())?;
            return Some(Received::Corrupted { place });
        }
        let place = self.place(log, &echo, from)?;
        let stranger = from.filter(|from| *from != self.to);
        let why = match (stranger, echo.code()) {
            (Some(from), _) => Some(another_address(from)),
            (None, 0) => self.mismatch(log, place, echo.payload(), message.truncated()),
            (None, code) => Some(format!("the reply has code {code}")),
        };
        Some(of(place, why))
    }

    /// Return the place of the packet that an echo reply is about. A reply without the probe header is known by its
    /// sequence number, if it comes from the address that was asked and is not that of the scout, which has the same
    /// identifier on a raw socket.
    fn place(&self, log: &Log, echo: &EchoView<'_>, from: Option<IpAddr>) -> Option<u32> {
        if echo.payload().starts_with(&SCOUT.to_be_bytes()) {
            return None;
        }
        match ProbeView::new(echo.payload()) {
            Ok(_) => self.place_by_header(log, echo.payload()),
            Err(_) if from.is_none_or(|from| from == self.to) => log.last_with_low_bits(echo.seq()),
            Err(_) => None,
        }
    }

    fn place_by_header(&self, log: &Log, data: &[u8]) -> Option<u32> {
        let header = ProbeView::new(data).ok()?;
        log.place(header.probe(), header.seq())
    }

    /// Return what is wrong with the data of a reply. They must be the packet's: its header, and zeros.
    fn mismatch(&self, log: &Log, place: u32, data: &[u8], truncated: bool) -> Option<String> {
        let (has, size) = (data.len(), self.size);
        if truncated {
            return Some(format!("the reply has more than {has} bytes of data, not {size}"));
        }
        if has == 0 {
            return Some("the reply has no data".into());
        }
        if has != size {
            return Some(format!("the reply has {has} bytes of data, not {size}"));
        }
        let mut header = [0; PROBE_HEADER];
        log.header(place).emit(&mut header);
        let same = data.starts_with(&header) && data[PROBE_HEADER..].iter().all(|byte| *byte == 0);
        (!same).then(|| OTHER_DATA.into())
    }
}

fn of(place: u32, mismatch: Option<String>) -> Received {
    match mismatch {
        Some(why) => Received::Mismatched { place, why },
        None => Received::Reply { place },
    }
}
