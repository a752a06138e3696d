//! A linked object: its functions, its constant sections, and the function for each slot of its
//! tables.

use std::collections::{BTreeMap, HashMap};

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind,
    SymbolKind,
};

/// A function's place and name.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, demangled and without hashes.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its machine code.
    pub code: Vec<u8>,
}

/// The value that the loader stores in a word of the object's tables.
#[derive(Clone, Debug)]
enum Slot {
    Named(String),
    Address(u64),
}

/// A parsed linked object.
pub struct Image {
    functions: BTreeMap<u64, Function>,
    slots: HashMap<u64, Slot>,
    /// Sections that are not written after loading: start, end, and true for code.
    constant: Vec<(u64, u64, bool)>,
}

/// The contents at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// Constants.
    Constant,
    /// A function, with its name.
    Code(&'a str),
    /// Anything else.
    Variable,
}

impl Image {
    /// Reads an executable or shared object with its symbols.
    ///
    /// # Errors
    /// The file is not an object for x86-64, or was stripped of its symbols.
    pub fn read(file: &[u8]) -> Result<Image, String> {
        let object = object::File::parse(file).map_err(|error| error.to_string())?;
        if object.architecture() != object::Architecture::X86_64 {
            return Err(format!("made for {:?}, not for x86-64", object.architecture()));
        }
        let mut constant = Vec::new();
        for section in object.sections() {
            let read_only = matches!(
                section.kind(),
                SectionKind::Text | SectionKind::ReadOnlyData | SectionKind::ReadOnlyString
            );
            // Tables that the loader fills in, and then protects.
            let protected = matches!(section.name(), Ok(".data.rel.ro" | ".got"));
            if section.address() != 0 && (read_only || protected) {
                let end = section.address() + section.size();
                constant.push((section.address(), end, section.kind() == SectionKind::Text));
            }
        }
        let mut functions = BTreeMap::new();
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
                continue;
            }
            let section = symbol.section_index().and_then(|i| object.section_by_index(i).ok());
            let code = section
                .and_then(|section| section.data_range(symbol.address(), symbol.size()).ok())
                .flatten();
            if let (Ok(name), Some(code)) = (symbol.name(), code) {
                let (name, address) = (demangled(name), symbol.address());
                functions.entry(address).or_insert(Function { name, address, code: code.into() });
            }
        }
        if functions.is_empty() {
            return Err("no symbols in it: it was stripped".into());
        }
        let mut slots = HashMap::new();
        for (address, relocation) in object.dynamic_relocations().into_iter().flatten() {
            let slot = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let symbols = object.dynamic_symbol_table();
                    let symbol = symbols.and_then(|table| table.symbol_by_index(index).ok());
                    match symbol.as_ref().and_then(|symbol| symbol.name().ok()) {
                        Some(name) => Slot::Named(demangled(name)),
                        None => continue,
                    }
                }
                _ => Slot::Address(relocation.addend() as u64),
            };
            slots.insert(address, slot);
        }
        Ok(Image { functions, slots, constant })
    }

    /// Returns its functions, in the order of their addresses.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.values()
    }

    /// Returns the function that contains `address`.
    pub fn function_at(&self, address: u64) -> Option<&Function> {
        let (start, function) = self.functions.range(..=address).next_back()?;
        (address - start < function.code.len() as u64).then_some(function)
    }

    /// Returns the contents at `address`.
    pub(crate) fn place(&self, address: u64) -> Place<'_> {
        match self.constant.iter().find(|(start, end, _)| (*start..*end).contains(&address)) {
            Some((_, _, true)) => Place::Code(self.function_name(address)),
            Some(_) => Place::Constant,
            None => Place::Variable,
        }
    }

    /// Returns the target of the word at `address`, if the loader makes it a pointer.
    pub(crate) fn pointee(&self, address: u64) -> Option<Place<'_>> {
        self.slots.get(&address).map(|slot| match slot {
            Slot::Named(name) => Place::Code(name),
            Slot::Address(address) => self.place(*address),
        })
    }

    /// Returns the name of the function that starts at `address`, or a question mark.
    pub(crate) fn function_name(&self, address: u64) -> &str {
        self.functions.get(&address).map_or("?", |function| &function.name)
    }
}

/// Returns a readable name without its hash.
fn demangled(name: &str) -> String {
    // The linker's versions (memcpy@GLIBC_2.14) are not part of the name.
    let name = name.split('@').next().unwrap_or(name);
    format!("{:#}", rustc_demangle::demangle(name))
}
