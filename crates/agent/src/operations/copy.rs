//! Verbs `pack` and `unpack`, which `delaylab cp` runs in a node: a file or a folder as a tar archive.
//!
//! The copied file or folder is named [`ROOT`] in the archive; the files of a folder are named below that. A file is
//! an entry with its first piece, and one of type [`MORE`] for each further piece: so holes are left out, and the size
//! of a file need not be known before it is read.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use delaylab_os::files::beneath::{self, Below, Entry};
use delaylab_os::files::pieces::{Piece, Pieces};
use delaylab_proto::{Context, Failure};
use tar::{Archive, Builder, EntryType, Header};

const ROOT: &str = "copied";
/// The type of an entry that continues the file before it, from an offset on (GNU tar: a file on several volumes). An
/// empty one ends the file there.
const MORE: u8 = b'M';
/// The first byte of a number in a header that is not octal but binary (GNU tar).
const BINARY: u8 = 0x80;
/// The bits of a mode that are copied: no program becomes another user by it.
const MODE: u32 = 0o777;

/// A path in a node, and the folders below which its files are the node's own; all are if there are none.
#[derive(clap::Args)]
pub(crate) struct CopyPath {
    /// The absolute path.
    path: PathBuf,
    /// A folder that is the node's own; may be repeated.
    #[arg(long)]
    within: Vec<PathBuf>,
}

impl CopyPath {
    /// Return the folder out of which nothing leads, and the path from there on.
    fn split(&self) -> (&Path, &Path) {
        let root = Path::new("/");
        let own = self.within.iter().map(PathBuf::as_path);
        own.chain([root])
            .find_map(|folder| Some((folder, self.path.strip_prefix(folder).ok()?)))
            .unwrap_or((root, &self.path))
    }
}

/// Write a file or a folder to standard output. Links in a folder are copied as links.
pub(crate) fn pack(place: &CopyPath) -> Result<(), Failure> {
    let what = || format!("read {}", place.path.display());
    let (folder, path) = place.split();
    let found = Below::new(folder).and_then(|below| below.read(path)).with_context(what)?;
    if matches!(found, Entry::Other | Entry::Link(_)) {
        return Err(Failure::new(what(), "it is neither a file nor a folder"));
    }
    let mut archive = Builder::new(io::BufWriter::new(io::stdout().lock()));
    add(&mut archive, Path::new(ROOT), found).with_context(what)?;
    archive.into_inner().and_then(|mut output| output.flush()).with_context(what)
}

fn add<W: Write>(archive: &mut Builder<W>, name: &Path, found: Entry) -> io::Result<()> {
    match found {
        Entry::File(file) => add_file(archive, name, file),
        Entry::Folder(folder) => {
            let names = match listed(&folder) {
                Ok(names) => names,
                Err(error) if name == Path::new(ROOT) => return Err(error),
                Err(error) => {
                    leave_out(name, &error);
                    return Ok(());
                }
            };
            let mut header = header(&folder.metadata()?, EntryType::Directory, 0);
            archive.append_data(&mut header, name, io::empty())?;
            for each in names {
                let name = name.join(&each);
                match beneath::entry(&folder, &each) {
                    Ok(found) => add(archive, &name, found)?,
                    Err(error) => leave_out(&name, &error),
                }
            }
            Ok(())
        }
        Entry::Link(target) => {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Symlink);
            header.set_size(0);
            archive.append_link(&mut header, name, target)
        }
        Entry::Other => {
            leave_out(name, &"neither a file nor a folder");
            Ok(())
        }
    }
}

/// Add what can be read of a file. One of a folder that cannot be read at all is left out.
fn add_file<W: Write>(archive: &mut Builder<W>, name: &Path, file: File) -> io::Result<()> {
    let about = file.metadata()?;
    let mut add = |kind, piece: &Piece<'_>| {
        let mut header = header(&about, kind, piece.bytes.len() as u64);
        set_offset(&mut header, piece.at);
        archive.append_data(&mut header, name, piece.bytes)
    };
    let mut pieces = Pieces::new(file)?;
    let mut begun = false;
    loop {
        match pieces.read() {
            Ok(Some(piece)) => {
                if !begun && piece.at > 0 {
                    add(EntryType::Regular, &EMPTY)?;
                    begun = true;
                }
                add(if begun { EntryType::new(MORE) } else { EntryType::Regular }, &piece)?;
                begun = true;
            }
            Ok(None) if begun => return Ok(()),
            Ok(None) => return add(EntryType::Regular, &EMPTY),
            Err(error) if name == Path::new(ROOT) => return Err(error),
            Err(error) if begun => {
                let name = below_root(name).display();
                return Err(io::Error::other(format!("{name}: {error}")));
            }
            Err(error) => {
                leave_out(name, &error);
                return Ok(());
            }
        }
    }
}

