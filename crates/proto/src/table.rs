//! Tables as table frames carry them (docs/protocol.md, "Tables"): a JSON header, then the columns.

use std::collections::HashMap;

use serde::Serialize;

/// The index of a text that is missing.
const MISSING: u32 = u32::MAX;

/// A number as a column holds it: little-endian, all of one size.
pub trait Number: Copy {
    /// The type's name in the header.
    const NAME: &'static str;
    /// The number in the place of one that is missing.
    const ZERO: Self;
    /// Append the number's bytes.
    fn write(self, to: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($kind:ty, $name:literal, $zero:literal);*) => {$(
        impl Number for $kind {
            const NAME: &'static str = $name;
            const ZERO: Self = $zero;
            fn write(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
numbers!(u8, "u8", 0; u16, "u16", 0; u32, "u32", 0; i64, "i64", 0; f64, "f64", 0.0);

#[derive(Serialize)]
struct Header<'a> {
    rows: usize,
    columns: &'a [Column],
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    nullable: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
}

/// A table, or a part of one, that is being encoded column by column.
pub struct Table {
    name: &'static str,
    rows: usize,
    columns: Vec<Column>,
    bytes: Vec<u8>,
}

impl Table {
    /// Begin a table. All of its columns have `rows` values.
    #[must_use]
    pub fn new(name: &'static str, rows: usize) -> Self {
        Self { name, rows, columns: Vec::new(), bytes: Vec::new() }
    }

    /// Add a column of numbers.
    #[must_use]
    pub fn numbers<N: Number>(
        mut self,
        name: &'static str,
        values: impl Iterator<Item = N>,
    ) -> Self {
        values.for_each(|value| value.write(&mut self.bytes));
        self.column(name, N::NAME, false, Vec::new())
    }

    /// Add a column of numbers, some of which may be missing.
    #[must_use]
    pub fn optional<N: Number>(
        mut self,
        name: &'static str,
        values: impl Iterator<Item = Option<N>> + Clone,
    ) -> Self {
        self.bytes.extend(values.clone().map(|value| u8::from(value.is_some())));
        values.for_each(|value| value.unwrap_or(N::ZERO).write(&mut self.bytes));
        self.column(name, N::NAME, true, Vec::new())
    }

    /// Add a column of yes and no.
    #[must_use]
    pub fn flags(mut self, name: &'static str, values: impl Iterator<Item = bool>) -> Self {
        self.bytes.extend(values.map(u8::from));
        self.column(name, "bool", false, Vec::new())
    }

    /// Add a column of texts, of which there are few different ones, and some may be missing.
    #[must_use]
    pub fn texts<'a>(
        mut self,
        name: &'static str,
        values: impl Iterator<Item = Option<&'a str>>,
    ) -> Self {
        let (mut known, mut distinct) = (HashMap::new(), Vec::new());
        for value in values {
            let index = value.map_or(MISSING, |value| {
                *known.entry(value).or_insert_with(|| {
                    distinct.push(value.to_owned());
                    u32::try_from(distinct.len() - 1).expect("fewer texts than rows")
                })
            });
            index.write(&mut self.bytes);
        }
        self.column(name, "text", false, distinct)
    }

    /// Add a column of labels, each by its index in `labels`.
    #[must_use]
    pub fn labels(
        mut self,
        name: &'static str,
        labels: &[impl AsRef<str>],
        indices: impl Iterator<Item = u32>,
    ) -> Self {
        indices.for_each(|index| index.write(&mut self.bytes));
        let labels = labels.iter().map(|label| label.as_ref().to_owned()).collect();
        self.column(name, "label", false, labels)
    }

    /// Return the table frame's payload.
    ///
    /// # Panics
    /// If the table's name is longer than 255 bytes.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let header = Header { rows: self.rows, columns: &self.columns };
        let header = serde_json::to_vec(&header).expect("names and numbers are JSON");
        let length = u32::try_from(header.len()).expect("a header is short");
        let mut payload = vec![u8::try_from(self.name.len()).expect("a name is short")];
        payload.extend_from_slice(self.name.as_bytes());
        payload.extend_from_slice(&length.to_le_bytes());
        payload.extend_from_slice(&header);
        payload.extend_from_slice(&self.bytes);
        payload
    }

    fn column(
        mut self,
        name: &'static str,
        kind: &'static str,
        nullable: bool,
        values: Vec<String>,
    ) -> Self {
        self.columns.push(Column { name, kind, nullable, values });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same bytes stand in tests/ground/test_columns.py, for the decoder.
    #[test]
    fn a_table_is_these_bytes() {
        let table = Table::new("t", 2)
            .numbers("n", [1u16, 515].into_iter())
            .optional("o", [Some(-2i64), None].into_iter())
            .flags("f", [true, false].into_iter())
            .texts("x", [None, Some("é")].into_iter())
            .labels("l", &["a", "b"], [1, 0].into_iter());
        let header = "{\"rows\":2,\"columns\":[{\"name\":\"n\",\"type\":\"u16\"},\
            {\"name\":\"o\",\"type\":\"i64\",\"nullable\":true},{\"name\":\"f\",\"type\":\"bool\"},\
            {\"name\":\"x\",\"type\":\"text\",\"values\":[\"é\"]},\
            {\"name\":\"l\",\"type\":\"label\",\"values\":[\"a\",\"b\"]}]}";
        let mut expected = b"\x01t".to_vec();
        expected.extend((header.len() as u32).to_le_bytes());
        expected.extend(header.as_bytes());
        expected.extend(b"\x01\0\x03\x02");
        expected.extend(b"\x01\0\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0");
        expected.extend(b"\x01\0");
        expected.extend(b"\xff\xff\xff\xff\0\0\0\0");
        expected.extend(b"\x01\0\0\0\0\0\0\0");
        assert_eq!(table.encode(), expected);
    }
}
