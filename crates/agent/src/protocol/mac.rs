//! MAC addresses as text.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// A MAC address: `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Hash)]
#[serde(try_from = "String")]
pub(crate) struct Mac(pub [u8; 6]);

impl TryFrom<String> for Mac {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bytes: Result<Vec<u8>, _> =
            text.split(':').map(|part| u8::from_str_radix(part, 16)).collect();
        let bytes: Option<[u8; 6]> = bytes.ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| format!("`{text}` is not an Ethernet address"))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_numbers_of_one_byte() {
        assert_eq!(Mac::try_from("02:0:0:0:0:ff".to_owned()), Ok(Mac([2, 0, 0, 0, 0, 255])));
        for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "02:00:00:00:00:1ff"] {
            assert!(Mac::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
