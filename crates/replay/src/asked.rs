//! A call, before it is made.

use delaylab_calls::{Call, Entry};

use crate::lock;

/// A call, before it is made.
pub(crate) struct Asked {
    pub(crate) call: Call,
    pub(crate) fd: i32,
    /// True if the result is a new descriptor.
    pub(crate) makes: bool,
}

pub(crate) fn asked(call: Call, fd: i32) -> Asked {
    Asked { call, fd, makes: false }
}

pub(crate) fn making(call: Call, fd: i32) -> Asked {
    Asked { call, fd, makes: true }
}

/// Return an entry of the running thread that gives and gets nothing.
pub(crate) fn bare(call: Call, fd: i32, result: i64) -> Entry<'static> {
    Entry { thread: lock::thread(), call, fd, result, time: 0, given: &[], got: &[] }
}
