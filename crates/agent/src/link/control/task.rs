//! The task of an engine, which its supervisor hands on to it.

use delaylab_os::files::folder::Folder;

use crate::link::data::sender_limits::Agents;
use crate::protocol::links::EngineLinks;
use crate::session::Serve;

/// The task of an engine.
#[derive(Clone, Copy)]
pub(crate) struct EngineTask<'a> {
    /// The agent's name.
    pub name: &'a str,
    pub links: &'a EngineLinks,
    /// The CPUs of the forwarding thread; `None` for any.
    pub cpus: Option<&'a [usize]>,
    /// The agents that hold the nodes' own interfaces.
    pub agents: &'a Agents,
    /// The lab's run directory.
    pub place: &'a Folder,
    /// The server of the agent's sessions.
    pub serve: Serve,
}
