//! Filters of sockets: classic BPF programs that find probe packets (bpf(2), packet(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::Ebpf;
use aya::programs::SocketFilter;

use super::option::set_option;
use crate::bpf::refused;

/// The packets of a probe. A field that is 0 matches any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The transport.
    pub transport: Transport,
    /// The IP version, 4 or 6.
    pub ip: u8,
    /// The probe's number, from the payload's header, which TCP has none of.
    pub probe: u32,
    /// The magic number of the payload's header, which TCP has none of.
    pub magic: u32,
    /// The number of bytes to keep of each packet.
    pub snap: u32,
}

/// A probe's transport protocol, and the field that identifies its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// ICMP or ICMPv6 echo request and reply with this identifier.
    Icmp(u16),
    /// UDP with this source or destination port, and a probe's header.
    Udp(u16),
    /// All UDP datagrams with this source or destination port.
    Datagrams(u16),
    /// TCP handshakes with this source or destination port: segments with SYN or RST.
    Tcp(u16),
    /// All TCP segments with this source or destination port.
    TcpData(u16),
}

impl Match {
    /// Return the IP protocol number of the transport.
    pub(crate) fn protocol(&self) -> u32 {
        match (self.transport, self.ip) {
            (Transport::Udp(_) | Transport::Datagrams(_), _) => 17,
            (Transport::Tcp(_) | Transport::TcpData(_), _) => 6,
            (Transport::Icmp(_), 4) => 1,
            (Transport::Icmp(_), _) => 58,
        }
    }
}

/// A classic BPF program.
#[derive(Clone, Debug, Default)]
pub struct Program(Vec<libc::sock_filter>);

/// Offsets of fields in an Ethernet frame, in bytes.
const ETHER_TYPE: u32 = 12;
const NETWORK: u32 = 14;
/// EtherTypes.
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
/// Offsets in an IPv4 header (RFC 791), and the bits of a fragment: "more fragments" or an
/// offset other than 0.
const IPV4_FLAGS: u32 = 6;
const IPV4_PROTOCOL: u32 = 9;
const FRAGMENT: u32 = 0x3fff;
/// The offset of the next header in an IPv6 header, whose length is fixed, and the extension headers that the
/// reader walks: hop-by-hop, routing and destination options (RFC 8200).
const IPV6_NEXT: u32 = 6;
const IPV6_LENGTH: u32 = 40;
const EXTENSIONS: [u32; 3] = [0, 43, 60];
/// Types of echo request and echo reply (RFC 792, RFC 4443), and the offset of the identifier.
const ECHO_TYPES: [u32; 2] = [8, 0];
const ECHO_TYPES_V6: [u32; 2] = [128, 129];
const ECHO_IDENT: u32 = 4;
/// The offset of the destination port in a UDP or TCP header (RFC 768, RFC 9293).
const TO_PORT: u32 = 2;
/// The offset of the flags in a TCP header, and those of a handshake's segments: SYN and RST.
const TCP_FLAGS: u32 = 13;
const SYN_OR_RST: u32 = 0x06;
/// Offsets in a probe's payload, from the start of the ICMP or UDP header of 8 bytes on.
const MAGIC: u32 = 8;
const PROBE: u32 = 8 + 8;

const LOAD_U32: u32 = libc::BPF_LD | libc::BPF_W;
const LOAD_U16: u32 = libc::BPF_LD | libc::BPF_H;
const LOAD_U8: u32 = libc::BPF_LD | libc::BPF_B;
/// A jump target that is resolved later to the program's last instruction, which rejects the packet.
const REFUSE: u8 = u8::MAX;

impl Program {
    /// Build a program that rejects every packet, for a socket that only reserves its port.
    #[must_use]
    pub fn nothing() -> Self {
        let mut program = Self::default();
        program.push(libc::BPF_RET, 0);
        program
    }

