//! Everything works on threads with little stack: stunnel gives its threads 64 KiB, of which
//! OpenSSL and stunnel use a part.

mod common;

use curve25519::{Backend, ed25519, self_check, x25519};

const STACK_BYTES: usize = 48 * 1024;

#[test]
fn all_operations() {
    for backend in Backend::available() {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let operations = move || {
            self_check(backend).unwrap();
            let mut random = Box::new(common::random());
            let keys = x25519::generate_batch(backend, &mut *random, 130).unwrap();
            x25519::shared_secret(backend, &keys[0].secret, &keys[1].public).unwrap();
            let keys = ed25519::generate_batch(backend, &mut *random, 10).unwrap();
            let signature = ed25519::sign(backend, &keys[0], b"message");
            let public = keys[0].verifying_key();
            ed25519::verify_strict(backend, public, &signature, b"message").unwrap();
        };
        thread.spawn(operations).unwrap().join().unwrap();
    }
}
