//! Queueing disciplines that drop before the queue is full.

mod common;

use common::{Kept, MS, S, evenly, run};
use delaylab_link::{Delivery, Reason};
use serde_json::{Value, json};

const INTERVAL: i64 = 100 * MS;
/// The transmission time of a full frame at 10 Mbit/s, in ns.
const FRAME: i64 = 1_230_400;

/// Build a link of 10 Mbit/s with this discipline and ample room.
fn asked(discipline: Value) -> Value {
    json!({"rate": {"bps": 10_000_000}, "queue": {"packets": 100_000, "discipline": discipline}})
}

/// Return the time of each drop: that at which the next passed frame began to leave.
fn drop_times(kept: &Kept) -> Vec<i64> {
    let passed_after =
        |frame: u64| kept.delivered.iter().find(|d: &&Delivery<u64>| d.frame > frame);
    kept.dropped.iter().map(|dropped| passed_after(dropped.0).unwrap().due_ns - FRAME).collect()
}

#[test]
fn codel_leaves_a_short_queue_alone() {
    // Bursts of ten wait for up to 11 ms, but not for a whole interval.
    let arrivals: Vec<_> = (0..1000).map(|i| (i / 10 * 20 * MS, 1514)).collect();
    let kept = run(&asked(json!({"kind": "codel"})), 1, &arrivals);
    assert_eq!(kept.delivered.len(), 1000);
}

#[test]
fn codel_drops_by_its_law() {
    let kept = run(&asked(json!({"kind": "codel"})), 1, &evenly(3000, 0, 1514));
    let times = drop_times(&kept);
    // The first frame that waited 5 ms begins to leave after four, at most five others.
    let first_above = 5 * FRAME;
    assert!((times[0] - first_above - INTERVAL).abs() <= FRAME, "{}", times[0]);
    // From then on an interval over the square root of the count passes between drops.
    let mut expected = times[0] as f64;
    for (count, time) in (1..).zip(&times[1..20]) {
        expected += INTERVAL as f64 / f64::from(count).sqrt();
        assert!((*time as f64 - expected).abs() <= FRAME as f64, "{count}: {time} {expected}");
    }
    assert!(kept.dropped.iter().all(|dropped| dropped.1 == Reason::Early));
    // A queue of a frame or less is never too long.
    assert_eq!(kept.delivered.last().unwrap().frame, 2999);
}

#[test]
fn codel_goes_on_at_its_pace_when_the_queue_soon_grows_again() {
    // Floods, with a pause between them in which the queue empties.
    const FLOOD: i64 = 1500;
    let drops = |pause: i64| {
        let arrivals: Vec<_> = (0..3 * FLOOD).map(|i| (i / FLOOD * pause, 1514)).collect();
        let kept = run(&asked(json!({"kind": "codel"})), 1, &arrivals);
        let mut drops = [vec![], vec![], vec![]];
        for (dropped, time) in kept.dropped.iter().zip(drop_times(&kept)) {
            drops[(dropped.0 / FLOOD as u64) as usize].push(time);
        }
        drops
    };
    let late = drops(20 * S);
    assert_eq!(late[1].len(), late[0].len(), "after long rest all is as at first");

    let soon = drops(2 * S);
    for (before, after) in [(&soon[0], &soon[1]), (&soon[1], &soon[2])] {
        let reached = before.len() - 1;
        let expected: f64 = (0..20).map(|k| INTERVAL as f64 / ((reached + k) as f64).sqrt()).sum();
        let found = (after[20] - after[0]) as f64;
        assert!((found - expected).abs() <= FRAME as f64, "{found} {expected}");
    }
}

#[test]
fn codel_holds_an_elastic_load_near_its_target() {
    // A window that grows by one frame per round trip and halves after a drop, an outline of TCP.
    for (discipline, least, most) in
        [(json!({"kind": "codel"}), MS, 15 * MS), (json!({"kind": "droptail"}), 100 * MS, S)]
    {
        let waited = mean_wait_of_a_window(&asked(discipline));
        assert!((least..most).contains(&waited), "{waited}");
    }
}

