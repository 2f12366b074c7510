//! The forwarding tables of a network namespace: what they are, and what changes in them.

mod message;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer,
};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, getsockopt, recv, send, setsockopt, sockopt};

use super::{RECEIVE_BUFFER, messages, open_socket, refused, subscribe};
use crate::socket::option::set_option;
pub use message::{Hop, Insertion, Link, Message, NextHopObject, Prefix, Route, Target};

/// The bit of the group of next-hop objects (`RTNLGRP_NEXTHOP`), which has no `RTMGRP_…`.
const NEXT_HOPS: libc::c_int = 1 << 31;
const GROUPS: libc::c_int = libc::RTMGRP_LINK
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_ROUTE
    | NEXT_HOPS;
/// The option by which the kernel selects what a dump has (linux/netlink.h).
const NETLINK_GET_STRICT_CHK: libc::c_int = 12;
/// The most times that a dump is tried again because a table changed meanwhile.
const TRIES: usize = 20;

/// Two sockets in the network namespace in which they were opened: one hears of all changes, the other asks for all
/// there is. They keep the namespace alive.
#[derive(Debug)]
pub struct Monitor {
    changes: OwnedFd,
    questions: OwnedFd,
}

/// A result of [`Monitor::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A datagram of this many bytes.
    Datagram(usize),
    /// The kernel had no room for a message and dropped it, and all that followed until the socket was empty.
    Lost,
    /// Nothing more.
    Nothing,
}

impl Monitor {
    /// Subscribe to the changes of the current network namespace. `room` are the bytes of messages that may wait to
    /// be read; without `CAP_NET_ADMIN` the machine's limit holds (`net.core.rmem_max`).
    pub fn open(room: usize) -> io::Result<Self> {
        let changes = subscribe(GROUPS)?;
        if setsockopt(&changes, sockopt::RcvBufForce, &room).is_err() {
            setsockopt(&changes, sockopt::RcvBuf, &room)?;
        }
        let questions = open_socket()?;
        // An older kernel sends the tables of everybody, and those of others are skipped.
        let _ = set_option(questions.as_raw_fd(), libc::SOL_NETLINK, NETLINK_GET_STRICT_CHK, &1i32);
        Ok(Self { changes, questions })
    }

    /// Return the bytes of messages that may wait to be read, as the kernel counts them.
    pub fn room(&self) -> io::Result<usize> {
        Ok(getsockopt(&self.changes, sockopt::RcvBuf)?)
    }

