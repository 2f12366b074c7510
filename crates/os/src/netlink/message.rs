//! Netlink messages as bytes (netlink(7)): requests to send, and the messages of a received datagram.

use netlink_packet_core::{
    Emitable, NLM_F_REQUEST, NLMSG_ALIGNTO, NetlinkBuffer, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NlaBuffer, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;

/// Serialize one request. `flags` are `NLM_F_…` beside `NLM_F_REQUEST`.
pub(super) fn request(message: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Split a datagram into its messages, up to the first that is malformed or cut.
pub(super) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = NetlinkBuffer<&[u8]>> {
    std::iter::from_fn(move || {
        let message = NetlinkBuffer::new_checked(datagram).ok()?;
        let length = (message.length() as usize).next_multiple_of(NLMSG_ALIGNTO.into());
        datagram = datagram.get(length..).unwrap_or_default();
        Some(message)
    })
}

/// Return the attributes of a message behind its family's header, up to the first that is malformed or cut.
pub(super) fn attributes<'a>(
    payload: &'a [u8],
    header: &impl Emitable,
) -> impl Iterator<Item = NlaBuffer<&'a [u8]>> {
    let behind = payload.get(header.buffer_len()..).unwrap_or_default();
    NlasIterator::new(behind).map_while(Result::ok)
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::NLM_F_DUMP;
    use netlink_packet_route::link::LinkMessage;
    use netlink_packet_route::tc::{TcHandle, TcMessage};

    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn requests_are_these_bytes() {
        let mut link = LinkMessage::default();
        link.header.index = 7;
        let kind = u32::from(libc::RTM_GETLINK);
        let expected = words(&[32, kind | 1 << 16, 0, 0, 0, 7, 0, 0]);
        assert_eq!(request(RouteNetlinkMessage::GetLink(link), 0), expected);

        let mut filters = TcMessage::with_index(7);
        filters.header.parent = TcHandle { major: u16::MAX, minor: TcHandle::MIN_INGRESS };
        let kind = u32::from(libc::RTM_GETTFILTER);
        let expected = words(&[36, kind | 0x301 << 16, 0, 0, 0, 7, 0, 0xffff_fff2, 0]);
        assert_eq!(request(RouteNetlinkMessage::GetTrafficFilter(filters), NLM_F_DUMP), expected);
    }
}
