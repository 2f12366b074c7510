//! Controlled delay: the state and the law of RFC 8289, section 5.

/// The parameters, as in [`crate::Discipline::Codel`].
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) target_ns: i64,
    pub(crate) interval_ns: i64,
}

/// A full frame: a queue that holds no more is never too long.
const FULL_FRAME: u64 = 1514;

/// What the discipline remembers.
#[derive(Default)]
pub(crate) struct Codel {
    /// When the waiting time will have been above the target for an interval.
    first_above_ns: Option<i64>,
    dropping: bool,
    drop_next_ns: i64,
    count: u64,
    last_count: u64,
}

impl Codel {
    /// The frame that leaves at `now_ns`. `take` takes the next one from the queue and says how
    /// long it waited and how many bytes are left; `drop` gets those that are dropped.
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

    /// The frame, and whether it has waited too long for long enough.
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

    /// Begins to drop; soon after it last ended, at the pace it had then.
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
    /// The control law: the time to the next drop.
    fn wait_ns(self, count: u64) -> i64 {
        (self.interval_ns as f64 / libm::sqrt(count as f64)) as i64
    }
}
