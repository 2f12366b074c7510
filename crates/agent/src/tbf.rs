//! The options of a token bucket filter (linux/pkt_sched.h, `tc_tbf_qopt`).

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// What a token bucket lets pass.
pub struct Bucket {
    pub bytes_per_second: u64,
    /// What counts of every frame beside its bytes, and the least that one counts.
    pub overhead: u16,
    pub minimum: u16,
    /// What may leave at once.
    pub burst_bytes: u32,
    /// What may wait.
    pub limit_bytes: u32,
}

impl Bucket {
    /// Kinds of attributes and their values.
    pub fn options(&self) -> [(u16, Vec<u8>); 3] {
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate. With a link layer
        // that is known, the kernel computes times itself and wants no rate table.
        let rate32 = u32::try_from(self.bytes_per_second).unwrap_or(u32::MAX);
        let mut parameters = vec![0, TC_LINKLAYER_ETHERNET];
        parameters.extend(self.overhead.to_ne_bytes());
        parameters.extend([0; 2]);
        parameters.extend(self.minimum.to_ne_bytes());
        parameters.extend(rate32.to_ne_bytes());
        // peakrate (none), limit, buffer and mtu (given as TCA_TBF_BURST instead).
        parameters.extend([0; 12]);
        parameters.extend(self.limit_bytes.to_ne_bytes());
        parameters.extend([0; 8]);
        [
            (TCA_TBF_PARMS, parameters),
            (TCA_TBF_RATE64, self.bytes_per_second.to_ne_bytes().into()),
            (TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().into()),
        ]
    }
}
