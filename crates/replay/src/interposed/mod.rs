//! The functions of the C library that are replaced. Those with a variable number of arguments take the most that they
//! may have: on Linux both are passed alike.

mod clone;
mod descriptors;
mod ends;
mod files;
mod folders;
mod handlers;
mod identity;
mod input;
mod machine;
mod names;
mod output;
mod sockets;
mod streams;
mod threads;
mod time;
mod timers;
mod unseen;
mod waits;