    /// Build a program for Ethernet frames (packet sockets) that matches requests and replies. All IPv6
    /// packets with extension headers pass: classic BPF cannot walk these headers, but the reader does.
    #[must_use]
    pub fn frames(wanted: &Match) -> Self {
        let mut program = Self::default();
        program.load(LOAD_U16 | libc::BPF_ABS, ETHER_TYPE);
        if wanted.ip == 4 {
            program.require(IPV4);
            program.load(LOAD_U8 | libc::BPF_ABS, NETWORK + IPV4_PROTOCOL);
            program.require(wanted.protocol());
            program.load(LOAD_U16 | libc::BPF_ABS, NETWORK + IPV4_FLAGS);
            program.refuse_if_any_bit(FRAGMENT);
            program.load(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, NETWORK);
        } else {
            program.require(IPV6);
            program.load(LOAD_U8 | libc::BPF_ABS, NETWORK + IPV6_NEXT);
            for extension in EXTENSIONS {
                program.jump_if(extension, 0, 1);
                program.push(libc::BPF_RET, wanted.snap);
            }
            program.require(wanted.protocol());
            program.load(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, IPV6_LENGTH);
        }
        program.transport(NETWORK, wanted);
        program.finish(wanted.snap)
    }

    /// Reject packets of all interfaces but one, before anything else is looked at.
    #[must_use]
    pub fn at(self, interface: u32) -> Self {
        let mut program = Self::default();
        program.load(LOAD_U32 | libc::BPF_ABS, (libc::SKF_AD_OFF + libc::SKF_AD_IFINDEX) as u32);
        program.jump_if(interface, 1, 0);
        program.push(libc::BPF_RET, 0);
        program.0.extend(self.0);
        program
    }

    /// Build a program for Ethernet frames that accepts those of an EtherType whose payload begins with a number.
    #[must_use]
    pub fn of_ether_type(ether_type: u16, magic: u32) -> Self {
        let mut program = Self::default();
        program.load(LOAD_U16 | libc::BPF_ABS, ETHER_TYPE);
        program.require(u32::from(ether_type));
        program.load(LOAD_U32 | libc::BPF_ABS, NETWORK);
        program.require(magic);
        program.finish(u32::MAX)
    }

    /// Build a program that accepts whole frames from these interfaces and rejects all others.
    #[must_use]
    pub fn interfaces(indices: &[u32]) -> Self {
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut program = Self::default();
        program.load(LOAD_U32 | libc::BPF_ABS, (libc::SKF_AD_OFF + libc::SKF_AD_IFINDEX) as u32);
        program.one_of(&sorted);
        program
    }

