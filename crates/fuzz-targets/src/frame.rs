//! Target `frame`: any bytes are frames of the protocol, an end or an error.

use crate::outcome::Outcome;
use delaylab_proto::{Frame, FrameError, Kind, Reply, read_frame, split_frame, write_frame};
use std::io::{self, Read};

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
