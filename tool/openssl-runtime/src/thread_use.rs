//! Records which threads hold per-thread state of a library context.
//!
//! A thread that draws random numbers from a library context gets its own generator in the context.
//! OpenSSL frees the generator with a handler at the thread's exit, which looks up the context.
//! `OSSL_LIB_CTX_free` removes the handlers of the calling thread, but cannot reach the handlers of
//! other threads (initthread.c says so). Those would later run on freed memory. Therefore every
//! thread that uses a context keeps it alive until it has called `OPENSSL_thread_stop_ex`: at the
//! thread's end, or when the last handle is dropped on that thread.

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use crate::raw_context::RawContext;

thread_local! {
    static USED: RefCell<Vec<ThreadUse>> = const { RefCell::new(Vec::new()) };
}

struct ThreadUse(Arc<RawContext>);

impl Drop for ThreadUse {
    fn drop(&mut self) {
        self.0.stop_thread();
    }
}

/// Records that this thread is about to use the context.
pub(crate) fn note(context: &Arc<RawContext>) {
    let noted = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        // The context that was used last is usually the one in use.
        if !used.iter().rev().any(|known| Arc::ptr_eq(&known.0, context)) {
            used.push(ThreadUse(context.clone()));
        }
    });
    if noted.is_err() {
        // The thread's thread-local destructors have already run, but OpenSSL's handler will still
        // run.
        mem::forget(context.clone());
    }
}

/// Ends this thread's use of the context when the context's last handle is dropped.
pub(crate) fn forget(context: &Arc<RawContext>) {
    let ended = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        let index = used.iter().position(|known| Arc::ptr_eq(&known.0, context));
        index.map(|index| used.swap_remove(index))
    });
    // Dropped here, after the end of the borrow.
    drop(ended);
}
