//! A configuration as it was read: sections of settings with their origins.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file and line of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file's path, as it was given.
    pub file: Arc<Path>,
    /// The line (from 1) where the statement begins.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key as written: OpenSSL does not process escapes in keys.
    pub key: String,
    /// The value, with escapes processed and variables expanded.
    pub value: String,
    /// The file and line of the setting.
    pub origin: Origin,
}

/// A section with its settings.
#[derive(Clone, Debug, Default)]
pub struct Section {
    name: String,
    // A setting that is overridden leaves a `None`. As in OpenSSL, the new setting goes to the end.
    entries: Vec<Option<Entry>>,
    index: HashMap<String, usize>,
}

impl Section {
    /// Returns the section's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the settings in OpenSSL's order: a setting that was set again stands at the position
    /// where it was set last.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Returns the setting of this section with that key. Does not look into other sections.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.index.get(key).and_then(|&at| self.entries[at].as_ref())
    }

    /// Returns the number of settings.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True if the section has no settings.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    fn set(&mut self, entry: Entry) {
        let at = self.entries.len();
        if let Some(old) = self.index.insert(entry.key.clone(), at) {
            self.entries[old] = None;
        }
        self.entries.push(Some(entry));
    }
}

/// An `.include` that added nothing. OpenSSL skips it silently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedInclude {
    /// The path to include.
    pub path: PathBuf,
    /// The file and line of the `.include`.
    pub origin: Origin,
    /// The reason why it added nothing.
    pub reason: String,
}

/// A configuration: a file and all files that it includes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    sections: Vec<Section>,
    index: HashMap<String, usize>,
    pub(crate) files: Vec<Arc<Path>>,
    pub(crate) skipped: Vec<SkippedInclude>,
}

impl Config {
    /// Returns the section of that name. `default` always exists: it holds the settings before the
    /// first section header.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.index.get(name).map(|&at| &self.sections[at])
    }

    /// Returns all sections, in the order of their first appearance.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter()
    }

    /// Looks up a setting: in `section` first, then in `default`.
    ///
    /// OpenSSL also looks up the section `ENV` in the environment. This function does not:
    /// variables of the environment are expanded only while a file is read.
    pub fn get(&self, section: &str, key: &str) -> Option<&Entry> {
        self.own(section, key).or_else(|| self.own("default", key))
    }

    /// Returns the files that were read, in that order, the main file first. A file that was
    /// included twice appears twice.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &**file)
    }

    /// Returns the `.include` lines that added nothing.
    pub fn skipped_includes(&self) -> &[SkippedInclude] {
        &self.skipped
    }

    pub(crate) fn own(&self, section: &str, key: &str) -> Option<&Entry> {
        self.section(section).and_then(|section| section.get(key))
    }

    pub(crate) fn open(&mut self, section: &str) -> &mut Section {
        let at = *self.index.entry(section.to_owned()).or_insert_with(|| {
            self.sections.push(Section { name: section.to_owned(), ..Section::default() });
            self.sections.len() - 1
        });
        &mut self.sections[at]
    }

    pub(crate) fn set(&mut self, section: &str, entry: Entry) {
        self.open(section).set(entry);
    }
}
