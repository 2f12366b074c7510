//! `delaylab-agent`: the one binary that runs on hosts, in containers and in virtual machines.

mod capabilities;
mod connect;
mod containers;
mod fabric;
mod init;
mod link;
mod logging;
mod machine;
mod network;
mod operations;
mod protocol;
mod session;
mod timing;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use delaylab_os::process::going_on;
use delaylab_proto::{Failure, Refusal};
use delaylab_recording::{apart, calls};

use connect::{call, relay};
use operations::serve;

/// Work for delaylab where packets are: build labs, run commands and probes, stamp packets.
///
/// The agent is controlled by frames on its standard input and output, as docs/protocol.md describes.
/// `delaylab` starts it; there is seldom a reason to do so by hand.
#[derive(Parser)]
#[command(name = "delaylab-agent", version)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve requests on standard input and output until the input ends.
    Serve,
    /// Build a lab from a request on standard input and keep it until the input ends.
    ///
    /// All processes of the lab live in one PID namespace and hold its network namespaces: when this process
    /// ends, in whatever way, the kernel removes all of them.
    Fabric(Fabric),
    /// Run as the first process of a container or of a virtual machine.
    Init(init::Init),
    /// Run a command through another agent, with its input and output joined to one stream.
    Call(call::Call),
    /// Connect standard input and output to the socket of another agent, as a session with it.
    Join {
        /// The socket on which the agent listens.
        socket: PathBuf,
    },
    /// Serve the sessions of a user on another machine, all on standard input and output.
    Hub,
    /// Carry sessions over standard input and output, which lead to the hub of another machine.
    Trunk {
        /// The number of the file descriptor by which sockets come, one for each session.
        #[arg(long)]
        control: i32,
    },
    /// Print as JSON what this kernel can do for links, tried in a network namespace of its own.
    Kernel,
    /// Print as JSON what is in a log of a recorded process (`delaylab record`).
    Calls(calls::Calls),
    /// Become a recorded program of a container, which gets the files that were kept of the container alone.
    Apart(apart::Apart),
    /// Print as JSON Schema the messages that this agent reads and writes.
    Protocol,
    /// Start a lab's Docker containers, and keep running.
    Containers(containers::Containers),
    /// Run the program of a node that standard input describes, until it ends.
    Supervise,
    /// Do things to the programs of a node at set times, as standard input says.
    CarryOut,
    /// Write a file or a folder of a node to standard output, as a tar archive.
    Pack(operations::CopyPath),
    /// Write the file or folder of a tar archive on standard input to a path in a node.
    Unpack {
        #[command(flatten)]
        place: operations::CopyPath,
        /// Its name if the path is a folder.
        #[arg(long)]
        name: PathBuf,
    },
    /// Store the file or folder of a tar archive on standard input beside this agent, for guests on this machine.
    Store {
        /// Its name there, FOLDER/NAME.
        name: PathBuf,
    },
    /// Connect standard input and output to the console of a machine whose agent serves on it.
    Relay {
        /// The console's terminal device.
        device: PathBuf,
    },
}

impl Verb {
    /// Return true if delaylab runs it as a command: a failure then is the message that ends a failed request.
    fn is_a_program_s(&self) -> bool {
        matches!(
            self,
            Self::Kernel
                | Self::Calls(_)
                | Self::Fabric(_)
                | Self::Pack(_)
                | Self::Unpack { .. }
                | Self::Store { .. }
        )
    }
}

#[derive(Args)]
struct Fabric {
    /// Remove what killed keepers left, instead of building a lab: run directories below DIR and the control
    /// groups that they name. Labs that are up are not touched.
    #[arg(long, value_name = "DIR")]
    sweep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let verb = CommandLine::parse().verb;
    let asked = verb.is_a_program_s();
    logging::start();
    if let Err(error) = going_on::end_waits_then() {
        tracing::warn!(%error, "waits will go on after a stop");
    }
    let result = match verb {
        Verb::Serve => serve_stdio(),
        Verb::Init(init) => init::live(&init, serve),
        Verb::Join { socket } => relay::to_agent(&socket),
        Verb::Hub => machine::hub::run(serve),
        Verb::Trunk { control } => machine::trunk::run(control),
        Verb::Kernel => machine::kernel::print(),
        Verb::Calls(calls) => calls::print(&calls),
        Verb::Apart(given) => match apart::run(&given) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Verb::Protocol => protocol::schema::print(link::kernel::limits::bounds()),
        Verb::Containers(given) => containers::run(&given),
        Verb::Supervise => operations::supervise(),
        Verb::CarryOut => operations::carry_out(),
        Verb::Pack(place) => operations::pack(&place),
        Verb::Unpack { place, name } => operations::unpack(&place, &name),
        Verb::Store { name } => machine::store::store(&name),
        Verb::Relay { device } => relay::to_console(&device),
        Verb::Call(call) => match call::run(&call) {
            Ok(code) => return ExitCode::from(code),
            Err(failure) => Err(failure),
        },
        Verb::Fabric(Fabric { sweep: Some(directory) }) => fabric::sweep(&directory),
        Verb::Fabric(Fabric { sweep: None }) => return fabric::keep(serve),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let fix = &failure.fix;
            let remedy = if fix.is_empty() { String::new() } else { format!(" ({fix})") };
            match serde_json::to_string(&Refusal::Error(failure.clone())) {
                Ok(message) if asked => eprintln!("{message}"),
                _ => eprintln!("delaylab-agent: {failure}{remedy}"),
            }
            ExitCode::FAILURE
        }
    }
}

fn serve_stdio() -> Result<(), Failure> {
    let (input, output) = session::stdio()?;
    serve(session::Session::new(input, output))
}
