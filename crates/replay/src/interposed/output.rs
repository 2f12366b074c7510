//! Bytes that go out: the log keeps them, and a replay compares them.

use core::ffi::{c_int, c_void};

use delaylab_calls::Call;
use libc::{iovec, mmsghdr, msghdr, sockaddr, socklen_t};

use crate::gate::{Mode, asked, mode, pass};
use crate::port::Given;
use crate::sys::sys;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn write(fd: c_int, from: *const c_void, length: usize) -> isize {
    show(fd, from, length);
    pass(
        asked(Call::Write, fd),
        |given| given.memory(from, length),
        || sys!(SYS_write, fd, from, length),
        |_, _| {},
    ) as isize
}

/// Print what a replayed process prints.
unsafe fn show(fd: c_int, from: *const c_void, length: usize) {
    if (fd == 1 || fd == 2) && mode() == Mode::Replay {
        sys!(SYS_write, fd, from, length);
    }
}

/// Pass bytes of a file that the kernel sends: how many, and not which.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut i64, most: usize) -> isize {
    pass(
        asked(Call::Sendfile, to),
        |given| {
            given.number(from);
            given.number(most);
        },
        || sys!(SYS_sendfile, to, from, at, most),
        |port, _| port.memory(at, 8),
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(to: c_int, from: c_int, at: *mut i64, most: usize) -> isize {
    sendfile(to, from, at, most)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(fd: c_int, from: *const c_void, length: usize, at: i64) -> isize {
    pass(
        asked(Call::Pwrite, fd),
        |given| {
            given.number(at);
            given.memory(from, length);
        },
        || sys!(SYS_pwrite64, fd, from, length, at),
        |_, _| {},
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, from: *const c_void, length: usize, at: i64) -> isize {
    pwrite(fd, from, length, at)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> isize {
    for index in 0..count as usize {
        show(fd, (*parts.add(index)).iov_base, (*parts.add(index)).iov_len);
    }
    pass(
        asked(Call::Writev, fd),
        |given| gathered(given, parts, count as usize),
        || sys!(SYS_writev, fd, parts, count),
        |_, _| {},
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, from: *const c_void, length: usize, flags: c_int) -> isize {
    pass(
        asked(Call::Send, fd),
        |given| {
            given.number(flags);
            given.memory(from, length);
        },
        || sys!(SYS_sendto, fd, from, length, flags, 0, 0),
        |_, _| {},
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: usize,
    flags: c_int,
    address: *const sockaddr,
    size: socklen_t,
) -> isize {
    pass(
        asked(Call::Sendto, fd),
        |given| {
            given.number(flags);
            given.address(address, size);
            given.memory(from, length);
        },
        || sys!(SYS_sendto, fd, from, length, flags, address, size),
        |_, _| {},
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> isize {
    pass(
        asked(Call::Sendmsg, fd),
        |given| {
            given.number(flags);
            whole(given, message);
        },
        || sys!(SYS_sendmsg, fd, message, flags),
        |_, _| {},
    ) as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: u32,
    flags: c_int,
) -> c_int {
    pass(
        asked(Call::Sendmmsg, fd),
        |given| {
            given.number(flags);
            for index in 0..count as usize {
                whole(given, &raw const (*messages.add(index)).msg_hdr);
            }
        },
        || sys!(SYS_sendmmsg, fd, messages, count, flags),
        |port, sent| {
            for index in 0..count.min(sent as u32) as usize {
                port.memory(&raw mut (*messages.add(index)).msg_len, 4);
            }
        },
    ) as c_int
}

/// Give a message: the address, control messages and the bytes.
unsafe fn whole(given: &mut Given, message: *const msghdr) {
    given.controls(message);
    let message = &*message;
    given.address(message.msg_name.cast(), message.msg_namelen);
    gathered(given, message.msg_iov, message.msg_iovlen);
}

unsafe fn gathered(given: &mut Given, parts: *const iovec, count: usize) {
    for index in 0..count {
        let part = &*parts.add(index);
        given.memory(part.iov_base, part.iov_len);
    }
}
