//! The shared objects that a program would load, according to its file and theirs. The loader is
//! not used for this: it may execute the program, which may be in an untrusted folder.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, FileHeader32, FileHeader64, Machine,
    PT_LOAD,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::regular::Held;

/// The maximum total size of the files read for one program, in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// The maximum number of shared objects of one program.
const MOST_OBJECTS: usize = 1000;
/// The maximum size of a list of folders in bytes, and the maximum number of folders.
const MOST_LIST_BYTES: u64 = 1 << 16;
const MOST_FOLDERS: usize = 1000;

/// The loader's folders besides those in its configuration. Debian adds subfolders with names such
/// as `x86_64-linux-gnu`.
const LIBRARY_FOLDERS: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
const OF_ARCHITECTURE: &str = "-linux-";

/// A folder that stands for `/`: links in it cannot lead outside.
pub(super) struct Root {
    folder: OwnedFd,
    path: PathBuf,
}

/// A shared object that a program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    /// The file that the loader would use, with its path outside of the root.
    At(PathBuf),
    /// There is no file of this name.
    Missing(String),
}

/// A shared object that a program or one of its shared objects needs.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The name by which it is needed.
    pub(super) name: String,
    pub(super) needed: Needed,
    /// The path of the object that needs it.
    pub(super) by: PathBuf,
}

impl Root {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root { folder: rustix::fs::open(&path, flags, Mode::empty())?, path })
    }

    /// Returns the root folder of a process, which may be in a container.
    pub(super) fn of_process(pid: u32) -> io::Result<Self> {
        // The kernel follows this link into the container; its text does not lead there.
        let path = PathBuf::from(format!("/proc/{pid}/root"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root { folder: rustix::fs::open(&path, flags, Mode::empty())?, path })
    }

    /// Returns the path outside of the root for a path inside of it.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        self.path.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Finds the file at a path inside of the root. The path may begin with `/`.
    pub(super) fn hold(&self, path: &Path) -> io::Result<Held> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.folder, path, flags, Mode::empty(), inside)?.into())
    }

    /// Returns the path outside of the root of the library with this name, if the loader finds it.
    pub(super) fn library(&self, name: &str) -> Option<PathBuf> {
        let mut paths = self.library_folders().into_iter().map(|folder| folder.join(name));
        let found = paths.find(|path| {
            let file = self.hold(path).and_then(|held| held.metadata());
            file.is_ok_and(|data| data.is_file())
        })?;
        Some(self.shown(&self.resolved(&found)))
    }

    /// Returns the path inside of the root of the file that a path leads to, without links.
    pub(super) fn resolved(&self, path: &Path) -> PathBuf {
        let place = self.hold(path).and_then(|held| fs::read_link(held.link()));
        let place = place.unwrap_or_else(|_| path.to_path_buf());
        Path::new("/").join(place.strip_prefix(&self.path).unwrap_or(&place))
    }

    /// Returns the names in a folder, sorted; empty if there is no such folder.
    pub(super) fn names(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = self.hold(folder).and_then(|held| fs::read_dir(held.link()));
        let entries = entries.into_iter().flatten().flatten().take(MOST_FOLDERS);
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().into()).collect();
        names.sort();
        names
    }

    /// Returns the folders in which the loader searches for all programs. Does not read the
    /// loader's cache of them.
    fn library_folders(&self) -> Vec<PathBuf> {
        let parts = Path::new("/etc/ld.so.conf.d");
        let mut lists = vec![PathBuf::from("/etc/ld.so.conf")];
        lists.extend(self.names(parts).into_iter().map(|name| parts.join(name)));
        let is_list = |path: &PathBuf| path.extension().is_some_and(|end| end == "conf");
        let mut folders = Vec::new();
        for list in lists.into_iter().filter(is_list) {
            let text = self.hold(&list).and_then(|held| held.read(MOST_LIST_BYTES));
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or(line).trim());
            folders.extend(lines.filter(|line| line.starts_with('/')).map(PathBuf::from));
        }
        for folder in LIBRARY_FOLDERS.map(Path::new) {
            let names = self.names(folder).into_iter();
            let of_architecture =
                names.filter(|name| name.to_string_lossy().contains(OF_ARCHITECTURE));
            folders.extend(of_architecture.map(|name| folder.join(name)));
            folders.push(folder.to_path_buf());
        }
        folders.truncate(MOST_FOLDERS);
        folders
    }

    /// Returns the shared objects that the program at `path` would load, those that it needs itself
    /// first, without those that it opens only while it runs.
    ///
    /// # Errors
    /// The program is not an ELF file, or cannot be read.
    pub(super) fn objects(&self, path: &Path) -> Result<Vec<Loaded>, String> {
        let mut bytes_left = MOST_BYTES;
        let program = self.object(path, &mut bytes_left)?;
        let target = program.target;
        let folders = self.library_folders();
        let (mut seen, mut loaded) = (HashSet::new(), Vec::new());
        let mut queue = VecDeque::from([(program, Vec::new())]);
        while let Some((object, mut inherited)) = queue.pop_front() {
            // DT_RPATH also applies to objects that are loaded for this object. DT_RUNPATH applies
            // only to the object itself, and replaces any DT_RPATH.
            if object.runpath.is_empty() {
                inherited.splice(0..0, object.rpath.iter().cloned());
            }
            let own = if object.runpath.is_empty() { &inherited } else { &object.runpath };
            for name in &object.needed {
                if seen.len() >= MOST_OBJECTS || !seen.insert(name.clone()) {
                    continue;
                }
                let candidates: Vec<PathBuf> = if name.contains('/') {
                    vec![PathBuf::from(name)]
                } else {
                    own.iter().chain(&folders).map(|folder| folder.join(name)).collect()
                };
                let found = candidates.iter().find_map(|path| {
                    let object = self.object(path, &mut bytes_left).ok()?;
                    (object.target == target).then_some(object)
                });
                let needed = match &found {
                    Some(object) => Needed::At(object.place.clone()),
                    None => Needed::Missing(name.clone()),
                };
                let by = object.place.clone();
                loaded.push(Loaded { name: name.clone(), needed, by });
                queue.extend(found.map(|object| (object, inherited.clone())));
            }
        }
        Ok(loaded)
    }

    fn object(&self, path: &Path, bytes_left: &mut u64) -> Result<Object, String> {
        let error =
            |error: &dyn std::fmt::Display| format!("{}: {error}", self.shown(path).display());
        let held = self.hold(path).map_err(|other| error(&other))?;
        let bytes = held.read(*bytes_left).map_err(|other| error(&other))?;
        *bytes_left -= bytes.len() as u64;
        let place = fs::read_link(held.link()).map_err(|other| error(&other))?;
        let inside = place.strip_prefix(&self.path).unwrap_or(&place);
        let origin = Path::new("/").join(inside.parent().unwrap_or(Path::new("")));
        let mut object = match FileKind::parse(&*bytes) {
            Ok(FileKind::Elf32) => Object::parse::<FileHeader32<Endianness>>(&bytes, &origin),
            Ok(FileKind::Elf64) => Object::parse::<FileHeader64<Endianness>>(&bytes, &origin),
            _ => return Err(error(&"no ELF file")),
        }
        .map_err(|other| error(&other))?;
        object.place = place;
        Ok(object)
    }
}