/// Return the mean waiting time of a frame for one sender, 40 ms away, that adapts its window.
fn mean_wait_of_a_window(asked: &Value) -> i64 {
    const FARTHEST: f64 = 500.0;
    let mut pipe = delaylab_link::Pipe::new(common::conditions(asked), 1, 0);
    let mut kept = Kept::default();
    let mut arrivals = vec![];
    let (mut window, mut acknowledged, mut recovered) = (10.0f64, 0, 0);
    for now in (0..60 * S).step_by(MS as usize) {
        pipe.advance(now, &mut kept);
        let before = acknowledged;
        acknowledged = kept.delivered.partition_point(|d| d.due_ns + 40 * MS <= now);
        window = (window + (acknowledged - before) as f64 / window).min(FARTHEST);
        if kept.dropped.last().is_some_and(|dropped| dropped.0 >= recovered) {
            window = (window / 2.0).max(2.0);
            recovered = arrivals.len() as u64;
        }
        while arrivals.len() < acknowledged + kept.dropped.len() + window as usize {
            pipe.offer(now, 1514, arrivals.len() as u64, &mut kept);
            arrivals.push((now, 1514));
        }
    }
    let delays = kept.delays(&arrivals);
    delays.iter().sum::<i64>() / delays.len() as i64 - FRAME
}

#[test]
fn red_drops_nothing_from_a_short_queue_and_all_from_a_long_one() {
    let red = json!({"kind": "red", "min_bytes": 15_140, "max_bytes": 45_420, "probability": 0.1,
                     "weight": 1.0});
    // With a weight of 1 the mean is the current queue. 11 frames enter below the lower limit: the one that
    // is leaving and ten that wait.
    let kept = run(&asked(red.clone()), 1, &evenly(11, 0, 1514));
    assert_eq!(kept.dropped.len(), 0);
    // Above the upper limit, with 30 waiting frames, none enters.
    let kept = run(&asked(red), 1, &evenly(1000, 0, 1514));
    assert_eq!(kept.delivered.len(), 31);
    assert_eq!(kept.dropped_for(Reason::Early), 969);
}

#[test]
fn red_spreads_its_drops_evenly() {
    // A queue of constant length: one frame arrives as one leaves. Half way between its limits a mean share
    // of 0.1 is dropped. Floyd and Jacobson make the distance between drops uniform over 1, …, 1 / 0.1
    // frames, so its mean is 5.5.
    let red = json!({"kind": "red", "min_bytes": 0, "max_bytes": 151_400, "probability": 0.2,
                     "weight": 0.001});
    let fill = evenly(51, 0, 1514);
    let count = 200_000;
    // As many more frames as are dropped keep the queue at its length.
    let steady = (1..count).map(|i| (i * FRAME * 45 / 55, 1514));
    let kept = run(&asked(red), 1, &fill.into_iter().chain(steady).collect::<Vec<_>>());
    let late: Vec<_> =
        kept.dropped.iter().map(|dropped| dropped.0).filter(|frame| *frame > 50_000).collect();
    let gaps: Vec<_> = late.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean - 5.5).abs() < 0.1, "{mean}");
    assert!(*gaps.iter().max().unwrap() <= 12);
}

#[test]
fn reds_mean_falls_while_the_link_is_idle() {
    // The first flood has just left by then.
    const SOON: i64 = 350 * MS;
    let red = json!({"kind": "red", "min_bytes": 30_280, "max_bytes": 3_000_000, "probability": 1.0,
                     "weight": 0.02});
    let flood: Vec<_> = evenly(300, 0, 1514);
    let again = |at: i64| flood.iter().map(move |frame| (frame.0 + at, frame.1));
    let dropped = |at: i64| {
        let arrivals: Vec<_> = flood.iter().copied().chain(again(at)).collect();
        let kept = run(&asked(red.clone()), 1, &arrivals);
        assert!(kept.delivered.iter().all(|d| d.frame >= 300 || d.due_ns < SOON));
        kept.dropped.iter().filter(|dropped| dropped.0 >= 300).count()
    };
    let (soon, late) = (dropped(SOON), dropped(10 * SOON));
    assert!(soon > late + 5, "{soon} {late}");
}
