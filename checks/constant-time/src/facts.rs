//! Facts about a function as a whole: the words that are pointers, and the arrays on the stack.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Value, Word};

/// Facts about a function as a whole. Each pass over the function starts from the facts of the pass
/// before.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    words: Vec<Word>,
    /// Words through which memory was read or written.
    pointers: BTreeSet<usize>,
    /// Words that point to memory with pointers in it.
    holders: BTreeSet<usize>,
    /// Places on the stack whose address is taken, or is the start of an address computation.
    taken: BTreeSet<i64>,
    /// Arrays on the stack or parts of them, start and end: targets of vector stores, or memory
    /// that a call fills or copies.
    arrays: BTreeMap<i64, i64>,
    /// The parts of the stack that may be written through addresses.
    writable: Vec<(i64, i64)>,
    /// The end of the stack, including the usable part beyond its pointer.
    bottom: i64,
    /// Stores to places on the stack: their size, and true if the word is public. First as of the
    /// last walk, then as of this one.
    stored: [BTreeMap<i64, (usize, bool)>; 2],
    /// The least possible places of stores of non-public values to an unknown place. First as of
    /// the last walk, then as of this one.
    unknown_stores: [BTreeSet<i64>; 2],
    /// The number of walks, up to 2.
    walks: u8,
    /// Calls by the address of the instruction: the callee's name, and true if it returns.
    pub(crate) calls: BTreeMap<u64, (String, bool)>,
}

impl Facts {
    pub(crate) fn new() -> Self {
        Facts {
            words: (0..16).map(Word::Argument).collect(),
            pointers: BTreeSet::new(),
            holders: BTreeSet::new(),
            taken: BTreeSet::new(),
            arrays: BTreeMap::new(),
            writable: Vec::new(),
            bottom: 0,
            walks: 0,
            stored: Default::default(),
            unknown_stores: Default::default(),
            calls: BTreeMap::new(),
        }
    }

    fn word(&mut self, word: Word) -> usize {
        self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        })
    }

    /// Records that memory is reached through this value: it is a pointer, or a pointer and an
    /// offset.
    pub(crate) fn reaches_through(&mut self, value: Value<'_>) {
        if let Some(word) = value.pointer()
            && self.pointers.insert(word)
            && let Some(Word::At(base, _) | Word::Among(base, _)) = self.words.get(word)
        {
            self.holders.insert(*base);
        }
    }

    /// Returns true if this word points to memory with pointers in it, such as arguments, and not
    /// to data.
    pub(crate) fn holds_pointers(&self, word: usize) -> bool {
        self.holders.contains(&word)
    }

    fn is_pointer(&self, word: Word) -> bool {
        let number = self.words.iter().position(|known| *known == word);
        number.is_some_and(|number| self.pointers.contains(&number))
    }

    /// Returns the abstract value of a word in memory. A word through which memory is reached is a
    /// pointer, and words beside a pointer are pointers and lengths. On the stack, which may have
    /// any contents, this holds only for the next word on either side.
    pub(crate) fn load<'a>(&mut self, word: Word) -> Value<'a> {
        let public = match word {
            Word::Argument(_) => true,
            Word::At(base, _) | Word::Among(base, _) => self.holders.contains(&base),
            Word::OnStack(place) => [place - 8, place, place + 8]
                .map(Word::OnStack)
                .iter()
                .any(|&word| self.is_pointer(word)),
        };
        let number = self.word(word);
        if public { Value::Pointer(number, Some(0)) } else { Value::Loaded(Some(number), Some(0)) }
    }

    /// Records that a stack address is no longer tracked.
    pub(crate) fn escape(&mut self, value: Value<'_>) {
        if let Some(place) = value.place_on_stack()
            && self.taken.insert(place)
        {
            self.find_writable();
        }
    }

    /// Begins another walk.
    pub(crate) fn next_walk(&mut self) {
        self.walks = (self.walks + 1).min(2);
        self.stored.swap(0, 1);
        self.stored[1].clear();
        self.unknown_stores.swap(0, 1);
        self.unknown_stores[1].clear();
    }

    /// Records a store to a place on the stack, or to an unknown place from there on.
    pub(crate) fn store(&mut self, at: Value<'_>, bytes: usize, public: bool) {
        match at {
            Value::Stack(place) => {
                let stored = self.stored[1].entry(place).or_insert((bytes, public));
                *stored = (stored.0.max(bytes), stored.1 && public);
            }
            Value::Frame(place) if !public => {
                self.unknown_stores[1].insert(place);
            }
            _ => {}
        }
    }

    /// Returns true if all values stored from a place on the stack on are public, as far as the
    /// stores are contiguous.
    pub(crate) fn is_public_from(&self, place: i64) -> bool {
        const LARGEST: i64 = 64;
        // The value of a counter on the stack, before it was incremented, is not known in the first
        // walk.
        if self.walks < 2 {
            return true;
        }
        let [stored, _] = &self.stored;
        let [unknown_stores, _] = &self.unknown_stores;
        let mut end = place;
        for (&start, &(bytes, public)) in stored.range(place - LARGEST..) {
            let its_end = start + bytes as i64;
            if its_end <= place {
                continue;
            }
            if start > end {
                break;
            }
            if !public {
                return false;
            }
            end = end.max(its_end);
        }
        end > place && unknown_stores.range(..end).next_back().is_none_or(|&last| last < place)
    }

    /// Records a position of the stack pointer.
    pub(crate) fn stack_pointer_at(&mut self, pointer: Value<'_>) {
        /// The red zone that leaf functions may use (System V ABI, section 3.2.2).
        const RED_ZONE: i64 = 128;
        if let Value::Stack(offset) = pointer
            && offset - RED_ZONE < self.bottom
        {
            self.bottom = offset - RED_ZONE;
            self.find_writable();
        }
    }

    /// Records an array on the stack, or a part of one.
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
        self.find_writable();
    }

    /// Finds the parts of the stack that may be written through addresses. If an address of an
    /// array's part was taken, these are that part and the adjacent parts above. If an address
    /// belongs to no array, the word at it may be written. An array's addresses begin some vectors
    /// before it and include its end, as indices may start above zero. An address beyond the
    /// stack's end is not considered: it is an array's address minus the least index.
    fn find_writable(&mut self) {
        const BEFORE: i64 = 128;
        self.writable.clear();
        for &place in self.taken.range(self.bottom..) {
            let below = self.arrays.range(..=place).next_back().filter(|(_, end)| **end >= place);
            let above = self.arrays.range(place..place + BEFORE).next();
            let Some((&start, &end)) = below.or(above) else {
                self.writable.push((place, place + 1));
                continue;
            };
            let mut end = end;
            for (&next, &its_end) in self.arrays.range(end..) {
                if next > end {
                    break;
                }
                end = its_end;
            }
            self.writable.push((start, end));
        }
    }

    /// Returns true if a place on the stack may be written through an address.
    pub(crate) fn is_writable(&self, start: i64, bytes: usize) -> bool {
        let end = start.wrapping_add(bytes as i64);
        self.writable.iter().any(|&(its_start, its_end)| its_start < end && start < its_end)
    }
}