/// The references of an ELF file to other files.
struct Object {
    /// The file's path, outside of the root.
    place: PathBuf,
    target: Target,
    needed: Vec<String>,
    rpath: Vec<PathBuf>,
    runpath: Vec<PathBuf>,
}

/// The kind of machine that a file is for. Programs load only files for their own kind.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Target {
    machine: Machine,
    is_64: bool,
    is_little_endian: bool,
}

impl Object {
    /// Parses a file; `origin` is its folder.
    fn parse<Elf: FileHeader<Endian = Endianness>>(
        bytes: &[u8],
        origin: &Path,
    ) -> object::read::Result<Self> {
        let header = Elf::parse(bytes)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, bytes)?;
        let dynamic =
            segments.iter().find_map(|segment| segment.dynamic(endian, bytes).transpose());
        let dynamic = dynamic.transpose()?.unwrap_or_default();
        let values = |tag| {
            let entries = dynamic.iter().filter(move |entry| entry.d_tag(endian) == tag);
            entries.map(|entry| -> u64 { entry.d_val(endian).into() })
        };
        let strings = values(DT_STRTAB).next().zip(values(DT_STRSZ).next());
        let strings = strings.and_then(|(address, size)| {
            let mut segments = segments.iter().filter(|s| s.p_type(endian) == PT_LOAD);
            segments.find_map(|s| s.data_range(endian, bytes, address, size).ok().flatten())
        });
        let strings = strings.unwrap_or_default();
        let texts = |tag| {
            values(tag).filter_map(|at| {
                let text =
                    strings.get(usize::try_from(at).ok()?..)?.split(|&byte| byte == 0).next()?;
                Some(String::from_utf8_lossy(text).into_owned())
            })
        };
        let folders = |tag| -> Vec<PathBuf> {
            let lists: Vec<String> = texts(tag).collect();
            let folders = lists.iter().flat_map(|list| list.split(':'));
            let folder = |text: &str| match ["$ORIGIN", "${ORIGIN}"]
                .into_iter()
                .find_map(|variable| text.strip_prefix(variable))
            {
                Some(rest) => origin.join(rest.trim_start_matches('/')),
                None => PathBuf::from(text),
            };
            // Other folders are relative to the program's working directory.
            folders.map(folder).filter(|folder| folder.is_absolute()).collect()
        };
        Ok(Object {
            place: PathBuf::new(),
            target: Target {
                machine: header.e_machine(endian),
                is_64: header.is_class_64(),
                is_little_endian: header.is_little_endian(),
            },
            needed: texts(DT_NEEDED).take(MOST_OBJECTS).collect(),
            rpath: folders(DT_RPATH),
            runpath: folders(DT_RUNPATH),
        })
    }
}