    /// Read the next datagram about changes without waiting; it may have several messages.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            match recv(self.changes.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => return Ok(Received::Datagram(length)),
                Err(Errno::EAGAIN) => return Ok(Received::Nothing),
                Err(Errno::ENOBUFS) => return Ok(Received::Lost),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ask for all interfaces, next-hop objects and routes, in this order, and pass each to `take`. If a table
    /// changes while it is read (`NLM_F_DUMP_INTR`), all of it follows anew after another [`Dumped::Begin`].
    pub fn dump(&self, mut take: impl FnMut(Dumped)) -> io::Result<()> {
        self.dump_until_whole(Part::Links, &mut take)?;
        // A kernel without next-hop objects (before 5.3) refuses to list them.
        match self.dump_until_whole(Part::NextHops, &mut take) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            other => other?,
        }
        for family in [libc::AF_INET, libc::AF_INET6] {
            match self.dump_until_whole(Part::Routes(family as u8), &mut take) {
                // The main table is made with its first route.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn dump_until_whole(&self, part: Part, take: &mut impl FnMut(Dumped)) -> io::Result<()> {
        for _ in 0..TRIES {
            take(Dumped::Begin(part));
            if self.dump_once(part, take)? {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the table changed each time it was read"))
    }

    /// Ask for one kind of objects; return false if they changed meanwhile.
    fn dump_once(&self, part: Part, take: &mut impl FnMut(Dumped)) -> io::Result<bool> {
        send(self.questions.as_raw_fd(), &part.question(), MsgFlags::empty())?;
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut whole = true;
        loop {
            let length = match recv(self.questions.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => continue,
                received => received?,
            };
            for message in messages(&buffer[..length]) {
                whole &= message.flags() & NLM_F_DUMP_INTR == 0;
                match message.message_type() {
                    NLMSG_DONE => return Ok(whole),
                    NLMSG_ERROR => return Err(refused(message.payload())),
                    _ => {
                        if let Some(message) = Message::read(&message) {
                            take(Dumped::Message(message));
                        }
                    }
                }
            }
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

/// Return the messages of a datagram that say something about where packets go.
pub fn read(datagram: &[u8]) -> impl Iterator<Item = Message> {
    messages(datagram).filter_map(|message: NetlinkBuffer<&[u8]>| Message::read(&message))
}

/// A kind of objects that a dump lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All interfaces.
    Links,
    /// All next-hop objects.
    NextHops,
    /// The routes of the main table of an address family (`AF_…`).
    Routes(u8),
}

impl Part {
    /// Return the request for all objects of the kind (rtnetlink(7)).
    fn question(self) -> Vec<u8> {
        let (kind, family, header) = match self {
            Self::Links => (libc::RTM_GETLINK, 0, 16),
            Self::NextHops => (message::RTM_GETNEXTHOP, 0, 8),
            Self::Routes(family) => (libc::RTM_GETROUTE, family, 12),
        };
        let mut body = vec![0; header];
        body[0] = family;
        if let Self::Routes(_) = self {
            body[4] = libc::RT_TABLE_MAIN;
            body.extend(8u16.to_ne_bytes());
            body.extend(libc::RTA_TABLE.to_ne_bytes());
            body.extend(u32::from(libc::RT_TABLE_MAIN).to_ne_bytes());
        }
        let length = (size_of::<libc::nlmsghdr>() + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes
    }
}

/// A step of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dumped {
    /// All objects of a kind follow; what came of it before does not count.
    Begin(Part),
    /// An object.
    Message(Message),
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::process::namespace::{self, Namespaces};

    /// Run `inside` in a network namespace of its own; do nothing without the privilege for one.
    fn in_new_network(inside: impl FnOnce() + Send + 'static) {
        let ran = thread::spawn(move || {
            if namespace::unshare(Namespaces::CLONE_NEWNET).is_ok() {
                inside();
            }
        });
        ran.join().unwrap();
    }

    fn ip(words: &str) {
        let ran = std::process::Command::new("ip").args(words.split(' ')).status().unwrap();
        assert!(ran.success(), "ip {words}");
    }

    fn heard(monitor: &Monitor) -> Vec<Message> {
        let mut buffer = vec![0; RECEIVE_BUFFER];
        let mut found = Vec::new();
        while let Received::Datagram(length) = monitor.receive(&mut buffer).unwrap() {
            found.extend(read(&buffer[..length]));
        }
        found
    }

    fn dumped(monitor: &Monitor) -> Vec<Message> {
        let mut found = Vec::new();
        let take = |dumped| {
            if let Dumped::Message(message) = dumped {
                found.push(message);
            }
        };
        monitor.dump(take).unwrap();
        found
    }

    #[test]
    fn what_is_heard_of_changes_is_what_is_there_afterwards() {
        in_new_network(|| {
            let monitor = Monitor::open(1 << 20).unwrap();
            assert!(dumped(&monitor).iter().all(|it| matches!(it, Message::LinkSet(_))));
            ip("link add one type veth peer two");
            ip("link set one up");
            ip("link set two up");
            ip("address add 10.9.0.1/24 dev one");
            ip("nexthop add id 5 via 10.9.0.2 dev one");
            ip("route add 10.8.0.0/16 nhid 5");
            ip("route add blackhole 10.7.0.0/16");
            let (heard, there) = (heard(&monitor), dumped(&monitor));
            let kept: Vec<&Message> =
                heard.iter().filter(|it| !matches!(it, Message::LinkSet(_))).collect();
            for message in &kept {
                assert!(there.contains(message), "{message:?} is not in {there:?}");
            }
            assert_eq!(kept.len(), 4, "{heard:?}");
        });
    }

    #[test]
    fn messages_for_which_there_was_no_room_are_reported_as_lost() {
        in_new_network(|| {
            let monitor = Monitor::open(1).unwrap();
            ip("link set lo up");
            for number in 0..40 {
                ip(&format!("route add 10.{number}.0.0/16 dev lo"));
            }
            let mut buffer = vec![0; RECEIVE_BUFFER];
            let mut lost = 0;
            loop {
                match monitor.receive(&mut buffer).unwrap() {
                    Received::Datagram(_) => {}
                    Received::Lost => lost += 1,
                    Received::Nothing => break,
                }
            }
            assert!(lost > 0);
            let routes = dumped(&monitor);
            let routes = routes.iter().filter(|it| matches!(it, Message::RouteSet(..)));
            assert_eq!(routes.count(), 40);
        });
    }
}