/// Return the names in a folder, in their order.
fn listed(folder: &File) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let mut names = entries.map(|each| Ok(each?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

const EMPTY: Piece<'static> = Piece { at: 0, bytes: &[] };

/// Say that an entry of a folder is left out.
fn leave_out(name: &Path, why: &dyn Display) {
    eprintln!("{}: {why}", below_root(name).display());
}

/// Set the offset of a piece in its file.
fn set_offset(header: &mut Header, at: u64) {
    if let Some(gnu) = header.as_gnu_mut() {
        gnu.offset[0] = BINARY;
        gnu.offset[4..].copy_from_slice(&at.to_be_bytes());
    }
}

/// Return the offset of a piece in its file.
fn offset(header: &Header) -> Option<u64> {
    let [BINARY, 0, 0, 0, at @ ..] = header.as_gnu()?.offset else { return None };
    Some(u64::from_be_bytes(at))
}

fn header(about: &Metadata, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(about.mode() & MODE);
    header.set_mtime(about.mtime().try_into().unwrap_or(0));
    header
}

fn below_root(name: &Path) -> &Path {
    name.strip_prefix(ROOT).unwrap_or(name)
}

/// Write the file or folder of an archive on standard input to a path, or into it with a name if it is a folder.
/// No link and no `..` leads out of the folder that is the node's own.
pub(crate) fn unpack(place: &CopyPath, name: &Path) -> Result<(), Failure> {
    let what = || format!("write {}", place.path.display());
    let (folder, path) = place.split();
    if !place.within.is_empty() && folder == Path::new("/") {
        let known: Vec<_> = place.within.iter().map(|each| each.display().to_string()).collect();
        let why = format!("the node has a file system of its own only below {}", known.join(", "));
        return Err(Failure::new(what(), why));
    }
    let below = Below::new(folder).with_context(what)?;
    let into = place.path.as_os_str().as_encoded_bytes().ends_with(b"/") || below.is_folder(path);
    let base = if into { path.join(name) } else { path.to_owned() };
    let mut archive = Archive::new(io::stdin().lock());
    let mut file: Option<Unpacked> = None;
    for entry in archive.entries().with_context(what)? {
        let mut entry = entry.with_context(what)?;
        let rest = entry.path().with_context(what)?.strip_prefix(ROOT).map(Path::to_owned);
        let Ok(rest) = rest else { return Err(Failure::new(what(), "the archive is malformed")) };
        if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Failure::new(what(), format!("{} leads out of it", rest.display())));
        }
        // A path that ends in a slash is that of a folder.
        let at = if rest.as_os_str().is_empty() { base.clone() } else { base.join(rest) };
        write(&below, &at, &mut entry, &mut file)
            .with_context(|| format!("write {}", at.display()))?;
    }
    Ok(())
}

/// Write an entry of an archive. `file` is the file of the entry before it, if that was one.
fn write(
    below: &Below,
    at: &Path,
    entry: &mut tar::Entry<'_, impl Read>,
    file: &mut Option<Unpacked>,
) -> io::Result<()> {
    let kind = entry.header().entry_type();
    if kind == EntryType::new(MORE) {
        let more = file.as_mut().filter(|file| file.path == at);
        return more.ok_or_else(|| io::Error::other("a piece of no file"))?.go_on(entry);
    }
    *file = None;
    match kind {
        EntryType::Directory => below.make_folder(at),
        EntryType::Regular => {
            let mode = Permissions::from_mode(entry.header().mode()? & MODE);
            let mut new = below.create(at)?;
            io::copy(entry, &mut new)?;
            new.set_permissions(mode)?;
            *file = Some(Unpacked { path: at.to_owned(), file: new });
            Ok(())
        }
        EntryType::Symlink => {
            let target = entry.link_name()?.ok_or_else(|| io::Error::other("a link to nothing"))?;
            below.make_link(&target, at)
        }
        _ => Err(io::Error::other("neither a file nor a folder")),
    }
}

/// A file of which further pieces may come.
struct Unpacked {
    path: PathBuf,
    file: File,
}

impl Unpacked {
    /// Write a piece. An empty one ends the file.
    fn go_on(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<()> {
        let at = offset(entry.header()).ok_or_else(|| io::Error::other("a piece of no place"))?;
        if entry.size() == 0 {
            return self.file.set_len(at);
        }
        self.file.seek(SeekFrom::Start(at))?;
        io::copy(entry, &mut self.file).map(drop)
    }
}
