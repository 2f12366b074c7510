//! Classic BPF programs that let only a probe's packets into a socket (Documentation/networking/filter.rst of
//! the kernel).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::option::set_option;
use super::probe_match::{Match, Transport};

/// A classic BPF program.
#[derive(Clone, Debug, Default)]
pub struct Program(Vec<libc::sock_filter>);

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
        const NETWORK: u32 = 14;
        let mut program = Self::default();
        program.load(LOAD_U16 | libc::BPF_ABS, 12);
        if wanted.ip == 4 {
            program.require(0x0800);
            program.load(LOAD_U8 | libc::BPF_ABS, NETWORK + 9);
            program.require(wanted.protocol());
            program.load(LOAD_U16 | libc::BPF_ABS, NETWORK + 6);
            program.refuse_if_any_bit(0x3fff);
            program.load(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, NETWORK);
        } else {
            program.require(0x86dd);
            program.load(LOAD_U8 | libc::BPF_ABS, NETWORK + 6);
            for extension in [0, 43, 60] {
                program.jump_if(extension, 0, 1);
                program.push(libc::BPF_RET, wanted.snap);
            }
            program.require(wanted.protocol());
            program.load(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, 40);
        }
        program.transport(NETWORK, wanted);
        program.finish(wanted.snap)
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
        program.require(if ip == 4 { 0 } else { 129 });
        program.load(LOAD_U16 | libc::BPF_IND, 4);
        program.require(u32::from(ident));
        program.finish(u32::MAX)
    }

    /// Append checks of the transport header, which starts at offset `network` + X, and of the payload.
    fn transport(&mut self, network: u32, wanted: &Match) {
        match wanted.transport {
            Transport::Icmp(ident) => {
                let types = if wanted.ip == 4 { [8, 0] } else { [128, 129] };
                self.load(LOAD_U8 | libc::BPF_IND, network);
                self.jump_if(types[0], 1, 0);
                self.require(types[1]);
                if ident != 0 {
                    self.load(LOAD_U16 | libc::BPF_IND, network + 4);
                    self.require(u32::from(ident));
                }
            }
            Transport::Udp(0) => {}
            Transport::Udp(port) => {
                self.load(LOAD_U16 | libc::BPF_IND, network);
                self.jump_if(u32::from(port), 2, 0);
                self.load(LOAD_U16 | libc::BPF_IND, network + 2);
                self.require(u32::from(port));
            }
        }
        self.load(LOAD_U32 | libc::BPF_IND, network + 8);
        self.require(wanted.magic);
        if wanted.probe != 0 {
            self.load(LOAD_U32 | libc::BPF_IND, network + 16);
            self.require(wanted.probe);
        }
    }

    fn push(&mut self, code: u32, k: u32) {
        self.0.push(libc::sock_filter { code: code as u16, jt: 0, jf: 0, k });
    }

    fn load(&mut self, code: u32, k: u32) {
        self.push(code, k);
    }

    fn jump_if(&mut self, value: u32, jt: u8, jf: u8) {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt, jf, k: value });
    }

    fn require(&mut self, value: u32) {
        self.jump_if(value, 0, REFUSE);
    }

    fn refuse_if_any_bit(&mut self, bits: u32) {
        let code = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt: REFUSE, jf: 0, k: bits });
    }

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

    /// Attach the program to a socket, replacing any earlier one (`SO_ATTACH_FILTER`, socket(7)).
    pub fn attach(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let program =
            libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }
}
