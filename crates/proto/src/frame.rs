//! The frame format: `[payload length: u32 LE][channel: u16 LE][kind: u8][payload]`.

use std::io::{self, Read, Write};

/// The largest payload that is accepted: 64 MiB.
pub const MAX_PAYLOAD: u32 = 64 << 20;
const HEADER: usize = 7;
/// The capacity reserved for a payload before it arrives: 64 KiB.
const FIRST: usize = 64 << 10;

/// The kind of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// One JSON object: a request, an order to a running request, or a [`crate::Reply`].
    Message = 0,
    /// One table of a result, or a part of one ([`crate::Table`]).
    Table = 1,
    /// Bytes for a command's standard input; an empty payload closes it.
    Stdin = 2,
    /// Bytes from a command's standard output.
    Stdout = 3,
    /// Bytes from a command's standard error.
    Stderr = 4,
    /// The end of a channel on a stream with many channels: this side has finished with it. The payload is
    /// empty. The channel is free once both sides have sent a `Close`.
    Close = 5,
}

impl TryFrom<u8> for Kind {
    type Error = FrameError;

    fn try_from(byte: u8) -> Result<Self, FrameError> {
        Ok(match byte {
            0 => Self::Message,
            1 => Self::Table,
            2 => Self::Stdin,
            3 => Self::Stdout,
            4 => Self::Stderr,
            5 => Self::Close,
            other => return Err(FrameError::UnknownKind(other)),
        })
    }
}

/// One frame of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The request's number on a stream that several requests share; 0 where each has a stream of its own.
    pub channel: u16,
    /// The kind of the payload.
    pub kind: Kind,
    /// The payload, at most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Build a frame on channel 0.
    pub fn new(kind: Kind, payload: impl Into<Vec<u8>>) -> Self {
        Self { channel: 0, kind, payload: payload.into() }
    }
}

/// A reason why bytes are not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream failed, or ended inside a frame.
    #[error("stream: {0}")]
    Io(#[from] io::Error),
    /// The kind byte is not one that this version knows.
    #[error("unknown frame kind {0}")]
    UnknownKind(u8),
    /// The length field exceeds [`MAX_PAYLOAD`]: the peer does not speak this protocol.
    #[error("frame of {0} bytes is over the limit of {MAX_PAYLOAD}")]
    TooLong(u32),
}

/// Read one frame. Return `None` if the stream ended before its first byte.
pub fn read_frame(stream: &mut impl Read) -> Result<Option<Frame>, FrameError> {
    let mut header = [0u8; HEADER];
    let mut have = 0;
    while have < HEADER {
        match stream.read(&mut header[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (length, channel, kind) = fields(&header)?;
    // Allocate for the bytes that arrive, not for the length that the header claims.
    let mut payload = Vec::with_capacity(length.min(FIRST));
    if stream.take(length as u64).read_to_end(&mut payload)? < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(Frame { channel, kind, payload }))
}

/// Return a header's payload length, channel and kind. Fail on values that [`Frame`] cannot hold.
fn fields(header: &[u8; HEADER]) -> Result<(usize, u16, Kind), FrameError> {
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    if length > MAX_PAYLOAD {
        return Err(FrameError::TooLong(length));
    }
    let channel = u16::from_le_bytes([header[4], header[5]]);
    Ok((length as usize, channel, Kind::try_from(header[6])?))
}

/// Parse the frame at the start of `bytes`. Return it with its length in bytes, or `None` if it is
/// incomplete.
pub fn split_frame(bytes: &[u8]) -> Result<Option<(Frame, usize)>, FrameError> {
    let Some(header) = bytes.first_chunk() else { return Ok(None) };
    // Reject an invalid header now instead of once the payload has arrived.
    let (length, channel, kind) = fields(header)?;
    let whole = HEADER + length;
    Ok(bytes.get(HEADER..whole).map(|payload| {
        let payload = payload.to_vec();
        (Frame { channel, kind, payload }, whole)
    }))
}

/// Write one frame in a single `write_all`, so that writers who share a stream under a lock never interleave.
pub fn write_frame(stream: &mut impl Write, frame: &Frame) -> Result<(), FrameError> {
    let length = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX);
    if length > MAX_PAYLOAD {
        return Err(FrameError::TooLong(length));
    }
    let mut bytes = Vec::with_capacity(HEADER + frame.payload.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&frame.channel.to_le_bytes());
    bytes.push(frame.kind as u8);
    bytes.extend_from_slice(&frame.payload);
    stream.write_all(&bytes)?;
    Ok(stream.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_frame() -> impl Strategy<Value = Frame> {
        (any::<u16>(), 0u8..6, proptest::collection::vec(any::<u8>(), 0..300)).prop_map(
            |(channel, kind, payload)| Frame {
                channel,
                kind: Kind::try_from(kind).expect("0..6 are kinds"),
                payload,
            },
        )
    }

    proptest! {
        #[test]
        fn frames_round_trip(frames in proptest::collection::vec(any_frame(), 0..8)) {
            let mut bytes = Vec::new();
            for frame in &frames {
                write_frame(&mut bytes, frame).unwrap();
            }
            let mut rest = bytes.as_slice();
            for frame in frames {
                prop_assert!(split_frame(&rest[..rest.len().min(HEADER - 1)]).unwrap().is_none());
                let (split, length) = split_frame(rest).unwrap().unwrap();
                prop_assert_eq!(&split, &frame);
                prop_assert!(split_frame(&rest[..length - 1]).unwrap().is_none());
                prop_assert_eq!(read_frame(&mut rest).unwrap(), Some(frame));
            }
            prop_assert!(read_frame(&mut rest).unwrap().is_none());
        }

        #[test]
        fn any_bytes_are_a_frame_an_end_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut rest = bytes.as_slice();
            while let Ok(Some(_)) = read_frame(&mut rest) {}
        }
    }

    #[test]
    fn a_frame_is_these_bytes() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Frame { channel: 258, kind: Kind::Stdout, payload: b"hi".into() })
            .unwrap();
        assert_eq!(bytes, b"\x02\0\0\0\x02\x01\x03hi");
    }

    #[test]
    fn a_header_of_no_frame_is_refused_before_its_payload_comes() {
        let unknown = split_frame(b"\x02\0\0\0\0\0\x06");
        assert!(matches!(unknown, Err(FrameError::UnknownKind(6))));
        let long = split_frame(b"\xff\xff\xff\xff\0\0\0");
        assert!(matches!(long, Err(FrameError::TooLong(u32::MAX))));
    }

    #[test]
    fn an_end_inside_a_frame_is_an_error() {
        assert!(matches!(read_frame(&mut &b"\x02\0\0"[..]), Err(FrameError::Io(_))));
        assert!(matches!(read_frame(&mut &b"\x02\0\0\0\0\0\x03h"[..]), Err(FrameError::Io(_))));
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_anything_is_allocated() {
        let bytes = b"\xff\xff\xff\xff\0\0\0";
        assert!(matches!(read_frame(&mut &bytes[..]), Err(FrameError::TooLong(u32::MAX))));
    }
}
