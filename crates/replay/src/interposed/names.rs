//! Names of users and groups. The C library finds them by files, sockets and libraries of its own choice, which are not
//! recorded: the answer is. A replay asks as well, *because* memory is then taken alike, and passes the recorded answer.

use core::ffi::{c_char, c_int};

use delaylab_calls::Call;
use libc::{group, passwd};

use crate::gate::{asked, mode, pass};
use crate::mode::aside;
use crate::sys::next;

static EMPTY: [c_char; 1] = [0];
static mut USER: passwd = passwd {
    pw_name: core::ptr::null_mut(),
    pw_passwd: EMPTY.as_ptr().cast_mut(),
    pw_uid: 0,
    pw_gid: 0,
    pw_gecos: EMPTY.as_ptr().cast_mut(),
    pw_dir: EMPTY.as_ptr().cast_mut(),
    pw_shell: EMPTY.as_ptr().cast_mut(),
};
static mut MEMBERS: [*mut c_char; 1] = [core::ptr::null_mut()];
static mut GROUP: group = group {
    gr_name: core::ptr::null_mut(),
    gr_passwd: EMPTY.as_ptr().cast_mut(),
    gr_gid: 0,
    gr_mem: core::ptr::null_mut(),
};

#[unsafe(no_mangle)]
unsafe extern "C" fn getpwnam(name: *const c_char) -> *mut passwd {
    mode();
    let real: unsafe extern "C" fn(*const c_char) -> *mut passwd = next("getpwnam\0");
    let mut found = aside(|| real(name));
    pass(
        asked(Call::Names, -1),
        |given| given.text(name),
        || 0,
        |port, _| {
            if port.number(i64::from(!found.is_null())) == 0 {
                found = core::ptr::null_mut();
                return;
            }
            if found.is_null() {
                found = &raw mut USER;
                (*found).pw_name = name.cast_mut();
            }
            (*found).pw_uid = port.number((*found).pw_uid.into()) as u32;
            (*found).pw_gid = port.number((*found).pw_gid.into()) as u32;
        },
    );
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getgrnam(name: *const c_char) -> *mut group {
    mode();
    let real: unsafe extern "C" fn(*const c_char) -> *mut group = next("getgrnam\0");
    let mut found = aside(|| real(name));
    pass(
        asked(Call::Names, -1),
        |given| given.text(name),
        || 0,
        |port, _| {
            if port.number(i64::from(!found.is_null())) == 0 {
                found = core::ptr::null_mut();
                return;
            }
            if found.is_null() {
                found = &raw mut GROUP;
                (*found).gr_name = name.cast_mut();
                (*found).gr_mem = (&raw mut MEMBERS).cast();
            }
            (*found).gr_gid = port.number((*found).gr_gid.into()) as u32;
        },
    );
    found
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getgrouplist(
    user: *const c_char,
    own: u32,
    groups: *mut u32,
    count: *mut c_int,
) -> c_int {
    mode();
    type List = unsafe extern "C" fn(*const c_char, u32, *mut u32, *mut c_int) -> c_int;
    let real: List = next("getgrouplist\0");
    let room = (*count).max(0);
    let found = aside(|| real(user, own, groups, count));
    pass(
        asked(Call::Names, -1),
        |given| given.text(user),
        || found.into(),
        |port, found| {
            port.memory(count, 4);
            port.memory(groups, found.min(room.into()) as usize * 4);
        },
    ) as c_int
}
