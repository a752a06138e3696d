//! The time limit of a survey.

use std::io::{Read, Write, copy, sink};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use tls_probe::{Survey, TLS_1_2, Target};

/// A ServerHello of TLS 1.2 in its record: random bytes, no session, a cipher suite, no compression
/// and no extensions.
fn server_hello() -> Vec<u8> {
    [&[22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3][..], &[7; 32], &[0, 0xC0, 0x2F, 0]].concat()
}

/// Starts a server that answers some connections, and then no more.
fn server(answers: usize) -> Target {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                if number < answers {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(&server_hello());
                }
                let _ = copy(&mut stream, &mut sink());
            });
        }
    });
    Target { address, name: None, start_tls: None, timeout: Duration::from_secs(60) }
}

fn survey(target: &Target) -> Survey<'_> {
    let total = Duration::from_secs(3);
    Survey { target, with_private_groups: false, given: None, total }
}

#[test]
fn what_there_is_no_time_for_is_left_out() {
    let target = server(3);
    let begun = Instant::now();
    let found = survey(&target).run().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!((found.version, found.is_cut_short), (Some(TLS_1_2), true));
    // The first split was answered. The second was waited for until the end.
    assert_eq!((found.splits.len(), found.connections), (1, 4));
    assert!(found.splits[0].outcome.is_answer());

    let target = server(4 + 1);
    let found = survey(&target).run().unwrap();
    assert_eq!((found.splits.len(), found.is_cut_short), (3, false));
}

#[test]
fn a_server_that_never_answers_ends_the_survey() {
    let target = server(0);
    let failure = survey(&target).run().unwrap_err().to_string();
    assert!(failure.starts_with("no answer in the time of all connections"), "{failure}");
}
