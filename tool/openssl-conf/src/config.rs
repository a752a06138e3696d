//! A configuration as it was read: sections of settings with their origins.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::parse;

/// Where a setting was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The file, as it was named.
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
    /// The key, as written: OpenSSL takes no escapes back in it.
    pub key: String,
    /// The value, with escapes taken back and variables expanded.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

/// A section with its settings.
#[derive(Clone, Debug, Default)]
pub struct Section {
    name: String,
    // An overridden setting leaves a hole: the new one goes to the end, as in OpenSSL.
    entries: Vec<Option<Entry>>,
    index: HashMap<String, usize>,
}

impl Section {
    /// The section's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings in OpenSSL's order: one that was set again stands where it was set last.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// The setting of this section with that key, without a look into other sections.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.index.get(key).and_then(|&at| self.entries[at].as_ref())
    }

    /// How many settings it has.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is set.
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

/// An `.include` that brought nothing, which OpenSSL passes over in silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedInclude {
    /// What was to be included.
    pub path: PathBuf,
    /// Where the `.include` stands.
    pub origin: Origin,
    /// Why nothing came of it.
    pub reason: String,
}

/// A configuration: a file and everything it includes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    sections: Vec<Section>,
    index: HashMap<String, usize>,
    pub(crate) files: Vec<Arc<Path>>,
    pub(crate) skipped: Vec<SkippedInclude>,
}

impl Config {
    /// Reads the file at `path` and what it includes; `env` answers for the environment, which `$ENV::X` and
    /// `OPENSSL_CONF_INCLUDE` read. As in OpenSSL, relative paths start from the working directory.
    ///
    /// # Errors
    /// What OpenSSL refuses, with the file and line, and files that cannot be read whole (see the crate's page).
    pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        parse::load(path, env)
    }

    /// Reads `text` as the contents of a file that messages call `name`, and what it includes.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(
        text: &str,
        name: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        parse::parse(text.as_bytes().to_vec(), name, env)
    }

    /// The section of that name. `default` always exists: it holds what stands before the first header.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.index.get(name).map(|&at| &self.sections[at])
    }

    /// All sections, in the order in which they first appeared.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter()
    }

    /// The setting that a look-up in `section` finds: its own, else that of `default`.
    ///
    /// OpenSSL answers for the section `ENV` with the environment too; here that happens only while a file is read.
    pub fn get(&self, section: &str, key: &str) -> Option<&Entry> {
        self.own(section, key).or_else(|| self.own("default", key))
    }

    /// The files that were read, in that order, the main file first. One that was included twice appears twice.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &**file)
    }

    /// The `.include` lines that brought nothing.
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
