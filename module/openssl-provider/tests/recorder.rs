//! The recorder of key shares finds those that are offered twice, and bears with whatever connects.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use common::recorder::{Recorder, Report};
use kex::TLS_GROUPS;
use openssl_runtime::{Error, TlsStream};

/// A ClientHello with one key share of group 29, in records of `record_bytes` bytes.
fn hello(share: &[u8], record_bytes: usize) -> Vec<u8> {
    let with_length = |bytes: Vec<u8>| {
        let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        [&length[..], &bytes].concat()
    };
    let entry = [vec![0, 29], with_length(share.to_vec())].concat();
    let extension = [vec![0, 51], with_length(with_length(entry))].concat();
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 19, 1, 1, 0]);
    body.extend(with_length(extension));
    let message = [vec![1, 0], with_length(body)].concat();
    let record = |part: &[u8]| [vec![22, 3, 1], with_length(part.to_vec())].concat();
    message.chunks(record_bytes).flat_map(record).collect()
}

/// Sends bytes and returns what comes until the recorder closes.
fn send(recorder: &Recorder, parts: &[&[u8]]) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, recorder.port())).unwrap();
    stream.set_nodelay(true).unwrap();
    for part in parts {
        stream.write_all(part).unwrap();
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

const REFUSAL: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
const WHOLE: usize = 1 << 14;

#[test]
fn the_same_hello_twice_is_found() {
    let recorder = Recorder::start();
    let (first, other) = (hello(&[1; 100], WHOLE), hello(&[2; 100], WHOLE));
    assert_eq!(send(&recorder, &[&first]), REFUSAL);
    send(&recorder, &[&other]);
    let shares = BTreeMap::from([((29, 100), 2)]);
    assert_eq!(recorder.report(), Report { hellos: 2, others: 0, shares, repeated: 0 });
    send(&recorder, &[&first]);
    let shares = BTreeMap::from([((29, 100), 3)]);
    assert_eq!(recorder.report(), Report { hellos: 3, others: 0, shares, repeated: 1 });
}

/// A hybrid one of whose keys is old.
#[test]
fn half_a_share_twice_is_found() {
    for (first, second) in [([1, 2], [1, 3]), ([1, 2], [3, 2])] {
        let recorder = Recorder::start();
        for [front, back] in [first, second] {
            send(&recorder, &[&hello(&[[front; 600], [back; 600]].concat(), WHOLE)]);
        }
        assert_eq!(recorder.report().repeated, 1);
    }
}

#[test]
fn hellos_in_any_pieces_are_read() {
    let recorder = Recorder::start();
    let mut sent = 0_u8;
    for record_bytes in [1, 3, 100, WHOLE] {
        for piece_bytes in [1, 7, WHOLE] {
            sent += 1;
            let hello = hello(&[sent; 300], record_bytes);
            send(&recorder, &hello.chunks(piece_bytes).collect::<Vec<_>>());
        }
    }
    let shares = BTreeMap::from([((29, 300), sent.into())]);
    assert_eq!(recorder.report(), Report { hellos: sent.into(), others: 0, shares, repeated: 0 });
}

#[test]
fn whatever_else_connects_is_borne_with() {
    let recorder = Recorder::with_timeout(Duration::from_millis(200));
    let whole = hello(&[1; 100], WHOLE);
    let mut slow: Vec<_> = (0..20)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, recorder.port())).unwrap())
        .collect();
    slow.iter_mut().for_each(|client| client.write_all(&whole[..50]).unwrap());
    let mut server_hello = whole.clone();
    server_hello[5] = 2;
    let mut long = whole.clone();
    long[6] = 1;
    let bad: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0; 5000],
        &[255; 5000],
        &[22, 3, 1, 0, 0],
        &[22, 3, 1, 255, 255],
        &server_hello,
        &long,
    ];
    bad.iter().for_each(|bytes| drop(send(&recorder, &[bytes])));
    // One that goes away without a word.
    drop(TcpStream::connect((Ipv4Addr::LOCALHOST, recorder.port())).unwrap());
    send(&recorder, &[&whole]);
    let expected = (slow.len() + bad.len() + 1) as u64;
    let give_up = Instant::now() + Duration::from_secs(10);
    while recorder.report().others < expected && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(5));
    }
    let shares = BTreeMap::from([((29, 100), 1)]);
    assert_eq!(recorder.report(), Report { hellos: 1, others: expected, shares, repeated: 0 });
}

/// Shares as libssl and the module send them.
#[test]
fn hellos_of_libssl_are_read() {
    const HELLOS: u64 = 20;
    let Some(libraries) = common::libraries() else { return };
    let context = common::context(&libraries);
    let recorder = Recorder::start();
    let mut shares = BTreeMap::new();
    for group in TLS_GROUPS {
        let client = common::client(&context, group.name);
        for _ in 0..HELLOS {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, recorder.port())).unwrap();
            let Err(Error::Handshake(summary)) = TlsStream::new(&client, stream, None) else {
                panic!("{}: no refusal", group.name);
            };
            assert_eq!(summary.alert_received.unwrap().name(), Some("handshake_failure"));
        }
        shares.insert((group.code_point, group.public_key_bytes), HELLOS);
    }
    let hellos = HELLOS * TLS_GROUPS.len() as u64;
    assert_eq!(recorder.report(), Report { hellos, others: 0, shares, repeated: 0 });
}
