//! Sockets, other than what passes through them.

use core::ffi::{c_int, c_void};

use delaylab_calls::Call;
use libc::{sockaddr, socklen_t};

use crate::gate::{Asked, asked, making, pass, pass_numbers};
use crate::sys::sys;

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    let numbers = [family.into(), kind.into(), protocol.into()];
    pass_numbers(making(Call::Socket, -1), &numbers, || sys!(SYS_socket, family, kind, protocol))
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    family: c_int,
    kind: c_int,
    protocol: c_int,
    two: *mut c_int,
) -> c_int {
    pass(
        asked(Call::Socketpair, -1),
        |given| given.number(kind),
        || sys!(SYS_socketpair, family, kind, protocol, two),
        |port, _| {
            port.descriptor(two);
            port.descriptor(two.add(1));
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let real = || sys!(SYS_accept4, fd, address, length, flags);
    named(making(Call::Accept, fd), address, length, real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    accept4(fd, address, length, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    named(asked(Call::Getsockname, fd), address, length, || {
        sys!(SYS_getsockname, fd, address, length)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    named(asked(Call::Getpeername, fd), address, length, || {
        sys!(SYS_getpeername, fd, address, length)
    })
}

/// Pass a call that returns an address.
unsafe fn named(
    asked: Asked,
    address: *mut sockaddr,
    length: *mut socklen_t,
    real: impl FnOnce() -> i64,
) -> c_int {
    let room = if length.is_null() { 0 } else { *length };
    pass(
        asked,
        |_| {},
        real,
        |port, _| {
            let filled = port.length(length, room);
            port.memory(address, filled);
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let real = || sys!(SYS_bind, fd, address, length);
    to(asked(Call::Bind, fd), address, length, real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let real = || sys!(SYS_connect, fd, address, length);
    to(asked(Call::Connect, fd), address, length, real)
}

/// Pass a call with an address.
unsafe fn to(
    asked: Asked,
    address: *const sockaddr,
    length: socklen_t,
    real: impl FnOnce() -> i64,
) -> c_int {
    pass(asked, |given| given.address(address, length), real, |_, _| {}) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    pass_numbers(asked(Call::Listen, fd), &[backlog.into()], || sys!(SYS_listen, fd, backlog))
        as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    pass_numbers(asked(Call::Shutdown, fd), &[how.into()], || sys!(SYS_shutdown, fd, how)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    // A filter (SO_ATTACH_FILTER) is given as an address; a device's name may have rubbish after its end.
    let plain = !(level == libc::SOL_SOCKET
        && matches!(name, libc::SO_ATTACH_FILTER | libc::SO_BINDTODEVICE));
    pass(
        asked(Call::Setsockopt, fd),
        |given| {
            given.number(level);
            given.number(name);
            if plain {
                given.memory(value, length as usize);
            }
        },
        || sys!(SYS_setsockopt, fd, level, name, value, length),
        |_, _| {},
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let room = if length.is_null() { 0 } else { *length };
    pass(
        asked(Call::Getsockopt, fd),
        |given| {
            given.number(level);
            given.number(name);
        },
        || sys!(SYS_getsockopt, fd, level, name, value, length),
        |port, _| {
            let filled = port.length(length, room);
            port.memory(value, filled);
        },
    ) as c_int
}
