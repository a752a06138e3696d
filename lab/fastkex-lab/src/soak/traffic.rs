//! Threads that fetch pages.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use output::Failure;

use crate::client::Client;
use crate::demo::observed_group::in_nginx_page;

/// Enough to keep two processors busy while some threads wait.
const THREADS: usize = 4;

/// The running threads.
pub(crate) struct Traffic {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    client: Client,
    port: u16,
    /// The number of pages still to fetch.
    wanted: AtomicU64,
    pages: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Traffic {
    /// Starts to fetch `pages` pages.
    pub(crate) fn start(client: Client, port: u16, pages: u64) -> Self {
        let shared = Arc::new(Shared {
            client,
            port,
            wanted: AtomicU64::new(pages),
            pages: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        });
        let start = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.fetch_all())
        };
        Self { threads: (0..THREADS).map(start).collect(), shared }
    }

    /// Returns the number of pages fetched.
    pub(crate) fn pages(&self) -> u64 {
        self.shared.pages.load(Ordering::Relaxed)
    }

    /// Returns true if a page failed. No more pages are fetched then.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Returns true if all threads have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Stops the threads and returns the first failure.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.shared.wanted.store(0, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| Failure::new("a client panicked"))?;
        }
        let mut failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }
}

impl Shared {
    fn fetch_all(&self) {
        let one_less = |wanted: u64| wanted.checked_sub(1);
        while self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            match self.fetch() {
                Ok(()) => drop(self.pages.fetch_add(1, Ordering::Relaxed)),
                Err(failure) => {
                    let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(failure);
                    self.wanted.store(0, Ordering::Relaxed);
                    self.failed.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Fetches a page, for which both handshakes must use the group.
    fn fetch(&self) -> Result<(), Failure> {
        let mut stream = self.client.connect(self.port)?;
        let mut page = String::new();
        stream
            .write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            .and_then(|()| stream.read_to_string(&mut page))
            .map_err(Failure::about("a page"))?;
        stream.close().map_err(Failure::about("closing"))?;
        match in_nginx_page(&page) {
            Some(group) if group == self.client.group.name => Ok(()),
            Some(group) => Err(Failure::new(format!("nginx used {group} to itself"))),
            None => Err(Failure::new(format!("a page came that says {page:?}"))),
        }
    }
}
