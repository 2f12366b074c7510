//! Target `frame`: any bytes are frames of the protocol, an end or an error.

use std::io::{self, Read};

use delaylab_proto::{
    Failure, Frame, FrameError, Kind, Reply, read_frame, split_frame, write_frame,
};
use serde_json::{Map, Value};

use crate::Outcome;
use crate::mutate::{Field, Random, Seed};

/// The length of a frame's header in bytes, from its description in `docs/protocol.md`.
const HEADER: usize = 7;
/// The longest payload in bytes, from the same description.
const LONGEST: u32 = 64 << 20;

/// Read a stream of frames. Accept it if it ends behind a frame and all messages are answers.
pub fn run(bytes: &[u8]) -> Outcome {
    let mut rest = bytes;
    let mut dribble = Dribble { bytes, calls: 0 };
    let mut message = Ok(());
    let mut read = 0;
    loop {
        let begin = rest;
        let split = split_frame(rest);
        let next = read_frame(&mut rest);
        agree(&next, &read_frame(&mut dribble));
        let frame = match next {
            Ok(Some(frame)) => frame,
            refused => {
                not_split(split, &refused);
                return end(begin, refused, read).and(message);
            }
        };
        let end = bytes.len() - rest.len();
        let (same, length) = split.expect("no error").expect("a whole frame");
        assert_eq!((&same, length), (&frame, end - read), "split and read differ");
        assert_eq!(dribble.bytes.len(), rest.len(), "a slow stream is read further");
        assert_eq!(length, HEADER + frame.payload.len());
        partial(&bytes[read..end]);
        let mut written = Vec::new();
        write_frame(&mut written, &frame).expect("what was read is within the limits");
        assert_eq!(written, &bytes[read..end], "written otherwise than read");
        if frame.kind == Kind::Message {
            message = message.and(answer(&frame.payload));
        }
        read = end;
    }
}

/// Assert that an incomplete frame is waited for, wherever it is cut.
fn partial(frame: &[u8]) {
    for end in [0, HEADER - 1, HEADER, frame.len() - 1] {
        if end < frame.len() {
            assert!(matches!(split_frame(&frame[..end]), Ok(None)), "{end} bytes are a frame");
        }
    }
}

/// Assert that an answer stays the same when it is written and read again.
fn answer(payload: &[u8]) -> Outcome {
    let reply: Reply =
        serde_json::from_slice(payload).map_err(|_| "message is no answer".to_owned())?;
    let written = serde_json::to_vec(&reply).expect("an answer is JSON");
    let again: Reply = serde_json::from_slice(&written).expect("what was written is read");
    assert_eq!(again, reply, "answer changed");
    Ok(())
}

type Next = Result<Option<Frame>, FrameError>;

/// Assert that a stream that returns its bytes one by one gives the same result.
fn agree(at_once: &Next, slowly: &Next) {
    match (at_once, slowly) {
        (Ok(one), Ok(other)) => assert_eq!(one, other),
        (one, other) => assert_eq!(format!("{one:?}"), format!("{other:?}")),
    }
}

/// Assert that the splitter rejects or waits for what the reader does not accept.
fn not_split(split: Result<Option<(Frame, usize)>, FrameError>, read: &Next) {
    match (split, read) {
        (Ok(None), Ok(None) | Err(FrameError::Io(_))) => {}
        (Err(FrameError::UnknownKind(one)), Err(FrameError::UnknownKind(other))) => {
            assert_eq!(one, *other);
        }
        (Err(FrameError::TooLong(one)), Err(FrameError::TooLong(other))) => assert_eq!(one, *other),
        (split, read) => panic!("split gives {split:?}, read {read:?}"),
    }
}

/// Assert that the reason fits the bytes that are not a frame, and return it.
fn end(bytes: &[u8], refused: Next, read: usize) -> Outcome {
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        return match refused {
            Ok(_) if bytes.is_empty() && read > 0 => Ok(()),
            Ok(_) if bytes.is_empty() => Err("no bytes".into()),
            Err(FrameError::Io(error)) if !bytes.is_empty() => Err(inside_a_frame(&error)),
            other => panic!("{bytes:02x?} are {other:?}"),
        };
    };
    let [length @ .., _, _, kind] = header;
    let length = u32::from_le_bytes(*length);
    Err(match refused {
        Err(FrameError::TooLong(long)) if long == length && length > LONGEST => "too long".into(),
        _ if length > LONGEST => panic!("{length} bytes are not too long"),
        Err(FrameError::UnknownKind(other)) if other == *kind && *kind > 5 => "unknown kind".into(),
        Err(FrameError::Io(error)) if bytes.len() - HEADER < length as usize => {
            inside_a_frame(&error)
        }
        other => panic!("{header:02x?} begins {other:?}"),
    })
}

fn inside_a_frame(error: &io::Error) -> String {
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    "end inside a frame".into()
}

/// A stream that returns a few bytes at a time and is interrupted now and then.
struct Dribble<'a> {
    bytes: &'a [u8],
    calls: usize,
}

impl Read for Dribble<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // Return more with every call, or a long payload would need a call per byte.
        let count = to.len().min(self.calls);
        self.bytes.read(&mut to[..count])
    }
}

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
