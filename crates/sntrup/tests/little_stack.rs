//! Everything works on threads with little stack: stunnel gives its threads 64 KiB, of which OpenSSL and stunnel use a part.

use reference::drbg::Drbg;
use sntrup::*;

const STACK_BYTES: usize = 48 * 1024;

fn on_little_stack<P: ParameterSet>() {
    for backend in Backend::available() {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let mut random = Drbg::new(&[1; 48]);
            let mut keys = KeyPair::<P>::generate_batch(backend, 3, &mut random).unwrap();
            let (public, secret) = keys.pop().unwrap().into_parts();
            let public = PublicKey::<P>::from_bytes(public.as_bytes()).unwrap();
            let secret = SecretKey::<P>::from_bytes(secret.as_bytes()).unwrap();
            secret.check(backend).unwrap();
            let (ciphertext, ours) = public.encapsulate(backend, &mut random).unwrap();
            assert_eq!(secret.decapsulate(backend, &ciphertext).as_bytes(), ours.as_bytes());
        });
        thread.unwrap().join().unwrap();
    }
}

#[test]
fn sntrup653() {
    on_little_stack::<Sntrup653>();
}

#[test]
fn sntrup761() {
    on_little_stack::<Sntrup761>();
}

#[test]
fn sntrup857() {
    on_little_stack::<Sntrup857>();
}

#[test]
fn sntrup953() {
    on_little_stack::<Sntrup953>();
}

#[test]
fn sntrup1013() {
    on_little_stack::<Sntrup1013>();
}

#[test]
fn sntrup1277() {
    on_little_stack::<Sntrup1277>();
}
