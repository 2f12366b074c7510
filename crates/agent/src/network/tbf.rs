//! Token bucket filters (tc-tbf(8)) as root qdiscs of interfaces, in the format of rtnetlink(7).

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// The parameters of a token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// The rate in bits per second; the kernel counts in bytes, rounded up.
    pub rate_bps: u64,
    /// The bytes added to every frame, and the least bytes that a frame counts.
    pub overhead_bytes: u16,
    pub minimum_bytes: u16,
    /// The bytes that may leave at once after a pause.
    pub burst_bytes: u32,
    /// The bytes that may wait, from the Ethernet headers on.
    pub limit_bytes: u32,
}

impl Bucket {
    /// Return the kinds and values of the netlink options (linux/pkt_sched.h, `tc_tbf_qopt`).
    pub(crate) fn options(&self) -> [(u16, Vec<u8>); 3] {
        let bytes_per_second = self.rate_bps.div_ceil(8);
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate. If the link layer is
        // known the kernel computes times itself and needs no rate table.
        let rate32 = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        let mut parameters = vec![0, TC_LINKLAYER_ETHERNET];
        parameters.extend(self.overhead_bytes.to_ne_bytes());
        parameters.extend([0; 2]);
        parameters.extend(self.minimum_bytes.to_ne_bytes());
        parameters.extend(rate32.to_ne_bytes());
        // peakrate (none), limit, buffer and mtu (set by TCA_TBF_BURST instead).
        parameters.extend([0; 12]);
        parameters.extend(self.limit_bytes.to_ne_bytes());
        parameters.extend([0; 8]);
        [
            (TCA_TBF_PARMS, parameters),
            (TCA_TBF_RATE64, bytes_per_second.to_ne_bytes().into()),
            (TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().into()),
        ]
    }

    /// Return the message that sets the bucket as the root qdisc of an interface.
    pub(crate) fn of_interface(&self, index: u32) -> TcMessage {
        let option = |(kind, value)| TcOption::Other(DefaultNla::new(kind, value));
        let mut message = TcMessage::with_index(index.cast_signed());
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![
            TcAttribute::Kind("tbf".into()),
            TcAttribute::Options(self.options().map(option).into()),
        ];
        message
    }
}
