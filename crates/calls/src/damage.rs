//! The reasons why bytes are no log.

use std::fmt;

use crate::VERSION;

/// The reason why bytes are no log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// They do not begin as a log does.
    Foreign,
    /// They are a log of this other version.
    Version(u16),
    /// They end within an entry.
    Short,
    /// They are fewer than their beginning says, of so many.
    Length(usize, usize),
    /// A number is too large.
    Number,
    /// An entry refers to something that was not before it.
    Reference,
    /// An entry is of an unknown call.
    Call,
    /// A part keeps more than it may.
    Room,
}

impl fmt::Display for Damage {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(into, "it is not a log of calls"),
            Self::Version(found) => {
                write!(into, "it is a log of version {found}, and this program reads {VERSION}")
            }
            Self::Short => write!(into, "it ends within a call"),
            Self::Length(length, found) => {
                write!(into, "it has {found} bytes, and its beginning says {length}")
            }
            Self::Number => write!(into, "a number is too large"),
            Self::Reference => write!(into, "a call refers to one that is not before it"),
            Self::Call => write!(into, "a call is of an unknown kind"),
            Self::Room => write!(into, "calls take more memory than any recorded ones"),
        }
    }
}
