//! Bytes that come in.

use core::ffi::{c_int, c_void};

use delaylab_calls::Call;
use libc::{iovec, mmsghdr, msghdr, sockaddr, socklen_t, timespec};

use crate::gate::{asked, pass};
use crate::port::Port;
use crate::sys::sys;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn read(fd: c_int, into: *mut c_void, room: usize) -> isize {
    pass(
        asked(Call::Read, fd),
        |given| given.number(room),
        || sys!(SYS_read, fd, into, room),
        |port, count| port.memory(into, room.min(count as usize)),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(fd: c_int, into: *mut c_void, room: usize, _: usize) -> isize {
    read(fd, into, room)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread(fd: c_int, into: *mut c_void, room: usize, at: i64) -> isize {
    pass(
        asked(Call::Pread, fd),
        |given| {
            given.number(room);
            given.number(at);
        },
        || sys!(SYS_pread64, fd, into, room, at),
        |port, count| port.memory(into, room.min(count as usize)),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, into: *mut c_void, room: usize, at: i64) -> isize {
    pread(fd, into, room, at)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    pass(
        asked(Call::Readv, fd),
        |given| given.number(count),
        || sys!(SYS_readv, fd, parts, count),
        |port, bytes| scattered(port, parts, count as usize, bytes as usize),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, into: *mut c_void, room: usize, flags: c_int) -> isize {
    pass(
        asked(Call::Recv, fd),
        |given| given.number(flags),
        || sys!(SYS_recvfrom, fd, into, room, flags, 0, 0),
        |port, count| port.memory(into, room.min(count as usize)),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(
    fd: c_int,
    into: *mut c_void,
    room: usize,
    _: usize,
    flags: c_int,
) -> isize {
    recv(fd, into, room, flags)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    fd: c_int,
    into: *mut c_void,
    room: usize,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> isize {
    let space = if length.is_null() { 0 } else { *length };
    pass(
        asked(Call::Recvfrom, fd),
        |given| given.number(flags),
        || sys!(SYS_recvfrom, fd, into, room, flags, address, length),
        |port, count| {
            port.memory(into, room.min(count as usize));
            let filled = port.length(length, space);
            port.memory(address, filled);
        },
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    into: *mut c_void,
    room: usize,
    _: usize,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> isize {
    recvfrom(fd, into, room, flags, address, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    let (names, controls) = room(message);
    pass(
        asked(Call::Recvmsg, fd),
        |given| given.number(flags),
        || sys!(SYS_recvmsg, fd, message, flags),
        |port, count| filled(port, message, count as usize, names, controls),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    most: u32,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    const MESSAGES: usize = 1024;
    let mut rooms = [(0, 0); MESSAGES];
    let most = most.min(MESSAGES as u32);
    for (index, place) in rooms.iter_mut().enumerate().take(most as usize) {
        *place = room(&raw mut (*messages.add(index)).msg_hdr);
    }
    pass(
        asked(Call::Recvmmsg, fd),
        |given| given.number(flags),
        || sys!(SYS_recvmmsg, fd, messages, most, flags, timeout),
        |port, count| {
            for (index, (names, controls)) in
                rooms.iter().enumerate().take(most.min(count as u32) as usize)
            {
                let message = messages.add(index);
                port.memory(&raw mut (*message).msg_len, 4);
                let bytes = (*message).msg_len as usize;
                filled(port, &raw mut (*message).msg_hdr, bytes, *names, *controls);
            }
        },
    ) as c_int
}

/// Return the room for the sender's address and for control messages.
unsafe fn room(message: *const msghdr) -> (u32, usize) {
    ((*message).msg_namelen, (*message).msg_controllen)
}

/// Pass a message that was received.
unsafe fn filled(port: &mut Port, message: *mut msghdr, bytes: usize, names: u32, controls: usize) {
    let message = &mut *message;
    if !message.msg_name.is_null() {
        let length = port.length(&raw mut message.msg_namelen, names);
        port.memory(message.msg_name, length);
    }
    let length = port.number(message.msg_controllen as i64) as usize;
    message.msg_controllen = length as _;
    port.memory(message.msg_control, length.min(controls));
    port.memory(&raw mut message.msg_flags, 4);
    scattered(port, message.msg_iov, message.msg_iovlen, bytes);
}

/// Pass bytes that were put into several places.
unsafe fn scattered(port: &mut Port, parts: *const iovec, count: usize, mut bytes: usize) {
    for index in 0..count {
        let part = &*parts.add(index);
        let length = part.iov_len.min(bytes);
        port.memory(part.iov_base, length);
        bytes -= length;
    }
}
