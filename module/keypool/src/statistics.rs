//! Counters of the pools, without locks, and the page of shared memory through which other
//! processes may read them and the counts of handshakes.

use core::fmt;
use core::mem::offset_of;
use core::num::NonZeroUsize;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::ffi::CString;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, PermissionsExt};

use crate::handshakes::{HandshakeCounters, Handshakes, NegotiatedGroup, Role, Watch, watch};
use crate::kind::Purpose;
use fork::{PerProcess, Process};

/// A counter of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Items made.
    Generated,
    /// Requests that were served from stock.
    FromPool,
    /// Requests for which an item had to be made.
    Inline,
    /// Items erased because they were too old.
    Expired,
    /// Items that the parent process had in stock, wiped in this one.
    WipedByFork,
    /// Items erased by a flush, or because there was no room.
    Discarded,
    /// Requests of a process that may not keep a stock: there is no memory, or the kernel would not
    /// wipe it on fork.
    Unprotected,
    /// Pools whose memory may be swapped out, as the process may not lock that much.
    Unlocked,
    /// Key pairs in use that lie in unprotected memory: too many are in use at once.
    Exposed,
    /// Batches reduced to one item for lack of memory.
    OutOfMemory,
    /// Failures to start the background thread.
    WithoutThread,
    /// Batches of more than one item.
    Refills,
    /// Total nanoseconds of these.
    RefillNanoseconds,
    /// Nanoseconds of the slowest of them.
    SlowestRefillNanoseconds,
}

impl Counter {
    /// All counters.
    pub const ALL: [Counter; 14] = [
        Counter::Generated,
        Counter::FromPool,
        Counter::Inline,
        Counter::Expired,
        Counter::WipedByFork,
        Counter::Discarded,
        Counter::Unprotected,
        Counter::Unlocked,
        Counter::Exposed,
        Counter::OutOfMemory,
        Counter::WithoutThread,
        Counter::Refills,
        Counter::RefillNanoseconds,
        Counter::SlowestRefillNanoseconds,
    ];

    /// The name in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Generated => "generated",
            Counter::FromPool => "from_pool",
            Counter::Inline => "inline",
            Counter::Expired => "expired",
            Counter::WipedByFork => "wiped_by_fork",
            Counter::Discarded => "discarded",
            Counter::Unprotected => "unprotected",
            Counter::Unlocked => "unlocked",
            Counter::Exposed => "exposed",
            Counter::OutOfMemory => "out_of_memory",
            Counter::WithoutThread => "without_thread",
            Counter::Refills => "refills",
            Counter::RefillNanoseconds => "refill_nanoseconds",
            Counter::SlowestRefillNanoseconds => "slowest_refill_nanoseconds",
        }
    }

    /// The meaning, in a line.
    pub fn description(self) -> &'static str {
        match self {
            Counter::Generated => "items made",
            Counter::FromPool => "requests that the pool had an item for",
            Counter::Inline => "requests for which an item had to be made",
            Counter::Expired => "items erased because they were too old",
            Counter::WipedByFork => "items of a parent process that the kernel wiped",
            Counter::Discarded => "items erased by a flush, or for want of room",
            Counter::Unprotected => "requests of a process that may keep nothing",
            Counter::Unlocked => "pools whose memory may be swapped out",
            Counter::Exposed => "key pairs in use that lie in ordinary memory",
            Counter::OutOfMemory => "batches of one for want of memory",
            Counter::WithoutThread => "times that no thread could be started",
            Counter::Refills => "batches of more than one",
            Counter::RefillNanoseconds => "nanoseconds that batches took",
            Counter::SlowestRefillNanoseconds => "nanoseconds that the slowest batch took",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

const COUNTERS: usize = Counter::ALL.len();

/// The counters of a pool.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Counters([AtomicU64; COUNTERS]);

impl Counters {
    pub(crate) fn add(&self, counter: Counter, count: usize) {
        self.0[counter.index()].fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn refilled(&self, took: core::time::Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.add(Counter::Refills, 1);
        self.0[Counter::RefillNanoseconds.index()].fetch_add(nanoseconds, Ordering::Relaxed);
        self.0[Counter::SlowestRefillNanoseconds.index()].fetch_max(nanoseconds, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, counter: Counter) -> u64 {
        self.0[counter.index()].load(Ordering::Relaxed)
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts(Counter::ALL.map(|counter| self.get(counter)))
    }
}

/// The values of a pool's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; COUNTERS]);

impl Counts {
    /// The value of one counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter.index()]
    }

    /// Number of items that were in stock.
    pub fn stock(&self) -> u64 {
        let gone = [Counter::FromPool, Counter::Inline, Counter::Expired, Counter::Discarded];
        // Counters are read one after another while they change, and those of another process may
        // hold any numbers.
        gone.into_iter()
            .map(|counter| self.get(counter))
            .fold(self.get(Counter::Generated), u64::saturating_sub)
    }
}

/// Counters, shared with other processes or not.
pub(crate) enum Counted {
    Own(Box<Counters>),
    Shown(&'static Counters),
}

impl Counted {
    /// The counters of one pool of this process.
    pub(crate) fn new(shown: bool, process: Process, name: &str, purpose: Purpose) -> Self {
        let shown =
            shown.then(|| page(process)).flatten().and_then(|page| page.record(name, purpose));
        shown.map_or_else(|| Counted::Own(Box::default()), Counted::Shown)
    }
}

/// The page of a process, made if necessary.
fn page(process: Process) -> Option<&'static Mapped> {
    PAGE.get_or_make(process, |_| Mapped::new()).as_ref()
}

/// The counters of this process's handshakes.
fn handshake_counters() -> Option<&'static HandshakeCounters> {
    page(Process::current()).map(|page| &page.page().handshakes)
}

/// The same, if the process has a page.
fn present_handshake_counters() -> Option<&'static HandshakeCounters> {
    PAGE.get(Process::current())?.as_ref().map(|page| &page.page().handshakes)
}

