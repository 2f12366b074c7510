//! Seeds for the target `frame`: streams of frames of every kind on many channels, with answers of an agent.

use super::seed::{Field, Seed};
use crate::random::Random;
use delaylab_proto::{Failure, Frame, Kind, Reply, write_frame};
use serde_json::{Map, Value};

/// Generate a stream of up to five frames. One stream in eight has a message that is no answer.
pub fn seed(random: &mut Random) -> Seed {
    let mut bytes = Vec::new();
    let mut lengths = Vec::new();
    let mut frames = Vec::new();
    for _ in 0..1 + random.below(5) {
        let kind = match random.below(8) {
            0 => Kind::Table,
            1 => Kind::Stdin,
            2 => Kind::Stdout,
            3 => Kind::Stderr,
            4 => Kind::Close,
            _ => Kind::Message,
        };
        frames.push((kind, payload(random, kind)));
    }
    let good = random.below(8) != 0;
    if !good {
        frames.push((Kind::Message, no_answer(random).into()));
    }
    for (kind, payload) in frames {
        lengths.push(Field { at: bytes.len(), width: 4, big_endian: false });
        let channel = random.pick(&[0, 1, 2, 0x00ff, 0xffff]);
        let frame = Frame { channel, kind, payload };
        write_frame(&mut bytes, &frame).expect("a short frame, into memory");
    }
    Seed { bytes, lengths, good }
}

fn payload(random: &mut Random, kind: Kind) -> Vec<u8> {
    let count = random.pick(&[0, 1, 7, 64, 500]);
    match kind {
        Kind::Message => serde_json::to_vec(&reply(random)).expect("a value is JSON"),
        Kind::Table => {
            let mut table = b"\x06stamps".to_vec();
            table.extend_from_slice(&random.bytes(count));
            table
        }
        Kind::Close => Vec::new(),
        Kind::Stdin | Kind::Stdout | Kind::Stderr => random.bytes(count),
    }
}

fn reply(random: &mut Random) -> Reply {
    match random.below(3) {
        0 => Reply::Event(value(random, 3)),
        1 => Reply::Done(value(random, 3)),
        _ => {
            let failure = Failure::new(text(random), text(random));
            Reply::Error(if random.chance(50) { failure.fix(text(random)) } else { failure })
        }
    }
}

/// Generate a JSON value, at most `depth` levels deep.
fn value(random: &mut Random, depth: usize) -> Value {
    let many = random.below(4);
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => Value::Bool(random.chance(50)),
        2 => Value::from(random.bits() as i64),
        // Any finite number, to its last bit.
        3 => Value::from(f64::from_bits(random.bits())),
        4 => Value::String(text(random)),
        5 => (0..many).map(|_| value(random, depth - 1)).collect(),
        _ => Value::Object(
            (0..many).map(|_| (text(random), value(random, depth - 1))).collect::<Map<_, _>>(),
        ),
    }
}

fn text(random: &mut Random) -> String {
    let choices = ["", "ready", "bind ICMP socket", "µs", "a\"\\\n\0b", "\u{1f600}", "packets"];
    random.pick(&choices).to_owned()
}

/// Return JSON that is no answer, or a message that is not JSON.
fn no_answer(random: &mut Random) -> &'static str {
    random.pick(&[r#"{"op":"hello"}"#, r#"{"stop":true}"#, r#"{"error":{"what":1}}"#, "[", ""])
}
