//! A client of the QEMU Machine Protocol (docs/interop/qmp-spec.rst in QEMU), over a stream that QEMU gets at
//! its start.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit for each line of an answer. QEMU answers at once unless it hangs.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most bytes that are read from QEMU for one answer, which a guest may have taken over. It describes a virtual
/// CPU in 200.
const LONGEST: u64 = 1 << 20;

/// A connection to the QEMU of a guest.
pub(super) struct Qmp {
    answers: BufReader<io::Take<UnixStream>>,
    requests: UnixStream,
}

impl Qmp {
    /// Begin a session on `stream`, whose other end QEMU has. Blocks for up to 2 s.
    pub(super) fn begin(stream: OwnedFd) -> io::Result<Self> {
        let requests = UnixStream::from(stream);
        // The other stream is a second descriptor of the same socket, so these hold for both.
        requests.set_read_timeout(Some(PATIENCE))?;
        requests.set_write_timeout(Some(PATIENCE))?;
        let answers = BufReader::new(requests.try_clone()?.take(LONGEST));
        let mut qmp = Self { answers, requests };
        qmp.read()?;
        qmp.ask("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Return the state of the machine, such as `running` or `internal-error`.
    pub(super) fn status(&mut self) -> io::Result<String> {
        let status = self.ask("query-status")?;
        status["status"].as_str().map(str::to_owned).ok_or_else(|| odd(&status))
    }

    /// Take the carrier of a card, by the id of its other half in QEMU, or give it back.
    pub(super) fn set_link(&mut self, name: &str, up: bool) -> io::Result<()> {
        let arguments = json!({"name": name, "up": up});
        self.order(&json!({"execute": "set_link", "arguments": arguments})).map(drop)
    }

    /// Read and drop an event. Blocks unless there is one.
    pub(super) fn pass_over(&mut self) -> io::Result<()> {
        // A guest causes events as long as it lives; only each has to be short.
        self.answers.get_mut().set_limit(LONGEST);
        self.read().map(drop)
    }

    /// Return a descriptor that is readable when QEMU has sent something.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.requests.as_fd()
    }

    /// Return the number and the thread id of each virtual CPU.
    pub(super) fn cpu_threads(&mut self) -> io::Result<Vec<(usize, i32)>> {
        let cpus = self.ask("query-cpus-fast")?;
        let one = |cpu: &Value| {
            let thread = i32::try_from(cpu["thread-id"].as_i64()?).ok()?;
            Some((usize::try_from(cpu["cpu-index"].as_u64()?).ok()?, thread))
        };
        let all = cpus.as_array().and_then(|cpus| cpus.iter().map(one).collect());
        all.ok_or_else(|| odd(&cpus))
    }

    fn ask(&mut self, command: &str) -> io::Result<Value> {
        self.order(&json!({"execute": command}))
    }

    fn order(&mut self, order: &Value) -> io::Result<Value> {
        self.answers.get_mut().set_limit(LONGEST);
        self.requests.write_all((order.to_string() + "\n").as_bytes())?;
        loop {
            let mut answer = self.read()?;
            if let Some(returned) = answer.get_mut("return") {
                return Ok(returned.take());
            }
            // Events may precede the answer.
            if answer.get("error").is_some() {
                return Err(odd(&answer));
            }
        }
    }

    fn read(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

fn odd(answer: &Value) -> io::Error {
    io::Error::other(format!("QEMU answered {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_passed_over_and_errors_are_told() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let qemu = std::thread::spawn(move || {
            let mut requests = BufReader::new(theirs.try_clone().unwrap()).lines();
            theirs.write_all(b"{\"QMP\": {}}\n").unwrap();
            for answer in [
                "{\"return\": {}}\n",
                "{\"event\": \"RESUME\"}\n{\"return\": {\"status\": \"running\"}}\n",
                "{\"return\": [{\"cpu-index\": 1, \"thread-id\": 77}]}\n",
                "{\"error\": {\"desc\": \"no\"}}\n",
                "{\"return\": {}}\n",
            ] {
                requests.next().unwrap().unwrap();
                theirs.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut qmp = Qmp::begin(ours.into()).unwrap();
        assert_eq!(qmp.status().unwrap(), "running");
        assert_eq!(qmp.cpu_threads().unwrap(), [(1, 77)]);
        assert!(qmp.status().unwrap_err().to_string().contains("no"));
        qmp.set_link("n0", false).unwrap();
        qemu.join().unwrap();
    }

    #[test]
    fn events_may_come_for_ever() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let event = format!("{{\"event\": \"{}\"}}\n", "x".repeat(1 << 16));
        let count = usize::try_from(LONGEST).unwrap() / event.len() + 2;
        let qemu = std::thread::spawn(move || {
            theirs.write_all(b"{\"QMP\": {}}\n{\"return\": {}}\n").unwrap();
            (0..count).for_each(|_| theirs.write_all(event.as_bytes()).unwrap());
            theirs.write_all(b"{\"return\": {}}\n").unwrap();
            theirs
        });
        let mut qmp = Qmp::begin(ours.into()).unwrap();
        (0..count).for_each(|_| qmp.pass_over().unwrap());
        qmp.set_link("n0", true).unwrap();
        qemu.join().unwrap();
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let qemu = std::thread::spawn(move || {
            let mut sent = 0;
            while theirs.write_all(&[b'1'; 1 << 16]).is_ok() {
                sent += 1 << 16;
            }
            sent
        });
        let error = Qmp::begin(ours.into()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        // The rest lay in the socket's buffer.
        assert!(qemu.join().unwrap() < 3 * LONGEST);
    }
}
