//! What is learnt about a function as a whole: which words are pointers, and where it has arrays on the stack.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Value, Word};

/// What was learnt about a function as a whole; each pass over it starts from what the last one learnt.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Learnt {
    words: Vec<Word>,
    /// Words through which memory was read or written.
    pub(crate) pointers: BTreeSet<usize>,
    /// Places on the stack whose address is taken, or from which on it is computed.
    taken: BTreeSet<i64>,
    /// Arrays on the stack or parts of them, start and end: what vectors are stored to, or is filled or copied by a call.
    arrays: BTreeMap<i64, i64>,
    /// What of the stack may be written through addresses.
    lost: Vec<(i64, i64)>,
    /// Where the stack ends, with what may be used beyond its pointer.
    bottom: i64,
    /// Start and name of callees that do not return, and that do.
    pub(crate) calls: BTreeMap<u64, (String, bool)>,
}

impl Learnt {
    pub(crate) fn new() -> Self {
        Learnt {
            words: (0..16).map(Word::Argument).collect(),
            pointers: BTreeSet::new(),
            taken: BTreeSet::new(),
            arrays: BTreeMap::new(),
            lost: Vec::new(),
            bottom: 0,
            calls: BTreeMap::new(),
        }
    }

    fn word(&mut self, word: Word) -> usize {
        self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        })
    }

    fn is_pointer(&self, word: Word) -> bool {
        self.words
            .iter()
            .position(|known| *known == word)
            .is_some_and(|i| self.pointers.contains(&i))
    }

    /// The word at a distance from where another one points to. What memory is reached through is a pointer, and the word after a
    /// pointer is the length of what it points to; secrets are neither.
    pub(crate) fn load<'a>(&mut self, base: usize, offset: i64) -> Value<'a> {
        let word = Word::At(base, offset);
        let public = self.is_pointer(word) || self.is_pointer(Word::At(base, offset - 8));
        let number = self.word(word);
        if public { Value::Pointer(number, Some(0)) } else { Value::Loaded(Some(number), Some(0)) }
    }

    /// A stack address is no longer known for what it is.
    pub(crate) fn escape(&mut self, value: Value<'_>) {
        if let Some(place) = value.place_on_stack()
            && self.taken.insert(place)
        {
            self.find_lost();
        }
    }

    /// The stack pointer was here.
    pub(crate) fn reaches(&mut self, pointer: Value<'_>) {
        /// What leaf functions may use (System V ABI, section 3.2.2).
        const RED_ZONE: i64 = 128;
        if let Value::Stack(offset) = pointer
            && offset - RED_ZONE < self.bottom
        {
            self.bottom = offset - RED_ZONE;
            self.find_lost();
        }
    }

    /// There is an array on the stack, or a part of one.
    pub(crate) fn array(&mut self, start: i64, bytes: i64) {
        let (mut start, mut end) = (start, start.wrapping_add(bytes));
        if self.arrays.get(&start) == Some(&end) {
            return;
        }
        while let Some((&other, &its_end)) = self.arrays.range(..end).next_back()
            && its_end > start
        {
            self.arrays.remove(&other);
            (start, end) = (start.min(other), end.max(its_end));
        }
        self.arrays.insert(start, end);
        self.find_lost();
    }

    /// Finds what of the stack may be written through addresses: of an array of which an address was taken, that part and those
    /// that touch it above; and all that is above an address of no array. An array's addresses begin some vectors before it and
    /// include its end: indices may start at more than zero. An address beyond the stack's end is some array's, too, less an index
    /// that is at least so much.
    fn find_lost(&mut self) {
        const BEFORE: i64 = 128;
        self.lost.clear();
        for &place in self.taken.range(self.bottom..) {
            let below = self.arrays.range(..=place).next_back().filter(|(_, end)| **end >= place);
            let above = self.arrays.range(place..place + BEFORE).next();
            let Some((&start, &end)) = below.or(above) else {
                self.lost.push((place, i64::MAX));
                continue;
            };
            let mut end = end;
            for (&next, &its_end) in self.arrays.range(end..) {
                if next > end {
                    break;
                }
                end = its_end;
            }
            self.lost.push((start, end));
        }
    }

    /// Whether what is at a place on the stack may be written through an address.
    pub(crate) fn is_lost(&self, start: i64, bytes: usize) -> bool {
        let end = start.wrapping_add(bytes as i64);
        self.lost.iter().any(|&(its_start, its_end)| its_start < end && start < its_end)
    }
}
