//! Time: how a thread waits that must be on time ([`pace`]), and how late it was ([`lateness`]).

pub mod lateness;
pub mod pace;
