//! Controlled delay (CoDel): the state and the control law of RFC 8289, section 5.

/// The parameters of [`crate::Discipline::Codel`].
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) target_ns: i64,
    pub(crate) interval_ns: i64,
}

/// The length of a full frame in bytes. A queue that holds no more is never too long.
const FULL_FRAME: u64 = 1514;

/// The state of the discipline.
#[derive(Default)]
pub(crate) struct Codel {
    /// The time at which the waiting time will have been above the target for one interval.
    first_above_ns: Option<i64>,
    dropping: bool,
    drop_next_ns: i64,
    count: u64,
    last_count: u64,
}

impl Codel {
    /// Return the frame that leaves at `now_ns`. `take` removes the next frame from the queue and returns it
    /// with its waiting time and the bytes left in the queue; `drop` receives dropped frames.
    pub(crate) fn next<F>(
        &mut self,
        target: Target,
        now_ns: i64,
        mut take: impl FnMut() -> Option<(F, i64, u64)>,
        mut drop: impl FnMut(F),
    ) -> Option<F> {
        let (mut frame, mut may_drop) = self.judge(target, now_ns, take());
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now_ns >= self.drop_next_ns {
                frame.map(&mut drop);
                self.count += 1;
                (frame, may_drop) = self.judge(target, now_ns, take());
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next_ns += target.wait_ns(self.count);
                }
            }
        } else if may_drop {
            frame.map(&mut drop);
            (frame, _) = self.judge(target, now_ns, take());
            self.begin(target, now_ns);
        }
        frame
    }

    /// Return the frame, and true if frames have waited too long for a whole interval.
    fn judge<F>(
        &mut self,
        target: Target,
        now_ns: i64,
        taken: Option<(F, i64, u64)>,
    ) -> (Option<F>, bool) {
        let Some((frame, waited_ns, left)) = taken else {
            self.first_above_ns = None;
            return (None, false);
        };
        if waited_ns < target.target_ns || left <= FULL_FRAME {
            self.first_above_ns = None;
            return (Some(frame), false);
        }
        let since = *self.first_above_ns.get_or_insert(now_ns + target.interval_ns);
        (Some(frame), now_ns >= since)
    }

    /// Enter the dropping state. Resume the former drop rate if the last dropping state ended recently.
    fn begin(&mut self, target: Target, now_ns: i64) {
        self.dropping = true;
        let more = self.count - self.last_count;
        let recent = now_ns - self.drop_next_ns < 16 * target.interval_ns;
        self.count = if more > 1 && recent { more } else { 1 };
        self.drop_next_ns = now_ns + target.wait_ns(self.count);
        self.last_count = self.count;
    }
}

impl Target {
    /// Return the time to the next drop, by the control law.
    fn wait_ns(self, count: u64) -> i64 {
        (self.interval_ns as f64 / libm::sqrt(count as f64)) as i64
    }
}
