//! The first process of a virtual machine: all sessions share one stream to its monitor.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use delaylab_os::{boot, mount, pipe, process};
use delaylab_proto::{Failure, Frame, Kind, Reply};
use serde_json::json;

use super::{ALONE, modules, root};
use crate::line::Line;
use crate::listen;
use crate::mux::{self, Mux};

const VIRTIO: &str = "virtio:";
/// A hypervisor's console, to which what comes is escaped.
const CONSOLE: &str = "/dev/hvc";
/// A serial line. That of User-Mode Linux stands still for good once its 4096 bytes of buffer have been full
/// (drivers/tty/n_tty.c; arch/um/drivers/line.c does not take up again what it then lets go of).
const SERIAL: &str = "/dev/ttyS";
const SERIAL_WINDOW: u64 = 2048;
pub const FILE_SYSTEMS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

/// What udev makes elsewhere.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// What to do before any session is served, in this order.
pub struct Start<'a> {
    /// Kernel modules to load.
    pub modules: &'a [String],
    /// A disk whose file system becomes the root.
    pub root: Option<&'a Path>,
    /// A program to run to its end.
    pub before: Option<&'a Path>,
}

/// Serves sessions until the stream ends, then switches the machine off.
pub fn live(stream: &str, start: &Start) -> Result<(), Failure> {
    let served = serve(stream, start);
    if let Err(failure) = &served {
        // On the console, which is where a user looks when a machine does not answer.
        eprintln!("delaylab-agent: {failure}");
    }
    boot::power_off().map_err(|error| Failure::new("switch the machine off", error))?;
    served
}

fn serve(stream: &str, start: &Start) -> Result<(), Failure> {
    prepare()?;
    modules::load(start.modules)?;
    start.root.map_or(Ok(()), root::enter)?;
    start.before.map_or(Ok(()), run)?;
    process::reap_by_kernel().map_err(|error| Failure::new("prepare the process", error))?;
    let failed = |error: io::Error| Failure::new(format!("open {stream}"), error);
    let device = match stream.strip_prefix(VIRTIO) {
        Some(name) => boot::wait_in(Path::new("/dev"), || port(name)).map_err(failed)?,
        None => PathBuf::from(stream),
    };
    let is_console = stream.starts_with(CONSOLE);
    let line = File::options().read(true).write(true).open(device).map_err(failed)?;
    boot::make_raw(&line).map_err(failed)?;
    let line = Line::of(OwnedFd::from(line)).map_err(failed)?;
    let mut mux = Mux::on(if is_console { line.unescaping() } else { line });
    let is_serial = stream.starts_with(SERIAL);
    let window = is_serial.then_some(SERIAL_WINDOW);
    let ready = serde_json::to_vec(&Reply::Event(json!({"ready": true, "window": window})));
    let ready = ready.map_err(|error| Failure::new("say that the machine is ready", error))?;
    mux.send(&Frame::new(Kind::Message, ready))?;
    loop {
        let turn = mux.turn(&[], None)?;
        if is_serial && turn.read > 0 {
            mux.send(&mux::tell_read(turn.read))?;
        }
        for frame in turn.new {
            // Several may have come at once for one new session.
            if !mux.has(frame.channel) {
                begin(&mut mux, frame.channel)?;
            }
            mux.deliver(&frame)?;
        }
        if turn.ended {
            return Ok(());
        }
    }
}

/// Starts a session on a channel; what fails there is said on that channel.
fn begin(mux: &mut Mux, channel: u16) -> Result<(), Failure> {
    let joined = pipe::stream().and_then(|(ours, theirs)| {
        mux.join(channel, ours)?;
        Ok(theirs)
    });
    match joined {
        Ok(theirs) => drop(listen::start(theirs, None)),
        Err(error) => mux.refuse(channel, &listen::cannot_start(&error))?,
    }
    Ok(())
}

/// Runs a program to its end; what it says is on the console.
fn run(program: &Path) -> Result<(), Failure> {
    let what = || format!("run {}", program.display());
    let status = Command::new(program).status().map_err(|error| Failure::new(what(), error))?;
    if status.success() { Ok(()) } else { Err(Failure::new(what(), status)) }
}

/// What every program expects of a running system.
fn prepare() -> Result<(), Failure> {
    for (kind, folder) in FILE_SYSTEMS {
        let failed = |error: io::Error| Failure::new(format!("mount {folder}"), error);
        fs::create_dir_all(folder).map_err(failed)?;
        mount::kernel_file_system(kind, folder).map_err(failed)?;
    }
    for (link, target) in LINKS {
        match symlink(target, link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(|error| Failure::new(format!("make {link}"), error))?,
        }
    }
    process::set_environment(&[
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/"),
        (ALONE, "1"),
    ]);
    // Commands start where the init is.
    std::env::set_current_dir("/tmp").map_err(|error| Failure::new("enter /tmp", error))
}

/// The device of the virtio port with this name; there is no udev to link it by name.
fn port(name: &str) -> Option<PathBuf> {
    fs::read_dir("/sys/class/virtio-ports").ok()?.flatten().find_map(|entry| {
        let found = fs::read_to_string(entry.path().join("name")).ok()?;
        let device = Path::new("/dev").join(entry.file_name());
        (found.trim() == name && device.exists()).then_some(device)
    })
}
