//! The frames that a cable can carry.

use delaylab_os::ring::frames::Passing;
use delaylab_wire::{ETHERNET_HEADER, VLAN_TAG};

/// Return the frame's length on a cable.
pub fn length(passing: &Passing) -> usize {
    passing.captured.original as usize + passing.vlan.map_or(0, |tag| tag.len())
}

/// Return true if a cable carries a frame of this length.
pub fn fits(passing: &Passing, longest: usize) -> bool {
    let data = passing.captured.data;
    let tagged = passing.vlan.is_some()
        || matches!(
            data.get(ETHERNET_HEADER - 2..ETHERNET_HEADER),
            Some([0x81, 0x00] | [0x88, 0xa8])
        );
    let longest = longest + if tagged { VLAN_TAG } else { 0 };
    let whole = passing.captured.original as usize == data.len();
    whole && (ETHERNET_HEADER..=longest).contains(&length(passing))
}
