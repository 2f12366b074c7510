//! Images of containers: by their names in the engine, or from a file.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use delaylab_proto::{Context, Failure};
use serde_json::Value;

use super::http::Engine;

const REPOSITORY: &str = "delaylab";
/// The file that describes the image of an archive.
const MANIFEST: &[u8] = b"manifest.json";
/// The words before the name of an image that was loaded.
const LOADED: &str = "Loaded image ID: ";
/// The longest tag of an image.
const LONGEST_TAG: usize = 128;

/// Return the name of an image in the engine; import or load a file, once per content.
pub(super) fn image(engine: &Engine, name: &str) -> Result<String, Failure> {
    if !name.starts_with('/') {
        require_name(name)?;
        let known = engine.find(&format!("/images/{name}/json"))?;
        let fix = "load it into the machine's engine, or give a tar file";
        return known.map(|_| name.to_owned()).ok_or_else(|| {
            Failure::new("start a container", format!("the engine has no image {name:?}")).fix(fix)
        });
    }
    let path = Path::new(name);
    let what = || format!("read {name}");
    let file = File::open(path).with_context(what)?;
    let tag = tag(path, &file.metadata().with_context(what)?);
    let full = format!("{REPOSITORY}:{tag}");
    if engine.find(&format!("/images/{full}/json"))?.is_some() {
        return Ok(full);
    }
    if is_archive(&file) {
        let loaded = engine.send("/images/load?quiet=1", File::open(path).with_context(what)?)?;
        let said = loaded["stream"].as_str().unwrap_or_default();
        let id = said.trim().strip_prefix(LOADED).ok_or_else(|| {
            Failure::new(what(), format!("the engine does not say what it has loaded: {said:?}"))
        })?;
        engine.post(&format!("/images/{id}/tag?repo={REPOSITORY}&tag={tag}"), &Value::Null)?;
    } else {
        let file = File::open(path).with_context(what)?;
        engine.send(&format!("/images/create?fromSrc=-&repo={REPOSITORY}&tag={tag}"), file)?;
    }
    Ok(full)
}

/// Return true for an archive of an image, which begins with its description (`delaylab/images/archives.py`), false for
/// a root file system.
fn is_archive(file: &File) -> bool {
    let mut tar = tar::Archive::new(file);
    let first = tar.entries().ok().and_then(|mut entries| entries.next());
    first.is_some_and(|entry| entry.is_ok_and(|entry| *entry.path_bytes() == *MANIFEST))
}

/// Fail unless a name has only what names of images have: it becomes a part of a request's first line.
fn require_name(name: &str) -> Result<(), Failure> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-/:@".contains(letter);
    if name.chars().all(plain) {
        return Ok(());
    }
    Err(Failure::new("start a container", format!("{name:?} is no name of an image")))
}

/// Return the tag for a file: its folder, its size and its time. Folders of the image cache are named after their
/// content; files of users differ in size or time.
fn tag(path: &Path, about: &Metadata) -> String {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    plain(&format!("{folder}-{:x}-{:x}", about.len(), about.mtime()))
}

/// Return the last characters of a text that a tag may have.
fn plain(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let letters: Vec<_> = text.chars().map(|it| if plain(it) { it } else { '-' }).collect();
    let last: String = letters[letters.len().saturating_sub(LONGEST_TAG)..].iter().collect();
    last.trim_start_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_that_would_change_the_request_is_refused() {
        assert!(require_name("registry.example:5000/a/b@sha256:0f").is_ok());
        for name in ["a b", "a\r\nX: y", "a?b=c", "a%2fb"] {
            assert!(require_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_tag_has_only_what_tags_may_have() {
        assert_eq!(plain("container-1+g++"), "container-1-g--");
        assert_eq!(plain(&"x".repeat(200)).len(), LONGEST_TAG);
        assert_eq!(plain(".a"), "a");
    }

    #[test]
    fn an_archive_begins_with_its_description() {
        let folder = std::env::temp_dir().join(format!("archive-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for (name, first) in [("root.tar", "etc"), ("image.tar", "manifest.json")] {
            let mut tar = tar::Builder::new(File::create(folder.join(name)).unwrap());
            for member in [first, "manifest.json"] {
                let mut header = tar::Header::new_gnu();
                header.set_size(2);
                tar.append_data(&mut header, member, &b"{}"[..]).unwrap();
            }
            tar.finish().unwrap();
            assert_eq!(is_archive(&File::open(folder.join(name)).unwrap()), name == "image.tar");
        }
        fs::write(folder.join("other"), [7; 2048]).unwrap();
        assert!(!is_archive(&File::open(folder.join("other")).unwrap()));
        fs::remove_dir_all(folder).unwrap();
    }
}
