//! Opportunities: times at which bytes may leave, as in mahimahi's traces.

/// The bytes before a packet: an Ethernet header here, four bytes of a tunnel in mahimahi.
const HEADER_BYTES: u32 = 14;
const TUNNEL_BYTES: u32 = 4;

/// A trace of opportunities, and the position within it.
pub(crate) struct Opportunities {
    epoch_ns: i64,
    at_ns: Vec<i64>,
    period_ns: i64,
    bytes: u32,
    /// The opportunity in use, counted from the epoch, and its remaining bytes.
    current: i64,
    left: u32,
}

impl Opportunities {
    pub(crate) fn new(epoch_ns: i64, at_ns: Vec<i64>, period_ns: i64, bytes: u32) -> Self {
        Opportunities { epoch_ns, at_ns, period_ns, bytes, current: -1, left: 0 }
    }

    /// Return the time at which a frame that arrives at `arrival_ns` can begin to leave.
    pub(crate) fn start_ns(&self, arrival_ns: i64) -> i64 {
        self.time_ns(self.usable(arrival_ns))
    }

    /// Send `times` copies of a frame that arrived at `arrival_ns`, and return the time at which the last
    /// byte leaves.
    pub(crate) fn serve(&mut self, arrival_ns: i64, frame_bytes: u32, times: f64) -> i64 {
        let opportunity = self.usable(arrival_ns);
        if opportunity != self.current {
            self.current = opportunity;
            self.left = self.bytes;
        }
        let packet = frame_bytes.saturating_sub(HEADER_BYTES) + TUNNEL_BYTES;
        let mut needed = (f64::from(packet) * times).ceil() as u64;
        while needed > u64::from(self.left) {
            needed -= u64::from(self.left);
            self.current += 1;
            self.left = self.bytes;
        }
        self.left -= needed as u32;
        self.time_ns(self.current)
    }

    /// Return the mean rate in bits per second.
    pub(crate) fn mean_bps(&self) -> u64 {
        let bits = self.at_ns.len() as u128 * u128::from(self.bytes) * 8;
        u64::try_from(bits * 1_000_000_000 / self.period_ns as u128).unwrap_or(u64::MAX)
    }

    /// Return the first opportunity at or after `at_ns` that has bytes left.
    fn usable(&self, at_ns: i64) -> i64 {
        self.first_from(at_ns).max(self.current + i64::from(self.left == 0))
    }

    fn first_from(&self, at_ns: i64) -> i64 {
        let since = at_ns - self.epoch_ns;
        // The end of a round belongs to it, not to the next one.
        let round = (since - 1).div_euclid(self.period_ns);
        let within = since - round * self.period_ns;
        let next = self.at_ns.partition_point(|&at| at < within);
        (round * self.at_ns.len() as i64 + next as i64).max(0)
    }

    fn time_ns(&self, opportunity: i64) -> i64 {
        let count = self.at_ns.len() as i64;
        let round = opportunity / count;
        self.epoch_ns + round * self.period_ns + self.at_ns[(opportunity % count) as usize]
    }
}
