//! A file in pieces, as far as it can be read: without its holes, and whatever its size says.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// Largest number of bytes of a piece.
pub const PIECE: usize = 1 << 18;
/// Largest number of bytes of a file without a size, such as those of `/proc`.
const MOST_UNSIZED: u64 = 256 << 20;
/// Number of bytes of a block, in which the kernel counts what a file occupies.
const BLOCK: u64 = 512;

/// The bytes of a file from an offset on. If there are none, the file ends there, after a hole.
pub struct Piece<'a> {
    /// The offset.
    pub at: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A file that is read piece by piece: up to the size that it had at first, or to its end if that comes earlier.
pub struct Pieces {
    file: File,
    most: u64,
    sized: bool,
    sparse: bool,
    at: u64,
    given: u64,
    ended: bool,
    buffer: Vec<u8>,
}

impl Pieces {
    /// Take a file, open for reading, at its beginning.
    pub fn new(file: File) -> io::Result<Self> {
        let about = file.metadata()?;
        let sized = about.size() > 0;
        Ok(Self {
            file,
            most: if sized { about.size() } else { MOST_UNSIZED },
            sized,
            sparse: about.blocks().saturating_mul(BLOCK) < about.size(),
            at: 0,
            given: 0,
            ended: false,
            buffer: vec![0; PIECE],
        })
    }

    /// Read the next piece; `None` at the end.
    pub fn read(&mut self) -> io::Result<Option<Piece<'_>>> {
        while !self.ended {
            let Some(stop) = self.data()? else { return self.end_after_hole(self.most) };
            let most = usize::try_from(stop - self.at).unwrap_or(PIECE).min(PIECE);
            let length = self.fill(most)?;
            self.ended = length < most || self.at + length as u64 == self.most;
            let is_hole = self.sparse && self.buffer[..length].iter().all(|byte| *byte == 0);
            if length == 0 || is_hole {
                self.at += length as u64;
                if self.ended {
                    return self.end_after_hole(self.at);
                }
                continue;
            }
            if self.ended && !self.sized && length == most {
                let why = format!("it has no size, and goes on after {} MiB", MOST_UNSIZED >> 20);
                return Err(io::Error::other(why));
            }
            let at = self.at;
            self.at += length as u64;
            self.given = self.at;
            return Ok(Some(Piece { at, bytes: &self.buffer[..length] }));
        }
        Ok(None)
    }

    /// Go to the next data; return where it ends, or `None` if only a hole is left.
    fn data(&mut self) -> io::Result<Option<u64>> {
        if !self.sparse {
            return Ok(Some(self.most));
        }
        let from = i64::try_from(self.at).map_err(io::Error::other)?;
        let start = match lseek(&self.file, from, Whence::SeekData) {
            Ok(start) => start,
            Err(Errno::ENXIO) => return Ok(None),
            // A file system that knows of no holes.
            Err(Errno::EINVAL | Errno::EOPNOTSUPP) => return Ok(Some(self.most)),
            Err(error) => return Err(error.into()),
        };
        if start.unsigned_abs() >= self.most {
            return Ok(None);
        }
        let stop = lseek(&self.file, start, Whence::SeekHole)?.unsigned_abs();
        lseek(&self.file, start, Whence::SeekSet)?;
        self.at = start.unsigned_abs();
        Ok(Some(stop.min(self.most)))
    }

    /// Read that many bytes, fewer only at the file's end.
    fn fill(&mut self, most: usize) -> io::Result<usize> {
        let mut length = 0;
        while length < most {
            match self.file.read(&mut self.buffer[length..most]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    /// End with an empty piece where the file ends, at `most` at the latest, if a hole is before that.
    fn end_after_hole(&mut self, most: u64) -> io::Result<Option<Piece<'_>>> {
        self.ended = true;
        // It may have become shorter meanwhile.
        let end = self.file.metadata()?.size().min(most);
        Ok((end > self.given).then_some(Piece { at: end, bytes: &[] }))
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, Pieces};

    use std::fs::{self, File, OpenOptions};
    use std::io::{Seek, SeekFrom, Write};
    use std::path::PathBuf;

    /// A file of a test, removed in the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("delaylab-pieces-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn writing(&self) -> File {
            OpenOptions::new().create(true).truncate(false).write(true).open(&self.0).unwrap()
        }

        fn pieces(&self) -> Pieces {
            Pieces::new(File::open(&self.0).unwrap()).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn all(mut pieces: Pieces) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        while let Some(piece) = pieces.read().unwrap() {
            found.push((piece.at, piece.bytes.to_vec()));
        }
        found
    }

    #[test]
    fn holes_are_left_out_and_the_last_one_has_an_end() {
        let scratch = Scratch::new("holes");
        let mut file = scratch.writing();
        file.seek(SeekFrom::Start(1 << 30)).unwrap();
        file.write_all(&[7; 5000]).unwrap();
        file.set_len(1 << 40).unwrap();
        let found = all(scratch.pieces());
        assert_eq!(found.last().unwrap(), &(1 << 40, Vec::new()));
        let sent: usize = found.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!((5000..PIECE).contains(&sent));
        let (at, bytes) = &found[0];
        assert_eq!(&bytes[usize::try_from((1 << 30) - at).unwrap()..][..5000], &[7; 5000]);
    }

    #[test]
    fn an_empty_file_and_one_that_is_a_hole() {
        let scratch = Scratch::new("empty");
        let file = scratch.writing();
        assert!(all(scratch.pieces()).is_empty());
        file.set_len(4096).unwrap();
        assert_eq!(all(scratch.pieces()), [(4096, Vec::new())]);
    }

    #[test]
    fn a_file_that_changes_is_as_it_was_read() {
        let scratch = Scratch::new("changes");
        let mut file = scratch.writing();
        file.write_all(&vec![1; 3 * PIECE]).unwrap();
        let mut shrinks = scratch.pieces();
        assert_eq!(shrinks.read().unwrap().unwrap().bytes.len(), PIECE);
        file.set_len(PIECE as u64 + 10).unwrap();
        let second = shrinks.read().unwrap().unwrap();
        assert_eq!((second.at, second.bytes), (PIECE as u64, &[1; 10][..]));
        assert!(shrinks.read().unwrap().is_none());
        let mut grows = scratch.pieces();
        file.write_all(&[2; 100]).unwrap();
        assert_eq!(grows.read().unwrap().unwrap().bytes.len(), PIECE);
        assert_eq!(grows.read().unwrap().unwrap().bytes, &[1; 10]);
        assert!(grows.read().unwrap().is_none());
    }

    #[test]
    fn files_whose_size_is_not_that_of_their_content_are_read_to_their_end() {
        for path in ["/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let Ok(expected) = fs::read(path) else { continue };
            let found = all(Pieces::new(File::open(path).unwrap()).unwrap());
            assert_eq!(found.len(), 1, "{path}");
            assert_eq!(found[0].1.split(|byte| *byte == b'\n').count(), {
                expected.split(|byte| *byte == b'\n').count()
            });
        }
    }
}
