//! The socket of a probe's next packet, made while there is time.

use std::io;
use std::os::fd::OwnedFd;

/// The socket of one packet, by the packet's place.
#[derive(Debug, Default)]
pub(super) struct NextSocket(Option<(u32, io::Result<OwnedFd>)>);

impl NextSocket {
    /// Make the socket of the packet at a place, if that is not done yet.
    pub(super) fn prepare(&mut self, place: u32, make: impl FnOnce() -> io::Result<OwnedFd>) {
        if self.0.as_ref().is_none_or(|(at, _)| *at != place) {
            self.0 = Some((place, make()));
        }
    }

    /// Take the socket of the packet at a place, which is made now if that is not done yet.
    pub(super) fn take(
        &mut self,
        place: u32,
        make: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> io::Result<OwnedFd> {
        self.0.take_if(|(at, _)| *at == place).map_or_else(make, |(_, socket)| socket)
    }
}
