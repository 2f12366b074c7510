//! The carriers of nodes' ends of links: a node whose end is down sees none.
//!
//! A port that is down takes the carrier of its veth's other end. A card in a virtual machine does not see its port:
//! the machine's monitor or the agent inside is asked. Its port stays up, because the driver of User-Mode Linux sends
//! nothing more once a TAP device has refused a frame; the engine lets nothing pass.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use delaylab_link::LinkState;
use delaylab_os::files::folder::Folder;
use delaylab_proto::{Context, Failure};

use super::ports::set_ports;
use super::requests::{receive, send};
use crate::link::configured::ConfiguredConditions;
use crate::protocol::links::{EngineLinks, RemoteCard};
use crate::protocol::network::Carrier;
use crate::protocol::requests::Sent;

/// The time that a virtual machine has to answer. The supervisor has more patience.
const PATIENCE: Duration = Duration::from_secs(3);

/// A function that lets frames pass a port that stays up, or none.
pub(super) type Open = fn(&str, bool) -> Result<(), Failure>;

/// The carriers of all ends on a host, in the order of the directions.
pub(super) struct Carriers<'a> {
    remote: Vec<Option<&'a RemoteCard>>,
    place: &'a Folder,
    open: Open,
    /// The directions whose ends are down.
    down: BTreeSet<usize>,
    /// The reason why the carrier of a card in a virtual machine could not be set, by direction.
    refused: BTreeMap<usize, String>,
}

impl<'a> Carriers<'a> {
    /// Build the state in which all ends have a carrier.
    pub(super) fn new(links: &'a EngineLinks, place: &'a Folder, open: Open) -> Self {
        let remote = links.members().map(|(_, member)| member.carrier.as_ref()).collect();
        Self { remote, place, open, down: BTreeSet::new(), refused: BTreeMap::new() }
    }

    /// Take or give back the carriers as configured. A virtual machine that does not answer is noted: no frame
    /// passes its port in any case.
    pub(super) fn settle(&mut self, configured: &ConfiguredConditions) -> Result<(), Failure> {
        self.set(configured, Self::ask)
    }

    /// Take the carriers of those that are down from the start. Virtual machines still boot, and are asked by the
    /// next change.
    pub(super) fn begin(&mut self, configured: &ConfiguredConditions) -> Result<(), Failure> {
        self.set(configured, |_, _, _| Err(Failure::new("ask", "it has not started yet")))
    }

    fn set(
        &mut self,
        configured: &ConfiguredConditions,
        ask: impl Fn(&Self, &RemoteCard, bool) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let ends = configured.directions().iter().filter(|direction| !direction.receives);
        for (number, direction) in ends.enumerate() {
            let up = direction.state() != LinkState::Down;
            let as_before = up != self.down.contains(&number);
            if as_before && !self.refused.contains_key(&number) {
                continue;
            }
            match self.remote[number] {
                None => set_ports([direction.port.as_str()].into_iter(), up)?,
                Some(_) => (self.open)(&direction.port, up)?,
            }
            if up {
                self.down.remove(&number);
            } else {
                self.down.insert(number);
            }
            self.refused.remove(&number);
            let Some(card) = self.remote[number] else { continue };
            if let Err(failure) = ask(self, card, up) {
                let by = direction.node.as_ref().unwrap_or(&direction.port);
                let what = if up { "has its carrier back" } else { "has lost its carrier" };
                let why = format!("{by} was not told that its card {what}: {}", failure.why);
                self.refused.insert(number, why);
            }
        }
        Ok(())
    }

    /// Return notes on virtual machines that could not be told.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.refused.values().cloned()
    }

    fn ask(&self, card: &RemoteCard, up: bool) -> Result<(), Failure> {
        let what = || format!("ask {}", card.at);
        let stream = self.place.inside(|| UnixStream::connect(&card.at)).and_then(|stream| stream);
        let stream = stream.with_context(what)?;
        stream.set_read_timeout(Some(PATIENCE)).with_context(what)?;
        stream.set_write_timeout(Some(PATIENCE)).with_context(what)?;
        let mut stream = std::fs::File::from(std::os::fd::OwnedFd::from(stream));
        send(&mut stream, &Sent::from(&Carrier { on: card.on.clone(), up }))?;
        receive(&mut stream).map(drop)
    }
}
