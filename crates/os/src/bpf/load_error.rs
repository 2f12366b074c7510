//! Errors of the BPF loader.

use std::error::Error;
use std::io;

/// Convert an error to one line of text, with its causes.
pub(crate) fn refused<E: Error>(error: E) -> io::Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    io::Error::other(text)
}
