//! Time: how a thread waits that must be on time ([`pace`]), how late it was ([`lateness`]), and a time that nobody
//! sets ([`steady`]).

pub(crate) mod lateness;
pub(crate) mod pace;
pub(crate) mod steady;
