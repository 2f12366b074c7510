//! rtnetlink(7) messages that send an interface's frames through the queue of another one, an ifb, which returns them
//! once its queue releases them.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

const TCA_OPTIONS: u16 = 2;
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;
const TC_ACT_STOLEN: u32 = 4;
const TCA_EGRESS_REDIR: u32 = 1;
const TCA_HTB_INIT: u16 = 2;

/// The major number of the queue of [`leaving`].
const LEAVING: u16 = 1;
/// `ETH_P_ALL`, in network order.
const ALL: u32 = 3u16.to_be() as u32;

/// The hook of an interface at which its frames are redirected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Received frames, at the interface's `clsact` queue. A program that loses frames may be the first filter there.
    Received,
    /// Frames that leave, at the queue of [`leaving`].
    Leaving,
}

/// Redirect all frames that pass a hook of an interface to another interface's queue. That interface returns them
/// behind this hook (`tc_skip_classify`), so no frame passes twice.
pub(crate) fn redirect(index: u32, hook: Hook, to: u32) -> RouteNetlinkMessage {
    // struct tc_u32_sel: TC_U32_TERMINAL, and no keys, so that all frames match.
    let mut selector = [0; 16];
    selector[0] = 1;
    // struct tc_mirred: index, capab, action, refcnt, bindcnt; eaction, ifindex.
    let mirred = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to];
    let mirred: Vec<u8> = mirred.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let action = [
        attribute(TCA_ACT_KIND, b"mirred\0"),
        attribute(TCA_ACT_OPTIONS, &attribute(TCA_MIRRED_PARMS, &mirred)),
    ];
    let options = [
        attribute(TCA_U32_SEL, &selector),
        attribute(TCA_U32_ACT, &attribute(1, &action.concat())),
    ];
    let (parent, priority) = match hook {
        Hook::Received => (TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS }, 2),
        Hook::Leaving => (TcHandle { major: LEAVING, minor: 0 }, 1),
    };
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = parent;
    message.header.info = priority << 16 | ALL;
    message.attributes = vec![
        TcAttribute::Kind("u32".into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options.concat())),
    ];
    RouteNetlinkMessage::NewTrafficFilter(message)
}

/// Create the queue of an interface at whose filters leaving frames are redirected. It has no class (HTB), so what
/// comes back leaves at once. Unlike a `clsact` queue it is one to whoever asks whether frames may wait here: taps
/// then stamp frames as they leave, and not before they were redirected.
pub(crate) fn leaving(index: u32) -> RouteNetlinkMessage {
    // struct tc_htb_glob: version, rate2quantum, defcls, debug, direct_pkts.
    let global: Vec<u8> = [3u32, 10, 0, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle::ROOT;
    message.header.handle = TcHandle { major: LEAVING, minor: 0 };
    message.attributes = vec![
        TcAttribute::Kind("htb".into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, attribute(TCA_HTB_INIT, &global))),
    ];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

/// Format a netlink attribute, padded.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