/// Says whether this process and its children count handshakes from now on.
pub fn watch_handshakes(watch: Watch) {
    watch.set();
    if let Some(counters) = present_handshake_counters() {
        counters.watch(watch as u32);
    }
}

/// Counts a connection in the process's page, so that the page is there from the first one on.
/// Takes no lock.
pub fn count_connection() {
    if let Some(counters) = handshake_counters() {
        counters.watch(watch());
        counters.add_connection();
    }
}

/// Counts a handshake in the process's page. Takes no lock.
pub fn count_handshake(group: NegotiatedGroup, role: Role) {
    if let Some(counters) = handshake_counters() {
        counters.add(group, role);
    }
}

impl Deref for Counted {
    type Target = Counters;

    fn deref(&self) -> &Counters {
        match self {
            Counted::Own(counters) => counters,
            Counted::Shown(counters) => counters,
        }
    }
}

/// The name of the memory file in which a process publishes its counts: `/proc/PID/fd` has a link
/// to `/memfd:NAME (deleted)`. No other user can take the name first; it needs no file system, and
/// is removed with the process.
pub const PAGE_NAME: &str = "fastkex-statistics";

const MAGIC: [u8; 16] = *b"fastkex counts 2";
const NAME_BYTES: usize = 48;
/// The size is fixed: the memory cannot be truncated under the process, and readers know how much
/// to read.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
/// Two for each TLS group, and spare ones.
const RECORDS: usize = 64;

#[repr(C, align(64))]
struct Page {
    magic: [u8; 16],
    /// The process ID in the process's own namespace. Children inherit the file.
    process: u32,
    used: AtomicU32,
    handshakes: HandshakeCounters,
    records: [Slot; RECORDS],
}

#[repr(C, align(64))]
struct Slot {
    /// 0 until the record is complete, then 1 plus the index of the purpose in [`Purpose::ALL`].
    state: AtomicU32,
    name: [AtomicU32; NAME_BYTES / 4],
    counters: Counters,
}

/// The page of this process.
static PAGE: PerProcess<Option<Mapped>> = PerProcess::new();

/// A mapped page, for the rest of the process's life.
struct Mapped {
    page: NonNull<Page>,
    /// The descriptor through which other processes find the page.
    _file: File,
}

// SAFETY: the page holds atomics, and what is not atomic is never changed.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// `None` if there are no descriptors left, or no memory.
    fn new() -> Option<Self> {
        let file = memory_file()?;
        file.set_permissions(Permissions::from_mode(0o600)).ok()?;
        file.set_len(size_of::<Page>() as u64).ok()?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
            return None;
        }
        let bytes = NonZeroUsize::new(size_of::<Page>())?;
        // SAFETY: a new mapping, where the kernel likes.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes.get(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return None;
        }
        let page = NonNull::new(page.cast::<Page>())?;
        // SAFETY: the mapping is as large as a page and aligned as memory pages are; it is zero,
        // which all its fields may be. Nobody else has it.
        unsafe {
            (*page.as_ptr()).process = std::process::id();
            (*page.as_ptr()).handshakes.watch(watch());
            (*page.as_ptr()).magic = MAGIC;
        }
        Some(Mapped { page, _file: file })
    }

    fn page(&self) -> &'static Page {
        // SAFETY: the mapping stays as long as the process lives.
        unsafe { &*self.page.as_ptr() }
    }

    /// The record of this name and purpose, created if necessary. `None` if there is no room.
    fn record(&self, name: &str, purpose: Purpose) -> Option<&'static Counters> {
        let page = self.page();
        let name = words(name)?;
        let state = 1 + Purpose::ALL.iter().position(|&other| other == purpose)? as u32;
        let is_it = |slot: &&Slot| {
            slot.state.load(Ordering::Acquire) == state
                && slot.name.iter().zip(name).all(|(a, b)| a.load(Ordering::Relaxed) == b)
        };
        if let Some(slot) = page.records.iter().find(is_it) {
            return Some(&slot.counters);
        }
        let slot = page.records.get(page.used.fetch_add(1, Ordering::Relaxed) as usize)?;
        for (to, from) in slot.name.iter().zip(name) {
            to.store(from, Ordering::Relaxed);
        }
        slot.state.store(state, Ordering::Release);
        Some(&slot.counters)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: only a page that was never published is dropped; it was mapped with this size.
        unsafe { libc::munmap(self.page.as_ptr().cast(), size_of::<Page>()) };
    }
}

