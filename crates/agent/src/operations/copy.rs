//! Verbs `pack` and `unpack`, which `delaylab cp` runs in a node: a file or a folder as a tar archive.
//!
//! The copied file or folder is named [`ROOT`] in the archive; the files of a folder are named below that.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use delaylab_os::files::beneath::{self, Below, Entry};
use delaylab_proto::{Context, Failure};
use tar::{Archive, Builder, EntryType, Header};

const ROOT: &str = "copied";
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
        Entry::File(file) => {
            let about = file.metadata()?;
            let mut header = header(&about, EntryType::Regular, about.size());
            // A file that grows is copied as far as it was when it was opened.
            archive.append_data(&mut header, name, Exactly { file, left: about.size() })
        }
        Entry::Folder(folder) => {
            let mut header = header(&folder.metadata()?, EntryType::Directory, 0);
            archive.append_data(&mut header, name, io::empty())?;
            let listed = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
            let mut names =
                listed.map(|each| Ok(each?.file_name())).collect::<io::Result<Vec<_>>>()?;
            names.sort();
            for each in names {
                add(archive, &name.join(&each), beneath::entry(&folder, &each)?)?;
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
            eprintln!("left out: {}: neither a file nor a folder", below_root(name).display());
            Ok(())
        }
    }
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

/// A file that fails if it ends before it has given as many bytes as were announced.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.file.read(&mut into[..most])?;
        if read == 0 && most > 0 {
            return Err(io::Error::other("it became shorter while it was read"));
        }
        self.left -= read as u64;
        Ok(read)
    }
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
    for entry in archive.entries().with_context(what)? {
        let mut entry = entry.with_context(what)?;
        let rest = entry.path().with_context(what)?.strip_prefix(ROOT).map(Path::to_owned);
        let Ok(rest) = rest else { return Err(Failure::new(what(), "the archive is malformed")) };
        if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Failure::new(what(), format!("{} leads out of it", rest.display())));
        }
        // A path that ends in a slash is that of a folder.
        let at = if rest.as_os_str().is_empty() { base.clone() } else { base.join(rest) };
        write(&below, &at, &mut entry).with_context(|| format!("write {}", at.display()))?;
    }
    Ok(())
}

fn write(below: &Below, at: &Path, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<()> {
    match entry.header().entry_type() {
        EntryType::Directory => below.make_folder(at),
        EntryType::Regular => {
            let mode = Permissions::from_mode(entry.header().mode()? & MODE);
            let mut file = below.create(at)?;
            io::copy(entry, &mut file)?;
            file.set_permissions(mode)
        }
        EntryType::Symlink => {
            let target = entry.link_name()?.ok_or_else(|| io::Error::other("a link to nothing"))?;
            below.make_link(&target, at)
        }
        _ => Err(io::Error::other("neither a file nor a folder")),
    }
}