    /// Accept the packet if the loaded value is one of these sorted numbers. The search is binary because
    /// every packet of hundreds of interfaces takes it.
    fn one_of(&mut self, sorted: &[u32]) {
        if let [number] = sorted {
            self.jump_if(*number, 0, 1);
            self.push(libc::BPF_RET, u32::MAX);
            self.push(libc::BPF_RET, 0);
            return;
        }
        let Some((lower, upper)) = sorted.split_at_checked(sorted.len() / 2) else { return };
        let Some(first) = upper.first() else { return self.push(libc::BPF_RET, 0) };
        let code = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt: 0, jf: 1, k: *first });
        let jump = self.0.len();
        // A conditional jump reaches at most 255 instructions, this one any distance.
        self.push(libc::BPF_JMP | libc::BPF_JA, 0);
        self.one_of(lower);
        self.0[jump].k = (self.0.len() - jump - 1) as u32;
        self.one_of(upper);
    }

    /// Build a program for a raw ICMP socket of this IP version that accepts echo replies with this
    /// identifier. Such a socket sees the IPv4 header, but not the IPv6 header (raw(7), RFC 3542).
    #[must_use]
    pub fn raw_replies(ip: u8, ident: u16) -> Self {
        let mut program = Self::default();
        if ip == 4 {
            program.load(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0);
        } else {
            program.load(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, 0);
        }
        program.load(LOAD_U8 | libc::BPF_IND, 0);
        let [_, reply] = if ip == 4 { ECHO_TYPES } else { ECHO_TYPES_V6 };
        program.require(reply);
        program.load(LOAD_U16 | libc::BPF_IND, ECHO_IDENT);
        program.require(u32::from(ident));
        program.finish(u32::MAX)
    }

    /// Append checks of the transport header, which starts at offset `network` + X, and of the payload.
    fn transport(&mut self, network: u32, wanted: &Match) {
        match wanted.transport {
            Transport::Icmp(ident) => {
                let [request, reply] = if wanted.ip == 4 { ECHO_TYPES } else { ECHO_TYPES_V6 };
                self.load(LOAD_U8 | libc::BPF_IND, network);
                self.jump_if(request, 1, 0);
                self.require(reply);
                if ident != 0 {
                    self.load(LOAD_U16 | libc::BPF_IND, network + ECHO_IDENT);
                    self.require(u32::from(ident));
                }
            }
            Transport::Udp(port) => self.either_port(network, port),
            Transport::Tcp(port) => {
                self.either_port(network, port);
                self.load(LOAD_U8 | libc::BPF_IND, network + TCP_FLAGS);
                self.require_any_bit(SYN_OR_RST);
                // There is no payload to check.
                return;
            }
            Transport::TcpData(port) | Transport::Datagrams(port) => {
                return self.either_port(network, port);
            }
        }
        self.load(LOAD_U32 | libc::BPF_IND, network + MAGIC);
        self.require(wanted.magic);
        if wanted.probe != 0 {
            self.load(LOAD_U32 | libc::BPF_IND, network + PROBE);
            self.require(wanted.probe);
        }
    }

    /// Append a check that the source or the destination port is this one, unless it is 0.
    fn either_port(&mut self, network: u32, port: u16) {
        if port == 0 {
            return;
        }
        self.load(LOAD_U16 | libc::BPF_IND, network);
        self.jump_if(u32::from(port), 2, 0);
        self.load(LOAD_U16 | libc::BPF_IND, network + TO_PORT);
        self.require(u32::from(port));
    }

    /// Append an instruction with an operand.
    fn push(&mut self, code: u32, k: u32) {
        self.0.push(libc::sock_filter { code: code as u16, jt: 0, jf: 0, k });
    }

    /// Append a load of the accumulator or the index register from an offset.
    fn load(&mut self, code: u32, k: u32) {
        self.push(code, k);
    }

    /// Append a jump over `jt` instructions if the loaded value is this one, else over `jf`.
    fn jump_if(&mut self, value: u32, jt: u8, jf: u8) {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt, jf, k: value });
    }

    /// Reject the packet unless the loaded value is this one.
    fn require(&mut self, value: u32) {
        self.jump_if(value, 0, REFUSE);
    }

    /// Reject the packet if the loaded value has any of these bits.
    fn refuse_if_any_bit(&mut self, bits: u32) {
        let code = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt: REFUSE, jf: 0, k: bits });
    }

    /// Reject the packet unless the loaded value has one of these bits.
    fn require_any_bit(&mut self, bits: u32) {
        let code = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt: 0, jf: REFUSE, k: bits });
    }

    /// Append the verdicts: keep `snap` bytes of a packet that has come this far, reject the others.
    fn finish(mut self, snap: u32) -> Self {
        self.push(libc::BPF_RET, snap);
        let refuse = self.0.len();
        self.push(libc::BPF_RET, 0);
        for (at, step) in self.0.iter_mut().enumerate() {
            // The programs here have some 20 instructions, so the distance fits.
            let distance = (refuse - at).saturating_sub(1) as u8;
            for target in [&mut step.jt, &mut step.jf] {
                if *target == REFUSE {
                    *target = distance;
                }
            }
        }
        self
    }

    /// Attach the program to a socket, replacing any earlier one (`SO_ATTACH_FILTER`, socket(7)). Fails with
    /// `EINVAL` if it has more than 4096 instructions.
    pub fn attach(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let program =
            libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }
}

/// Load a program of an object, and attach it to a socket for as long as that is open.
///
/// # Panics
/// Panics if the object has no such program.
pub(crate) fn attach_program(
    socket: BorrowedFd<'_>,
    object: &mut Ebpf,
    name: &str,
) -> io::Result<()> {
    let program = object.program_mut(name).expect("the object has this program");
    let program: &mut SocketFilter = program.try_into().map_err(refused)?;
    program.load().map_err(refused)?;
    let program = program.fd().map_err(refused)?.as_fd().as_raw_fd();
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program)
}
