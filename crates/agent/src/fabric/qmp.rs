//! A client of the QEMU Machine Protocol (docs/interop/qmp-spec.rst in QEMU).

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// The name of QMP's socket in a guest's folder; only QEMU guests have it.
const SOCKET: &str = "qmp.sock";
/// The time limit for an answer. QEMU answers at once unless it hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to the QEMU of a guest.
pub struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// Connect to the QEMU of the guest with this folder.
    pub fn connect(folder: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(folder.join(SOCKET))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut qmp = Self { stream: BufReader::new(stream) };
        qmp.read()?;
        qmp.ask("qmp_capabilities")?;
        Ok(qmp)
    }

    /// Return the state of the machine, such as `running` or `internal-error`.
    pub fn status(&mut self) -> io::Result<String> {
        let status = self.ask("query-status")?;
        status["status"].as_str().map(str::to_owned).ok_or_else(|| odd(&status))
    }

    /// Return the number and the thread id of each virtual CPU.
    pub fn cpu_threads(&mut self) -> io::Result<Vec<(usize, i32)>> {
        let cpus = self.ask("query-cpus-fast")?;
        let one = |cpu: &Value| {
            let thread = i32::try_from(cpu["thread-id"].as_i64()?).ok()?;
            Some((usize::try_from(cpu["cpu-index"].as_u64()?).ok()?, thread))
        };
        let all = cpus.as_array().and_then(|cpus| cpus.iter().map(one).collect());
        all.ok_or_else(|| odd(&cpus))
    }

    fn ask(&mut self, command: &str) -> io::Result<Value> {
        let request = json!({"execute": command}).to_string() + "\n";
        self.stream.get_mut().write_all(request.as_bytes())?;
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
        if self.stream.read_line(&mut line)? == 0 {
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
    use std::os::unix::net::UnixListener;

    #[test]
    fn events_are_passed_over_and_errors_are_told() {
        let folder = std::env::temp_dir().join(format!("delaylab-qmp-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(SOCKET)).unwrap();
        let qemu = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut requests = BufReader::new(stream.try_clone().unwrap()).lines();
            stream.write_all(b"{\"QMP\": {}}\n").unwrap();
            for answer in [
                "{\"return\": {}}\n",
                "{\"event\": \"RESUME\"}\n{\"return\": {\"status\": \"running\"}}\n",
                "{\"return\": [{\"cpu-index\": 1, \"thread-id\": 77}]}\n",
                "{\"error\": {\"desc\": \"no\"}}\n",
            ] {
                requests.next().unwrap().unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut qmp = Qmp::connect(&folder).unwrap();
        assert_eq!(qmp.status().unwrap(), "running");
        assert_eq!(qmp.cpu_threads().unwrap(), [(1, 77)]);
        assert!(qmp.status().unwrap_err().to_string().contains("no"));
        qemu.join().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