/// An empty memory file, closed on exec.
fn memory_file() -> Option<File> {
    let name = CString::new(PAGE_NAME).ok()?;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a string.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    // SAFETY: not negative, so a new descriptor.
    (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor) })
}

/// A name as words that can be shared; `None` if it is longer than `NAME_BYTES`.
fn words(name: &str) -> Option<[u32; NAME_BYTES / 4]> {
    let mut bytes = [0; NAME_BYTES];
    bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    let mut words = [0; NAME_BYTES / 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
    Some(words)
}

/// The published counts of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The process ID, in the process's own namespace.
    pub process: u32,
    /// Its handshakes.
    pub handshakes: Handshakes,
    /// One for each pool.
    pub records: Vec<Record>,
}

/// The published counts of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The pool's name.
    pub name: String,
    /// The use of its items.
    pub purpose: Purpose,
    /// Its counters.
    pub counts: Counts,
}

/// Reasons why a file is not a page of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// The file has another size.
    Length {
        /// Size of a page in bytes.
        expected: usize,
        /// Size of the file in bytes.
        actual: usize,
    },
    /// The file is not a memory file, or its size may change.
    Unsealed,
    /// The file does not start like a page of this release.
    Release,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Length { expected, actual } => {
                write!(f, "page of counts of {actual} bytes: expected {expected}")
            }
            PageError::Unsealed => f.write_str("page of counts that is no sealed memory file"),
            PageError::Release => f.write_str("page of counts of another release of fastkex"),
        }
    }
}

impl core::error::Error for PageError {}

/// Reads a memory file called [`PAGE_NAME`], which may belong to another user: exactly the size of
/// a page, and only if it is sealed. Names may hold any characters, and counts may be any numbers.
///
/// # Errors
/// The file cannot be read, or is not a page of this release; the error then holds a [`PageError`].
pub fn read_page_file(file: &File) -> io::Result<Snapshot> {
    let not_a_page = |error: PageError| io::Error::new(io::ErrorKind::InvalidData, error);
    let (expected, actual) = (size_of::<Page>(), file.metadata()?.len());
    if actual != expected as u64 {
        let actual = usize::try_from(actual).unwrap_or(usize::MAX);
        return Err(not_a_page(PageError::Length { expected, actual }));
    }
    // SAFETY: the descriptor is open.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & SEALS != SEALS {
        return Err(not_a_page(PageError::Unsealed));
    }
    let mut bytes = vec![0; expected]; // Public: counts.
    file.read_exact_at(&mut bytes, 0)?;
    read_page(&bytes).map_err(not_a_page)
}

/// Reads a page from the contents of a memory file called [`PAGE_NAME`].
///
/// # Errors
/// The contents are not a page of this release.
pub fn read_page(bytes: &[u8]) -> Result<Snapshot, PageError> {
    let expected = size_of::<Page>();
    if bytes.len() != expected {
        return Err(PageError::Length { expected, actual: bytes.len() });
    }
    if !bytes.starts_with(&MAGIC) {
        return Err(PageError::Release);
    }
    let slots = bytes[offset_of!(Page, records)..].chunks_exact(size_of::<Slot>());
    Ok(Snapshot {
        process: u32_at(bytes, offset_of!(Page, process)),
        handshakes: HandshakeCounters::read(&bytes[offset_of!(Page, handshakes)..]),
        records: slots.filter_map(read_record).collect(),
    })
}

