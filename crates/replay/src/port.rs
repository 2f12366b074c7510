//! The ways between a program's memory and the log.

use core::ffi::{c_char, c_int};
use core::slice;

use libc::{msghdr, sockaddr};

use crate::placeholders::take_place;

/// The most bytes that a call gives or gets.
pub(crate) const MOST: usize = 4 << 20;

/// The bytes that a program gives with a call.
pub(crate) struct Given {
    bytes: &'static mut [u8],
    length: usize,
    pub(crate) over: bool,
}

impl Given {
    pub(crate) fn new(bytes: &'static mut [u8]) -> Self {
        Self { bytes, length: 0, over: false }
    }

    pub(crate) fn number(&mut self, value: impl TryInto<i64>) {
        self.put(&value.try_into().unwrap_or(i64::MAX).to_le_bytes());
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.length..self.length + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            None => self.over = true,
        }
    }

    /// Give bytes of the program's memory.
    pub(crate) unsafe fn memory<T>(&mut self, from: *const T, length: usize) {
        if !from.is_null() && length <= MOST {
            self.put(slice::from_raw_parts(from.cast(), length));
        } else {
            self.over |= length > MOST;
        }
    }

    /// Give a text of the program's memory.
    pub(crate) unsafe fn text(&mut self, from: *const c_char) {
        if !from.is_null() {
            self.put(core::ffi::CStr::from_ptr(from).to_bytes_with_nul());
        }
    }

    /// Give an address, without what follows its fields: nobody has set it, and nobody reads it.
    pub(crate) unsafe fn address(&mut self, from: *const sockaddr, length: u32) {
        if from.is_null() || length < 2 {
            return;
        }
        let known = match i32::from((*from).sa_family) {
            libc::AF_INET => 8,
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            libc::AF_NETLINK => size_of::<libc::sockaddr_nl>(),
            libc::AF_PACKET => {
                12 + usize::from((*from.cast::<libc::sockaddr_ll>()).sll_halen).min(8)
            }
            _ => length as usize,
        };
        self.memory(from, known.min(length as usize));
    }

    /// Give a message's control data, without what is between its parts.
    pub(crate) unsafe fn controls(&mut self, message: *const msghdr) {
        let mut each = libc::CMSG_FIRSTHDR(message);
        while !each.is_null() {
            let head = libc::CMSG_LEN(0) as usize;
            self.number((*each).cmsg_level);
            self.number((*each).cmsg_type);
            self.memory(libc::CMSG_DATA(each), ((*each).cmsg_len as usize).saturating_sub(head));
            each = libc::CMSG_NXTHDR(message, each);
        }
    }

    pub(crate) fn taken(self) -> &'static [u8] {
        &self.bytes[..self.length]
    }
}

/// The way of a call's results: out of the program's memory when it is recorded, into it when it is replayed.
pub(crate) struct Port {
    replays: bool,
    bytes: &'static mut [u8],
    at: usize,
    pub(crate) over: bool,
}

impl Port {
    pub(crate) fn recording(bytes: &'static mut [u8]) -> Self {
        Self { replays: false, bytes, at: 0, over: false }
    }

    pub(crate) fn replaying(bytes: &'static mut [u8]) -> Self {
        Self { replays: true, bytes, at: 0, over: false }
    }

    pub(crate) fn replays(&self) -> bool {
        self.replays
    }

    /// Pass bytes that the call has put into the program's memory.
    pub(crate) unsafe fn memory<T>(&mut self, at: *mut T, length: usize) {
        if at.is_null() || length == 0 {
            return;
        }
        let Some(place) =
            self.at.checked_add(length).and_then(|end| self.bytes.get_mut(self.at..end))
        else {
            self.over = true;
            return;
        };
        let memory = at.cast::<u8>();
        if self.replays {
            core::ptr::copy_nonoverlapping(place.as_ptr(), memory, length);
        } else {
            core::ptr::copy_nonoverlapping(memory, place.as_mut_ptr(), length);
        }
        self.at += length;
    }

    /// Pass a number, and return that of the log.
    pub(crate) fn number(&mut self, value: i64) -> i64 {
        let mut value = value;
        // SAFETY: the number's own bytes.
        unsafe { self.memory(&raw mut value, 8) };
        value
    }

    /// Pass a length that the call has put into the program's memory: `room` bytes were there. Return how many bytes
    /// it has filled.
    pub(crate) unsafe fn length(&mut self, at: *mut u32, room: u32) -> usize {
        if at.is_null() {
            return 0;
        }
        self.memory(at, 4);
        (*at).min(room) as usize
    }

    /// Pass a new descriptor that the call has put into the program's memory.
    pub(crate) unsafe fn descriptor(&mut self, at: *mut c_int) {
        self.memory(at, 4);
        if self.replays {
            take_place(*at);
        }
    }

    pub(crate) fn taken(self) -> &'static [u8] {
        &self.bytes[..self.at]
    }
}
