use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A value that threads read and replace without a lock, which a child of fork could inherit from a thread that it does not have.
///
/// A value that was replaced is dropped as soon as nobody uses the cell, at the latest with the cell. A child that was forked from
/// the middle of a use of the cell drops what it replaces with the cell only.
#[derive(Debug)]
pub struct Latest<T> {
    latest: AtomicPtr<Node<T>>,
    /// Threads that are reading or replacing the value.
    users: AtomicUsize,
}

#[derive(Debug)]
struct Node<T> {
    value: T,
    /// What this value replaced, until it is dropped.
    older: AtomicPtr<Node<T>>,
}

/// Counts a user from its making to its drop.
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
    /// A cell with a value, or without.
    pub fn new(value: Option<T>) -> Self {
        let node = value.map_or(ptr::null_mut(), Node::boxed);
        Latest { latest: AtomicPtr::new(node), users: AtomicUsize::new(0) }
    }

    /// Puts `value` in the place of the one before.
    pub fn set(&self, value: T) {
        let _user = User::enter(&self.users);
        let new = Node::boxed(value);
        let mut before = self.latest.load(Ordering::SeqCst);
        // SAFETY: `new` is ours until it is published, and stays while we are counted as a user: only a user that is alone frees.
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
        // A user that is alone now has no other before it in `older`, and every later one begins at `new` or at a newer value.
        if self.users.load(Ordering::SeqCst) == 1 {
            let older = older.swap(ptr::null_mut(), Ordering::SeqCst);
            // SAFETY: a list of nodes that were published, and that nobody else can reach.
            unsafe { Node::free(older) };
        }
    }
}

impl<T: Clone> Latest<T> {
    /// A copy of the value, if there is one.
    pub fn get(&self) -> Option<T> {
        let _user = User::enter(&self.users);
        // SAFETY: null, or published; what is published is not freed while we are counted as a user.
        let node = unsafe { self.latest.load(Ordering::SeqCst).as_ref() };
        node.map(|node| node.value.clone())
    }
}

impl<T> Node<T> {
    fn boxed(value: T) -> *mut Self {
        Box::into_raw(Box::new(Node { value, older: AtomicPtr::new(ptr::null_mut()) }))
    }

    /// Frees a node and all that are older, one after the other.
    ///
    /// # Safety
    /// `node` is null or comes from [`Node::boxed`], as all that are older, and nobody uses them any more.
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

    /// What was replaced during a use stays until the next change without one.
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
        // Many at once are freed one by one: the stack does not grow.
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
