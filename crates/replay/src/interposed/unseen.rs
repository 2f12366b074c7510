//! Functions of the C library that get input or start programs, and are not recorded: the log names them, so that
//! nobody takes a replay for more than it is.

use core::ffi::c_long;

use delaylab_calls::Call;

use crate::gate::{Mode, asked, mode, pass};
use crate::sys::next;

/// Note that a function is called which is not recorded.
pub(super) fn note(name: &[u8]) {
    if matches!(mode(), Mode::Record | Mode::Replay) {
        pass(asked(Call::Unseen, -1), |given| given.put(name), || 0, |_, _| {});
    }
}

/// Define functions that are noted, and then called. All take numbers and addresses: eight at most, of which those that
/// a function does not have are never looked at.
macro_rules! unseen {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize,
        ) -> c_long {
            type Real = unsafe extern "C" fn(
                usize, usize, usize, usize, usize, usize, usize, usize,
            ) -> c_long;
            note(stringify!($name).as_bytes());
            let real: Real = next(concat!(stringify!($name), "\0"));
            real(a, b, c, d, e, f, g, h)
        })*
    };
}

unseen! {
    copy_file_range forkpty fts_open getaddrinfo gethostbyname gethostbyname2 getifaddrs getnameinfo getpwuid glob
    glob64 if_nameindex io_uring_setup mq_receive msgrcv nftw nftw64 open_by_handle_at popen posix_spawn posix_spawnp
    process_vm_readv scandir scandir64 scandirat semop shmat sigtimedwait sigwait sigwaitinfo splice system tee tmpfile tmpfile64
}
