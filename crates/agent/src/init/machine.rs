//! The first process of a virtual machine. All sessions share one stream to its monitor.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use delaylab_os::files::{descriptor, folder, terminal};
use delaylab_os::{kernel, process};
use delaylab_proto::{Context, Failure, Frame, Kind, Reply};

use super::{modules, root, surroundings};
use crate::protocol::running::Event;
use crate::session::line::Line;
use crate::session::mux::{self, Mux};
use crate::session::{Serve, listen};

const VIRTIO: &str = "virtio:";
/// The prefix of a hypervisor's console, whose input is escaped.
const CONSOLE: &str = "/dev/hvc";
/// The prefix of a serial line. User-Mode Linux's hangs for good once its buffer of 4096 bytes has been full
/// (drivers/tty/n_tty.c; arch/um/drivers/line.c never resumes after it throttles).
const SERIAL: &str = "/dev/ttyS";
const SERIAL_WINDOW: u64 = 2048;
/// The steps before any session is served, in this order.
pub(super) struct Start<'a> {
    /// The kernel modules to load.
    pub modules: &'a [String],
    /// The disk whose file system becomes the root.
    pub root: Option<&'a Path>,
    /// The disk that is mounted at `/var/tmp`.
    pub scratch: Option<&'a Path>,
    /// The program to run to its end.
    pub before: Option<&'a Path>,
}

/// Serve sessions until the stream ends, then switch the machine off.
pub(super) fn live(stream: &str, start: &Start, serve: Serve) -> Result<(), Failure> {
    let served = run(stream, start, serve);
    if let Err(failure) = &served {
        // Write to the console, where a user looks when a machine does not answer.
        eprintln!("delaylab-agent: {failure}");
    }
    kernel::power_off().context("switch the machine off")?;
    served
}

fn run(stream: &str, start: &Start, serve: Serve) -> Result<(), Failure> {
    surroundings::prepare()?;
    modules::load(start.modules)?;
    start.root.map_or(Ok(()), root::enter)?;
    start.scratch.map_or(Ok(()), root::mount_scratch)?;
    start.before.map_or(Ok(()), run_program)?;
    process::reap_by_kernel().context("prepare the process")?;
    let what = || format!("open {stream}");
    let device = match stream.strip_prefix(VIRTIO) {
        Some(name) => folder::wait_in(Path::new("/dev"), || port(name)).with_context(what)?,
        None => PathBuf::from(stream),
    };
    let is_console = stream.starts_with(CONSOLE);
    let line = File::options().read(true).write(true).open(device).with_context(what)?;
    terminal::make_raw(&line).with_context(what)?;
    let line = Line::of(OwnedFd::from(line)).with_context(what)?;
    let mut mux = Mux::on(if is_console { line.unescaping() } else { line });
    let is_serial = stream.starts_with(SERIAL);
    let window = is_serial.then_some(SERIAL_WINDOW);
    let ready = serde_json::to_vec(&Reply::<_, ()>::Event(Event::Machine { ready: true, window }));
    let ready = ready.context("say that the machine is ready")?;
    mux.send(&Frame::new(Kind::Message, ready))?;
    loop {
        let turn = mux.turn(&[], None)?;
        if is_serial && turn.read > 0 {
            mux.send(&mux::tell_read(turn.read))?;
        }
        for frame in turn.new {
            // Several frames may have come at once for one new session.
            let known = mux.has(frame.channel);
            if frame.kind == Kind::Close && !known {
                // The monitor waits for it before it uses the channel again.
                mux.send(&mux::closing_of(frame.channel))?;
                continue;
            }
            if !known {
                begin(&mut mux, frame.channel, serve)?;
            }
            mux.deliver(&frame)?;
        }
        if turn.ended {
            return Ok(());
        }
    }
}

/// Start a session on a channel. Report a failure to start it on that channel.
fn begin(mux: &mut Mux, channel: u16, serve: Serve) -> Result<(), Failure> {
    let joined = descriptor::stream_pair().and_then(|(ours, theirs)| {
        mux.join(channel, ours)?;
        Ok(theirs)
    });
    match joined {
        Ok(theirs) => drop(listen::start(theirs, None, serve)),
        Err(error) => mux.refuse(channel, &listen::cannot_start(&error))?,
    }
    Ok(())
}

/// Run a program to its end; its output goes to the console.
fn run_program(program: &Path) -> Result<(), Failure> {
    let what = || format!("run {}", program.display());
    let status = Command::new(program).status().with_context(what)?;
    if status.success() { Ok(()) } else { Err(Failure::new(what(), status)) }
}

/// Find the device of the virtio port with this name. There is no udev to link it by name.
fn port(name: &str) -> Option<PathBuf> {
    fs::read_dir("/sys/class/virtio-ports").ok()?.flatten().find_map(|entry| {
        let found = fs::read_to_string(entry.path().join("name")).ok()?;
        let device = Path::new("/dev").join(entry.file_name());
        (found.trim() == name && device.exists()).then_some(device)
    })
}
