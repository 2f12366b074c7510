//! Descriptors of any kind.

use core::ffi::{c_int, c_uint, c_ulong, c_void};

use delaylab_calls::Call;

use crate::gate::{Asked, Mode, asked, making, mode, pass, pass_numbers};
use crate::placeholders;
use crate::sys::sys;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close(fd: c_int) -> c_int {
    if mode() == Mode::Replay {
        placeholders::leave_place(fd);
    }
    pass_numbers(asked(Call::Close, fd), &[], || sys!(SYS_close, fd)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(fd: c_int) -> c_int {
    pass_numbers(making(Call::Dup, fd), &[], || sys!(SYS_dup, fd)) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    pass_numbers(making(Call::Dup, fd), &[to.into()], || sys!(SYS_dup3, fd, to, flags)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    if fd == to {
        let valid = || {
            if sys!(SYS_fcntl, fd, libc::F_GETFD, 0) < 0 {
                -i64::from(libc::EBADF)
            } else {
                fd.into()
            }
        };
        return pass_numbers(asked(Call::Dup, fd), &[to.into()], valid) as c_int;
    }
    dup3(fd, to, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(two: *mut c_int, flags: c_int) -> c_int {
    pass(
        asked(Call::Pipe, -1),
        |given| given.number(flags),
        || sys!(SYS_pipe2, two, flags),
        |port, _| {
            port.descriptor(two);
            port.descriptor(two.add(1));
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(two: *mut c_int) -> c_int {
    pipe2(two, 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    let numbers = [count.into(), flags.into()];
    pass_numbers(making(Call::Eventfd, -1), &numbers, || sys!(SYS_eventfd2, count, flags)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signalfd(fd: c_int, mask: *const libc::sigset_t, flags: c_int) -> c_int {
    let asked = Asked { call: Call::Signalfd, fd, makes: fd < 0 };
    pass_numbers(asked, &[flags.into()], || sys!(SYS_signalfd4, fd, mask, 8, flags)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inotify_init1(flags: c_int) -> c_int {
    pass_numbers(making(Call::InotifyInit, -1), &[], || sys!(SYS_inotify_init1, flags)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inotify_init() -> c_int {
    inotify_init1(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inotify_add_watch(
    fd: c_int,
    path: *const core::ffi::c_char,
    mask: u32,
) -> c_int {
    pass(
        asked(Call::InotifyAddWatch, fd),
        |given| given.text(path),
        || sys!(SYS_inotify_add_watch, fd, path, mask),
        |_, _| {},
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn inotify_rm_watch(fd: c_int, watch: c_int) -> c_int {
    let real = || sys!(SYS_inotify_rm_watch, fd, watch);
    pass_numbers(asked(Call::InotifyRmWatch, fd), &[watch.into()], real) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fcntl(fd: c_int, what: c_int, argument: usize) -> c_int {
    let makes = matches!(what, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC);
    let has_lock = matches!(what, libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW);
    let has_number = makes || matches!(what, libc::F_SETFL | libc::F_SETFD | libc::F_SETOWN);
    pass(
        Asked { call: Call::Fcntl, fd, makes },
        |given| {
            given.number(what);
            if has_number {
                given.number(argument as c_int);
            }
        },
        || sys!(SYS_fcntl, fd, what, argument),
        |port, _| {
            if has_lock {
                port.memory(argument as *mut c_void, size_of::<libc::flock>());
            }
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, what: c_int, argument: usize) -> c_int {
    fcntl(fd, what, argument)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    let (gives, gets) = sizes(request);
    let place = argument as *mut c_void;
    pass(
        asked(Call::Ioctl, fd),
        |given| {
            given.number(request as i64);
            given.memory(place, gives);
        },
        || sys!(SYS_ioctl, fd, request, argument),
        |port, _| {
            port.memory(place, gets);
            if request == ETHTOOL {
                let settings = (*place.cast::<libc::ifreq>()).ifr_ifru.ifru_data;
                // The settings begin with the command, which says how long they are.
                if *settings.cast::<u32>() == GET_SETTINGS {
                    port.memory(settings, SETTINGS);
                }
            }
        },
    ) as c_int
}

/// The ioctl for the settings of a network card (SIOCETHTOOL), which are at an address in its argument.
const ETHTOOL: c_ulong = 0x8946;
/// The command that asks for a card's speed, and other settings of the oldest form (ETHTOOL_GSET).
const GET_SETTINGS: u32 = 1;
/// The bytes of settings of the oldest form, such as a card's speed (struct ethtool_cmd, linux/ethtool.h).
const SETTINGS: usize = 44;

/// Return how many bytes an ioctl reads at its argument, and how many it writes there.
fn sizes(request: c_ulong) -> (usize, usize) {
    const NAME: usize = libc::IFNAMSIZ;
    match request {
        libc::FIONBIO => (4, 0),
        libc::FIONREAD | libc::TIOCOUTQ => (0, 4),
        libc::TCGETS => (0, 36),
        libc::TIOCGWINSZ => (0, 8),
        // Of an interface (struct ifreq): the name goes in, all comes back. A list of them is by an address.
        0x8912 => (0, 0),
        // Only what is at the address that it has.
        ETHTOOL => (NAME, 0),
        0x8910..=0x89ff => (NAME, size_of::<libc::ifreq>()),
        // The request says its size and direction (asm-generic/ioctl.h).
        _ => {
            let size = (request >> 16 & 0x3fff) as usize;
            let direction = request >> 30 & 3;
            (if direction & 1 != 0 { size } else { 0 }, if direction & 2 != 0 { size } else { 0 })
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    let file = fd;
    // In a replay no descriptor has a file: what is written to it is written to memory.
    let (flags, fd, protection) = if fd >= 0 && mode() == Mode::Replay {
        (
            flags & !libc::MAP_SHARED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            protection | libc::PROT_READ | libc::PROT_WRITE,
        )
    } else {
        (flags, fd, protection)
    };
    let place = sys!(SYS_mmap, at, length, protection, flags, fd, offset);
    if file >= 0 && protection & libc::PROT_READ != 0 {
        return mapped(place, length, file, offset);
    }
    if (-4095..0).contains(&place) {
        crate::sys::set_errno(-place as i32);
        return libc::MAP_FAILED;
    }
    place as *mut c_void
}

/// Pass the bytes of a file that was mapped at a place, as they are now.
unsafe fn mapped(place: i64, length: usize, fd: c_int, offset: i64) -> *mut c_void {
    let failed = (-4095..0).contains(&place);
    let memory = place as *mut c_void;
    let done = pass(
        asked(Call::Mmap, fd),
        |given| {
            given.number(length);
            given.number(offset);
        },
        || if failed { place } else { 0 },
        |port, _| {
            let mut about: libc::stat = core::mem::zeroed();
            if !port.replays() {
                sys!(SYS_fstat, fd, &raw mut about);
            }
            // There is no memory behind the file's end.
            let rest = (about.st_size - offset).clamp(0, length as i64);
            let count = port.number(rest) as usize;
            port.memory(memory, if failed { 0 } else { count.min(length) });
        },
    );
    if done < 0 { libc::MAP_FAILED } else { memory }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    mmap(at, length, protection, flags, fd, offset)
}
