//! Time: how a thread waits that must be on time ([`pace`]), how late it was ([`lateness`]), and how the clock was set
//! meanwhile ([`clock_steps`]); and, for tests, a clock with a known error ([`test_clock`]).

pub(crate) mod clock_steps;
pub(crate) mod lateness;
pub(crate) mod pace;
pub(crate) mod test_clock;
