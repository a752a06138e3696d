//! The helpers of `fastkex`'s tests: both commands have the same environment and errors.

#![allow(dead_code, unused_imports)]

#[path = "../../../../tool/fastkex/tests/common/mod.rs"]
mod tool;

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
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

/// Returns the processes with a text in their environment or arguments.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let holds = |file: &Path| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let found = entries.filter(|path| holds(&path.join("environ")) || holds(&path.join("cmdline")));
    found.map(|path| path.display().to_string()).collect()
}
