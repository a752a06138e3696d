//! Everything works on threads with little stack: stunnel gives its threads 64 KiB, of which
//! OpenSSL and stunnel use a part.

use reference::drbg::Drbg;
use sntrup::*;

const STACK_BYTES: usize = 48 * 1024;

/// Runs `operation` on such a thread. What it takes and gives is on the heap: the caller's stack is
/// not in question.
fn on_little_stack<T: Send>(operation: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, operation).unwrap().join().unwrap()
    })
}

fn check<P: Operations>() {
    for backend in Backend::available() {
        let mut random = Box::new(Drbg::new(&[1; 48]));
        let keys =
            on_little_stack(|| KeyPair::<P>::generate_batch(backend, 3, &mut *random).unwrap());
        let (public, secret) = keys.into_iter().next().unwrap().into_parts();
        let public =
            on_little_stack(|| Box::new(PublicKey::<P>::from_bytes(public.as_bytes()).unwrap()));
        let secret = on_little_stack(|| SecretKey::<P>::from_bytes(secret.as_bytes()).unwrap());
        on_little_stack(|| secret.check(backend).unwrap());
        let made = on_little_stack(|| Box::new(public.encapsulate(backend, &mut *random).unwrap()));
        let theirs = on_little_stack(|| secret.decapsulate(backend, &made.0));
        assert_eq!(theirs.as_bytes(), made.1.as_bytes());
    }
}

#[test]
fn sntrup653() {
    check::<Sntrup653>();
}

#[test]
fn sntrup761() {
    check::<Sntrup761>();
}

#[test]
fn sntrup857() {
    check::<Sntrup857>();
}

#[test]
fn sntrup953() {
    check::<Sntrup953>();
}

#[test]
fn sntrup1013() {
    check::<Sntrup1013>();
}

#[test]
fn sntrup1277() {
    check::<Sntrup1277>();
}
