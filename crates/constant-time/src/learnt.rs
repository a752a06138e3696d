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
    /// Arrays on the stack, start and end: what vectors are stored to, or is filled or copied by a call.
    arrays: BTreeMap<i64, i64>,
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
        self.taken.extend(value.place_on_stack());
    }

    /// There is an array on the stack; arrays that touch count as one.
    pub(crate) fn array(&mut self, start: i64, bytes: i64) {
        let (mut start, mut end) = (start, start.wrapping_add(bytes));
        while let Some((&other, &its_end)) = self.arrays.range(..=end).next_back()
            && its_end >= start
        {
            self.arrays.remove(&other);
            (start, end) = (start.min(other), end.max(its_end));
        }
        self.arrays.insert(start, end);
    }

    /// Whether what is at a place on the stack may be written through an address: it is in an array, or above an address that was
    /// taken and is that of no array. One end of an array is an address of it as the other.
    pub(crate) fn is_lost(&self, start: i64, bytes: usize) -> bool {
        let end = start.wrapping_add(bytes as i64);
        let before = |place: i64| self.arrays.range(..place).next_back();
        let in_array = before(end).is_some_and(|(_, its_end)| *its_end > start);
        let has_array = |place: i64| before(place + 1).is_some_and(|(_, end)| *end >= place);
        in_array || self.taken.range(..end).any(|&place| !has_array(place))
    }
}