fn read_record(slot: &[u8]) -> Option<Record> {
    let state = u32_at(slot, offset_of!(Slot, state)) as usize;
    let purpose = *Purpose::ALL.get(state.checked_sub(1)?)?;
    let name = &slot[offset_of!(Slot, name)..][..NAME_BYTES];
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    let counters = slot[offset_of!(Slot, counters)..].as_chunks().0;
    let counts = Counts(core::array::from_fn(|i| u64::from_ne_bytes(counters[i])));
    Some(Record { name, purpose, counts })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_places() {
        for (i, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter.index(), i);
        }
    }

    #[test]
    fn what_is_shown_can_be_read() {
        let process = Process::current();
        let keys = Counted::new(true, process, "statistics-test", Purpose::KeyPairs);
        let again = Counted::new(true, process, "statistics-test", Purpose::KeyPairs);
        let other = Counted::new(true, process, "statistics-test", Purpose::Encapsulations);
        let own = Counted::new(false, process, "statistics-own", Purpose::KeyPairs);
        let long = Counted::new(true, process, &"x".repeat(NAME_BYTES + 1), Purpose::KeyPairs);
        keys.add(Counter::Generated, 5);
        again.add(Counter::FromPool, 2);
        other.add(Counter::Inline, 7);
        own.add(Counter::Inline, 9);
        long.add(Counter::Inline, 11);

        let mut pages = Vec::new();
        for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
            let path = entry.unwrap().path();
            if std::fs::read_link(&path).is_ok_and(|to| to.to_string_lossy().contains(PAGE_NAME)) {
                pages.push(read_page_file(&File::open(&path).unwrap()).unwrap());
            }
        }
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0].process, std::process::id());
        let of_test = |record: &&Record| record.name.starts_with("statistics-");
        let records: Vec<_> = pages[0].records.iter().filter(of_test).collect();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].purpose, Purpose::KeyPairs);
        assert_eq!(records[0].counts, keys.counts());
        assert_eq!(records[0].counts.stock(), 3);
        assert_eq!(records[1].counts.get(Counter::Inline), 7);
    }

    #[test]
    fn handshakes_are_counted_by_group_and_role() {
        let counters = handshake_counters().unwrap();
        count_handshake(NegotiatedGroup::NONE, Role::Server);
        watch_handshakes(Watch::Late);
        count_connection();
        for _ in 0..3 {
            count_handshake(NegotiatedGroup::OTHER, Role::Client);
        }
        // SAFETY: the counters are memory of this size; nobody writes to it now.
        let bytes: &[u8] = unsafe {
            core::slice::from_raw_parts(
                ptr::from_ref(counters).cast(),
                size_of::<HandshakeCounters>(),
            )
        };
        let read = HandshakeCounters::read(bytes);
        assert_eq!((read.watch, read.connections), (Watch::Late, 1));
        assert_eq!(read.get(NegotiatedGroup::NONE, Role::Server), 1);
        assert_eq!(read.get(NegotiatedGroup::OTHER, Role::Client), 3);
        let all = NegotiatedGroup::all();
        let all = all.flat_map(|group| Role::ALL.map(|role| read.get(group, role)));
        assert_eq!(all.sum::<u64>(), 4);
        watch_handshakes(Watch::Off);
    }

    #[test]
    fn other_bytes_are_refused() {
        let length = PageError::Length { expected: size_of::<Page>(), actual: 3 };
        assert_eq!(read_page(&[0; 3]), Err(length));
        assert_eq!(read_page(&vec![0; size_of::<Page>()]), Err(PageError::Release));
    }

    #[test]
    fn other_files_are_refused() {
        let error = |file: &File| {
            let error = read_page_file(file).unwrap_err();
            *error.get_ref().unwrap().downcast_ref::<PageError>().unwrap()
        };
        let expected = size_of::<Page>();
        let file = memory_file().unwrap();
        file.set_len(600 << 20).unwrap();
        assert_eq!(error(&file), PageError::Length { expected, actual: 600 << 20 });
        file.set_len(expected as u64).unwrap();
        file.write_all_at(&MAGIC, 0).unwrap();
        assert_eq!(error(&file), PageError::Unsealed);
        let ordinary = tempfile::tempfile().unwrap();
        ordinary.set_len(expected as u64).unwrap();
        assert_eq!(error(&ordinary), PageError::Unsealed);
        for seals in [libc::F_SEAL_SHRINK, SEALS] {
            // SAFETY: the descriptor is open.
            assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
            if seals != SEALS {
                assert_eq!(error(&file), PageError::Unsealed);
            }
        }
        // The same file, once sealed, is a page; with other bytes it is not.
        assert_eq!(read_page_file(&file).unwrap().records, []);
        file.write_all_at(&[0], 0).unwrap();
        assert_eq!(error(&file), PageError::Release);
    }

    #[test]
    fn absurd_counts_are_no_stock() {
        let mut counts = Counts([u64::MAX; COUNTERS]);
        assert_eq!(counts.stock(), 0);
        counts.0[Counter::FromPool.index()] = 0;
        assert_eq!(counts.stock(), 0);
    }
}
