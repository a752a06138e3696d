//! Tests of TLS over sockets.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use openssl_runtime::{Certificate, Error, KeyType, SslContext, TlsStream};

/// Returns a client's and a server's settings.
fn contexts() -> Option<(SslContext, SslContext)> {
    let context = common::context()?;
    let certificate = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"]).unwrap();
    let server = SslContext::server(&context, &certificate).unwrap().groups("P-256").unwrap();
    let client = SslContext::client(&context).unwrap().trust(&certificate).unwrap();
    Some((client.groups("X25519:P-256").unwrap().build(), server.build()))
}

#[test]
fn data_goes_both_ways_over_tcp() {
    let Some((client, server)) = contexts() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = thread::spawn(move || {
        let mut stream = TlsStream::new(&server, listener.accept().unwrap().0, None).unwrap();
        let mut data = Vec::new();
        stream.read_to_end(&mut data).unwrap();
        stream.write_all(&data).unwrap();
        stream.close().unwrap();
        stream.summary()
    });
    let stream = TcpStream::connect(address).unwrap();
    let mut stream = TlsStream::new(&client, stream, Some("localhost")).unwrap();
    let summary = stream.summary();
    assert!(summary.is_ok() && summary.hello_retry);
    assert_eq!(summary.group.unwrap().name.as_deref(), Some("secp256r1"));

    let data: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
    stream.write_all(&data).unwrap();
    stream.close().unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    assert!(back == data);
    let (here, there) = (stream.summary(), served.join().unwrap());
    assert_eq!((here.bytes_sent, here.bytes_received), (there.bytes_received, there.bytes_sent));
    assert_eq!(stream.get_ref().peer_addr().unwrap(), address);
}

#[test]
fn a_silent_peer_runs_into_the_streams_timeout() {
    let Some((client, _)) = contexts() else { return };
    let (ours, _theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let Err(Error::Io(error)) = TlsStream::new(&client, ours, None) else { panic!() };
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
}

#[test]
fn timeouts_lose_no_data() {
    let Some((client, server)) = contexts() else { return };
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
    let data: Vec<u8> = (0..2_000_000_u32).map(|number| (number / 3) as u8).collect();
    let expected = data.clone();
    let served = thread::spawn(move || {
        let mut stream = TlsStream::new(&server, theirs, None).unwrap();
        thread::sleep(Duration::from_millis(50));
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == expected);
    });
    let mut stream = TlsStream::new(&client, ours, None).unwrap();
    let (mut sent, mut timeouts) = (0, 0);
    let mut timed_out = |error: std::io::Error| {
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
        timeouts += 1;
    };
    while sent < data.len() {
        match stream.write(&data[sent..]) {
            Ok(bytes) => sent += bytes,
            Err(error) => timed_out(error),
        }
    }
    while let Err(error) = stream.flush() {
        timed_out(error);
    }
    stream.close().unwrap();
    served.join().unwrap();
    assert!(timeouts > 0);
}

#[test]
fn peers_that_vanish_or_refuse_are_errors() {
    let Some((client, server)) = contexts() else { return };
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    assert!(TlsStream::new(&client, ours, None).is_err());

    let (ours, theirs) = UnixStream::pair().unwrap();
    let served = thread::spawn({
        let server = server.clone();
        move || drop(TlsStream::new(&server, theirs, None).unwrap().into_inner())
    });
    let mut stream = TlsStream::new(&client, ours, None).unwrap();
    let error = stream.read(&mut [0; 10]).unwrap_err();
    assert!(error.to_string().contains("unexpected eof"), "{error}");
    served.join().unwrap();

    let (ours, theirs) = UnixStream::pair().unwrap();
    let served = thread::spawn(move || {
        let Err(Error::Handshake(summary)) = TlsStream::new(&server, theirs, None) else {
            panic!()
        };
        summary.alert_received.unwrap().name()
    });
    let Err(Error::Handshake(summary)) = TlsStream::new(&client, ours, Some("example.org")) else {
        panic!()
    };
    assert_eq!(summary.alert_sent.unwrap().name(), Some("bad_certificate"));
    assert_eq!(served.join().unwrap(), Some("bad_certificate"));
}
