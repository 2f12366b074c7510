//! The parts of labs by their network namespaces.

use std::collections::BTreeMap;
use std::fs;

use super::tasks::Origin;

/// The parts of labs that were looked up, by the inode numbers of their network namespaces.
#[derive(Default)]
pub(super) struct Namespaces(BTreeMap<u32, Origin>);

impl Namespaces {
    /// Look up the part of a lab that has each of these namespaces, unless that is known.
    pub(super) fn look_up(&mut self, namespaces: impl Iterator<Item = u32>) {
        for namespace in namespaces {
            self.0.entry(namespace).or_insert_with(|| place(namespace));
        }
    }

    /// Return the lab that a namespace is in, if it was looked up and is in one.
    pub(super) fn lab(&self, namespace: u32) -> Option<&str> {
        some(&self.0.get(&namespace)?.lab)
    }

    /// Return the part of a lab that has a namespace, such as `node.one`.
    pub(super) fn place(&self, namespace: u32) -> Option<&str> {
        some(&self.0.get(&namespace)?.place)
    }
}

/// Return the part of a lab that has a network namespace; an empty one if none has.
fn place(namespace: u32) -> Origin {
    let link = format!("net:[{namespace}]");
    let is_in = |process: &u32| {
        fs::read_link(format!("/proc/{process}/ns/net")).is_ok_and(|of| of.as_os_str() == &*link)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_in)
        .map(Origin::of)
        .find(|origin| !origin.place.is_empty())
        .unwrap_or_default()
}

/// Return a text, or `None` for an empty one.
pub(super) fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
