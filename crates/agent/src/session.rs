//! The stream that a request came by, as the operation sees it.

use delaylab_proto::{Failure, Frame, Kind, Reply, read_frame, write_frame};
use serde_json::Value;
use std::io::{Stdin, Stdout};
use std::os::fd::{AsFd, BorrowedFd};

/// What the client may send while a request runs.
#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    Stop,
    Signal(i32),
    Stdin(Vec<u8>),
    Closed,
}

pub type Orders = Vec<Order>;

pub struct Session {
    input: Stdin,
    output: Stdout,
}

impl Session {
    pub fn stdio() -> Self {
        Self { input: std::io::stdin(), output: std::io::stdout() }
    }

    pub fn event(&mut self, value: Value) -> Result<(), Failure> {
        let payload = serde_json::to_vec(&Reply::Event(value))
            .map_err(|error| Failure::new("write event", error))?;
        self.frame(&Frame::new(Kind::Message, payload))
    }

    pub fn frame(&mut self, frame: &Frame) -> Result<(), Failure> {
        write_frame(&mut self.output, frame).map_err(|error| Failure::new("write frame", error))
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn orders(&mut self) -> Result<Orders, Failure> {
        let mut orders = Orders::new();
        loop {
            let fd = nix::poll::PollFd::new(self.input.as_fd(), nix::poll::PollFlags::POLLIN);
            if nix::poll::poll(&mut [fd], 0u8) != Ok(1) {
                return Ok(orders);
            }
            match read_frame(&mut self.input) {
                Ok(Some(frame)) if frame.kind == Kind::Message => {
                    let value: Value = serde_json::from_slice(&frame.payload)
                        .map_err(|error| Failure::new("read order", error))?;
                    if value["stop"] == true {
                        orders.push(Order::Stop);
                    }
                    if let Some(signal) = value["signal"].as_i64() {
                        orders.push(Order::Signal(signal as i32));
                    }
                }
                Ok(Some(frame)) => orders.push(Order::Stdin(frame.payload)),
                _ => {
                    orders.push(Order::Closed);
                    return Ok(orders);
                }
            }
        }
    }
}
