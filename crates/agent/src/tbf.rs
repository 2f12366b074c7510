//! Token bucket filters as the root queue of interfaces (tc-tbf(8)), as rtnetlink(7) has them.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// What a filter lets through and keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Bits per second; the kernel's are bytes, the next more.
    pub rate_bps: u64,
    /// What counts as well for every frame, and the least that one counts.
    pub overhead_bytes: u16,
    pub minimum_bytes: u16,
    /// How much leaves at once after a pause.
    pub burst_bytes: u32,
    /// How much may wait, from the Ethernet headers on.
    pub limit_bytes: u32,
}

impl Bucket {
    /// The kinds and values of the options that say it (linux/pkt_sched.h, `tc_tbf_qopt`).
    pub fn options(&self) -> [(u16, Vec<u8>); 3] {
        let bytes_per_second = self.rate_bps.div_ceil(8);
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate. With a link layer
        // that is known, the kernel computes times itself and wants no rate table.
        let rate32 = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        let mut parameters = vec![0, TC_LINKLAYER_ETHERNET];
        parameters.extend(self.overhead_bytes.to_ne_bytes());
        parameters.extend([0; 2]);
        parameters.extend(self.minimum_bytes.to_ne_bytes());
        parameters.extend(rate32.to_ne_bytes());
        // peakrate (none), limit, buffer and mtu (given as TCA_TBF_BURST instead).
        parameters.extend([0; 12]);
        parameters.extend(self.limit_bytes.to_ne_bytes());
        parameters.extend([0; 8]);
        [
            (TCA_TBF_PARMS, parameters),
            (TCA_TBF_RATE64, bytes_per_second.to_ne_bytes().into()),
            (TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().into()),
        ]
    }

    /// It as the root queue of an interface.
    pub fn of_interface(&self, index: u32) -> TcMessage {
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
