//! The names of the kernel's reasons to drop a packet, which each version numbers anew: read from the description of
//! its types (BTF, Documentation/bpf/btf.rst in the kernel's sources).

use std::collections::BTreeMap;
use std::{fs, io};

const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The first bytes of a description on a machine of this byte order.
const MAGIC: u16 = 0xeb9f;
/// The enumeration, and the start of its constants' names.
const ENUM: &str = "skb_drop_reason";
const PREFIX: &str = "SKB_DROP_REASON_";
/// The kinds of types that are followed by more than their first 12 bytes.
const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUMERATION_64: u32 = 19;

/// The reasons by their numbers.
#[derive(Debug, Default)]
pub struct Reasons(BTreeMap<u32, String>);

impl Reasons {
    /// Read the reasons of the running kernel.
    pub fn read() -> io::Result<Self> {
        let odd = || io::Error::other(format!("{TYPES} does not name the reasons for drops"));
        Self::of(&fs::read(TYPES)?).ok_or_else(odd)
    }

    /// Return the name of a reason, such as `SOCKET_RCVBUFF`.
    pub fn name(&self, reason: u32) -> Option<&str> {
        self.0.get(&reason).map(String::as_str)
    }

    /// Return the reasons in a description of types; `None` if it has none, or is malformed.
    fn of(bytes: &[u8]) -> Option<Self> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        if magic != MAGIC {
            return None;
        }
        let [header, types_at, types_length, texts_at] = [4, 8, 12, 16].map(|at| word(bytes, at));
        let header = header? as usize;
        let types = bytes.get(header.checked_add(types_at? as usize)?..)?;
        let types = types.get(..types_length? as usize)?;
        let texts = bytes.get(header.checked_add(texts_at? as usize)?..)?;
        let mut at = 0;
        while at < types.len() {
            let (name, info) = (word(types, at)?, word(types, at + 4)?);
            let (kind, members) = (info >> 24 & 31, (info & 0xffff) as usize);
            at += 12;
            if kind == ENUMERATION && text(texts, name)? == ENUM {
                return (0..members).map(|member| reason(types, at + 8 * member, texts)).collect();
            }
            at += match kind {
                INT | VAR | DECL_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | DATASEC | ENUMERATION_64 => 12 * members,
                ENUMERATION | FUNC_PROTO => 8 * members,
                _ => 0,
            };
        }
        None
    }
}

impl FromIterator<(u32, String)> for Reasons {
    fn from_iter<I: IntoIterator<Item = (u32, String)>>(reasons: I) -> Self {
        Self(reasons.into_iter().collect())
    }
}

/// Return a constant of the enumeration: its number and its name.
fn reason(types: &[u8], at: usize, texts: &[u8]) -> Option<(u32, String)> {
    let name = text(texts, word(types, at)?)?;
    Some((word(types, at + 4)?, name.strip_prefix(PREFIX).unwrap_or(name).to_owned()))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn text(texts: &[u8], at: u32) -> Option<&str> {
    let rest = texts.get(at as usize..)?;
    std::str::from_utf8(&rest[..rest.iter().position(|byte| *byte == 0)?]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description with a structure of one member, and the enumeration after it.
    fn described() -> Vec<u8> {
        let texts = b"\0skb_drop_reason\0SKB_DROP_REASON_NO_SOCKET\0";
        let structure = [0, STRUCT << 24 | 1, 4, 0, 0, 0];
        let enumeration = [1, ENUMERATION << 24 | 1, 4, 17, 3];
        let types: Vec<u32> = structure.into_iter().chain(enumeration).collect();
        let length = 4 * types.len() as u32;
        let header = [u32::from(MAGIC) | 1 << 16, 24, 0, length, length, texts.len() as u32];
        let words = header.into_iter().chain(types).flat_map(u32::to_ne_bytes);
        words.chain(*texts).collect()
    }

    #[test]
    fn a_reason_has_its_name() {
        let reasons = Reasons::of(&described()).expect("a description");
        assert_eq!(reasons.name(3), Some("NO_SOCKET"));
        assert_eq!(reasons.name(4), None);
    }

    #[test]
    fn what_is_cut_short_is_no_description() {
        let whole = described();
        for length in 0..whole.len() {
            assert!(Reasons::of(&whole[..length]).is_none(), "{length}");
        }
    }
}
