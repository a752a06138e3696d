//! Which threads hold per-thread state of a library context.
//!
//! A thread that draws random numbers from a library context gets a generator of its own there, and OpenSSL frees
//! it with a handler at the thread's exit that looks the context up. `OSSL_LIB_CTX_free` takes back the handlers of
//! the thread that calls it, but cannot reach those of others (initthread.c says so), which would later run on freed
//! memory. So every thread that uses a context keeps it alive until it has let go of it with
//! `OPENSSL_thread_stop_ex`: at the thread's end, or when the last handle is dropped on that thread.

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use crate::context::RawContext;

thread_local! {
    static USED: RefCell<Vec<ThreadUse>> = const { RefCell::new(Vec::new()) };
}

struct ThreadUse(Arc<RawContext>);

impl Drop for ThreadUse {
    fn drop(&mut self) {
        self.0.stop_thread();
    }
}

/// Notes that this thread is about to use the context.
pub(crate) fn note(context: &Arc<RawContext>) {
    let noted = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        // The context in use is most often the one used last.
        if !used.iter().rev().any(|known| Arc::ptr_eq(&known.0, context)) {
            used.push(ThreadUse(context.clone()));
        }
    });
    if noted.is_err() {
        // The thread is past its thread-local destructors; OpenSSL's handler is still to come.
        mem::forget(context.clone());
    }
}

/// Ends this thread's use of the context, whose last handle is being dropped.
pub(crate) fn forget(context: &Arc<RawContext>) {
    let ended = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        let index = used.iter().position(|known| Arc::ptr_eq(&known.0, context));
        index.map(|index| used.swap_remove(index))
    });
    // Dropped here, outside of the borrow.
    drop(ended);
}
