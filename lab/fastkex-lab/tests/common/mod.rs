//! The helpers of `fastkex`'s tests: both commands have the same environment and errors.

#![allow(dead_code, unused_imports)]

#[path = "../../../../tool/fastkex/tests/common/mod.rs"]
mod tool;

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext, SslContext, TlsStream};

pub(crate) use tool::*;

/// Starts a TLS server with a self-signed certificate that waits until each client closes. Returns
/// its address.
pub(crate) fn serve() -> String {
    let context = LibraryContext::new(&Libraries::system().unwrap()).unwrap();
    context.load_provider("default").unwrap().keep();
    let certificate = Certificate::self_signed(&context, KeyType::Ed25519, &["localhost"]).unwrap();
    let settings = SslContext::server(&context, &certificate).unwrap().build();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = format!("localhost:{}", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(true).unwrap();
            if let Ok(mut stream) = TlsStream::new(&settings, stream, None) {
                let _ = stream.read(&mut [0]);
            }
        }
    });
    server
}
