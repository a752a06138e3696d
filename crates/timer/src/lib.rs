//! Times connections to any server: full TLS 1.3 handshakes, DNS over TLS, HTTP.

#![forbid(unsafe_code)]

pub mod results;
