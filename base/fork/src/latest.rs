//! A shared value that is read and replaced without a lock.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A value that threads read and replace without a lock. A lock could be held by another thread at
/// the moment of a fork, and would then stay held in the child.
///
/// A replaced value is dropped as soon as no thread uses the cell, at the latest with the cell. A
/// child that was forked in the middle of such a use drops replaced values only with the cell.
#[derive(Debug)]
pub struct Latest<T> {
    latest: AtomicPtr<Node<T>>,
    /// Number of threads that are reading or replacing the value.
    users: AtomicUsize,
}

#[derive(Debug)]
struct Node<T> {
    value: T,
    /// The values that this one replaced, until they are dropped.
    older: AtomicPtr<Node<T>>,
}

/// Counts a thread as a user of the cell from `enter` to the drop.
struct User<'a>(&'a AtomicUsize);

impl<'a> User<'a> {
    fn enter(users: &'a AtomicUsize) -> Self {
        users.fetch_add(1, Ordering::SeqCst);
        User(users)
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<T> Latest<T> {
    /// A cell that holds `value`, or nothing.
    pub fn new(value: Option<T>) -> Self {
        let node = value.map_or(ptr::null_mut(), Node::boxed);
        Latest { latest: AtomicPtr::new(node), users: AtomicUsize::new(0) }
    }

    /// Replaces the value by `value`.
    pub fn set(&self, value: T) {
        let _user = User::enter(&self.users);
        let new = Node::boxed(value);
        let mut before = self.latest.load(Ordering::SeqCst);
        // SAFETY: `new` is ours until it is published, and stays while we are counted as a user:
        // only a user that is alone frees.
        let older = unsafe { &(*new).older };
        loop {
            older.store(before, Ordering::Relaxed);
            let exchange =
                self.latest.compare_exchange(before, new, Ordering::SeqCst, Ordering::SeqCst);
            match exchange {
                Ok(_) => break,
                Err(other) => before = other,
            }
        }
        // A thread that is the only user now has exclusive access to `older`; later users start at
        // `new` or at a newer value.
        if self.users.load(Ordering::SeqCst) == 1 {
            let older = older.swap(ptr::null_mut(), Ordering::SeqCst);
            // SAFETY: a list of nodes that were published, and that nobody else can reach.
            unsafe { Node::free(older) };
        }
    }
}

impl<T: Clone> Latest<T> {
    /// A clone of the value; `None` if the cell is empty.
    pub fn get(&self) -> Option<T> {
        let _user = User::enter(&self.users);
        // SAFETY: null, or published; what is published is not freed while we are counted as a
        // user.
        let node = unsafe { self.latest.load(Ordering::SeqCst).as_ref() };
        node.map(|node| node.value.clone())
    }
}

impl<T> Node<T> {
    fn boxed(value: T) -> *mut Self {
        Box::into_raw(Box::new(Node { value, older: AtomicPtr::new(ptr::null_mut()) }))
    }

    /// Frees a node and all older ones in a loop, not recursively.
    ///
    /// # Safety
    /// `node` is null or comes from [`Node::boxed`], as do all older ones, and no thread uses them
    /// any more.
    unsafe fn free(mut node: *mut Self) {
        while !node.is_null() {
            // SAFETY: by the caller's promise.
            let mut last = unsafe { Box::from_raw(node) };
            node = *last.older.get_mut();
        }
    }
}

impl<T> Drop for Latest<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the cell any more.
        unsafe { Node::free(*self.latest.get_mut()) };
    }
}

// SAFETY: as an `Arc` of it, from which copies are taken.
unsafe impl<T: Send + Sync> Send for Latest<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Latest<T> {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    #[test]
    fn the_latest_value_is_read_and_older_ones_are_dropped() {
        let cell = Latest::new(None);
        assert_eq!(cell.get(), None::<Arc<u32>>);
        let (first, second) = (Arc::new(1), Arc::new(2));
        cell.set(Arc::clone(&first));
        assert_eq!(cell.get().as_deref(), Some(&1));
        cell.set(Arc::clone(&second));
        assert_eq!(cell.get().as_deref(), Some(&2));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 2));
        drop(cell);
        assert_eq!(Arc::strong_count(&second), 1);
        let whole = Latest::new(Some(Arc::clone(&first)));
        assert_eq!(whole.get().as_deref(), Some(&1));
    }

    /// A value that is replaced while the cell is in use is dropped by the next change without
    /// users.
    #[test]
    fn a_value_outlives_its_users() {
        let cell = Latest::new(Some(Arc::new(1)));
        let user = User::enter(&cell.users);
        let first = Arc::downgrade(&cell.get().unwrap());
        cell.set(Arc::new(2));
        assert!(first.upgrade().is_some());
        drop(user);
        cell.set(Arc::new(3));
        assert!(first.upgrade().is_none());
        // A long list of old values is freed in a loop: the stack does not grow.
        let user = User::enter(&cell.users);
        (0..100_000).for_each(|i| cell.set(Arc::new(i)));
        drop(user);
    }

    #[test]
    fn threads_read_and_replace_at_once() {
        const ROUNDS: u64 = if cfg!(miri) { 100 } else { 20_000 };
        let (cell, done) = (Latest::new(Some(Arc::new([0; 4]))), AtomicBool::new(false));
        let alive = Arc::new(());
        let kept = Latest::new(Some(Arc::new((0, Arc::clone(&alive)))));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let [first, rest @ ..] = *cell.get().unwrap();
                        assert!(rest.iter().all(|&word| word == first));
                        kept.get().unwrap();
                    }
                });
            }
            let writers = [1, 2].map(|writer| {
                let (cell, kept, alive) = (&cell, &kept, &alive);
                scope.spawn(move || {
                    for i in 0..ROUNDS {
                        cell.set(Arc::new([writer * ROUNDS + i; 4]));
                        kept.set(Arc::new((i, Arc::clone(alive))));
                    }
                })
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
        kept.set(Arc::new((0, Arc::clone(&alive))));
        assert_eq!(Arc::strong_count(&alive), 2, "all others were dropped");
        drop(kept);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
