//! The link between a client and a server: delays, and the data and errors that pass through.
//! Nothing may be faster than the model. On a busy machine, a test may need several attempts to
//! show that it is hardly slower.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use shaper::{Link, Shaper};

const TIMEOUT: Duration = Duration::from_secs(20);

fn link(milliseconds: u64, bits_per_second: Option<u64>) -> Link {
    Link { round_trip: Duration::from_millis(milliseconds), bits_per_second }
}

/// Serves one connection after the other, each in a thread, until the process ends.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (patient(stream.unwrap()), serve.clone());
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Sets timeouts, so that a test fails instead of hanging.
fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn connect(shaper: &Shaper) -> TcpStream {
    patient(TcpStream::connect(shaper.address()).unwrap())
}

fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

/// Answers with one byte when all data has arrived.
fn count(mut stream: TcpStream) {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    stream.write_all(&[1]).unwrap();
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(b"?").unwrap();
    stream.read_exact(&mut [0]).unwrap();
}

fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

/// Checks that `what` takes at least `expected`, and at most `slack` more in one of several
/// attempts.
#[track_caller]
fn takes(expected: Duration, slack: Duration, mut what: impl FnMut() -> Duration) {
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < TIMEOUT {
        let time = what();
        assert!(time >= expected, "{time:?} are less than {expected:?}");
        if time <= expected + slack {
            return;
        }
        times.push(time);
    }
    panic!("{times:?} are more than {expected:?}");
}

fn milliseconds(number: f64) -> Duration {
    Duration::from_secs_f64(number / 1e3)
}

#[test]
fn small_messages_take_a_round_trip_each_and_one_to_connect() {
    let shaper = Shaper::start(link(20, None), server(echo)).unwrap();
    takes(milliseconds(220.0), milliseconds(15.0), || {
        let start = Instant::now();
        let mut client = connect(&shaper);
        (0..10).for_each(|_| ask(&mut client));
        start.elapsed()
    });
    assert_eq!(shaper.link(), link(20, None));
}

#[test]
fn what_a_client_does_before_it_sends_counts() {
    let shaper = Shaper::start(link(40, None), server(echo)).unwrap();
    takes(milliseconds(110.0), milliseconds(10.0), || {
        let start = Instant::now();
        let mut client = connect(&shaper);
        thread::sleep(milliseconds(30.0));
        ask(&mut client);
        start.elapsed()
    });
}

#[test]
fn a_server_that_speaks_first_is_heard_after_two_round_trips() {
    let address = server(|mut stream| stream.write_all(b"!").unwrap());
    let shaper = Shaper::start(link(40, None), address).unwrap();
    takes(milliseconds(80.0), milliseconds(10.0), || {
        let start = Instant::now();
        connect(&shaper).read_exact(&mut [0]).unwrap();
        start.elapsed()
    });
}

#[test]
fn large_flights_take_more_round_trips() {
    // 1 MB is 691 segments: 10, 20, ... 320 in six rounds, and a seventh.
    let shaper = Shaper::start(link(20, None), server(count)).unwrap();
    takes(milliseconds(20.0 * (2.0 + 6.0)), milliseconds(15.0), || send(&shaper, 1_000_000));
}

/// Sends `bytes` bytes on a connection of its own. Returns the time until the server's answer
/// arrives.
fn send(shaper: &Shaper, bytes: usize) -> Duration {
    let start = Instant::now();
    let mut client = connect(shaper);
    client.write_all(&vec![0; bytes]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    client.read_exact(&mut [0]).unwrap();
    start.elapsed()
}

/// Returns the time of full segments of 1448 bytes with 66 bytes of headers.
fn at_ten_megabits(bytes: usize) -> Duration {
    let frames = bytes + bytes.div_ceil(1448) * 66;
    Duration::from_secs_f64(frames as f64 * 8.0 / 10e6)
}

#[test]
fn a_megabyte_takes_what_the_bandwidth_makes_of_it() {
    // The round trip is so short that the first window fills the link.
    let shaper = Shaper::start(link(4, Some(10_000_000)), server(count)).unwrap();
    let expected = milliseconds(4.0 * 2.0) + at_ten_megabits(1_000_000);
    assert!(expected > milliseconds(840.0));
    takes(expected, milliseconds(20.0), || send(&shaper, 1_000_000));
}

#[test]
fn connections_share_the_link() {
    let shaper = Shaper::start(link(4, Some(10_000_000)), server(count)).unwrap();
    let expected = milliseconds(4.0 * 2.0) + at_ten_megabits(4 * 100_000);
    takes(expected, milliseconds(20.0), || {
        let start = Instant::now();
        thread::scope(|scope| {
            (0..4).for_each(|_| {
                scope.spawn(|| send(&shaper, 100_000));
            });
        });
        start.elapsed()
    });
}

#[test]
fn directions_do_not_share() {
    let both = |mut stream: TcpStream| {
        let mut other = stream.try_clone().unwrap();
        let writes = thread::spawn(move || other.write_all(&vec![0; 300_000]).unwrap());
        stream.read_exact(&mut vec![0; 300_000]).unwrap();
        writes.join().unwrap();
    };
    let shaper = Shaper::start(link(4, Some(10_000_000)), server(both)).unwrap();
    // Both ends send as soon as they are connected. The server begins later by half a round trip.
    let expected = milliseconds(4.0 * 2.0) + at_ten_megabits(300_000);
    takes(expected, milliseconds(20.0), || {
        let start = Instant::now();
        let client = connect(&shaper);
        let mut other = client.try_clone().unwrap();
        both(client);
        assert_eq!(other.read(&mut [0]).unwrap(), 0);
        start.elapsed()
    });
}

/// Returns random bytes, in which misplaced bytes are detected.
fn pattern(length: usize) -> Vec<u8> {
    let mut numbers = artifacts::Numbers::new(1);
    (0..length).map(|_| numbers.bits() as u8).collect()
}

#[test]
fn bytes_keep_their_order_on_many_connections_at_once() {
    let shaper = Shaper::start(link(5, Some(1_000_000_000)), server(echo)).unwrap();
    let shaper = &shaper;
    thread::scope(|scope| {
        for number in 0..200 {
            scope.spawn(move || {
                let sent = pattern(20_000 + 100 * number);
                let mut client = connect(shaper);
                let mut reader = client.try_clone().unwrap();
                let (from, length) = (number, sent.len());
                let reads = scope.spawn(move || {
                    let mut got = Vec::new();
                    reader.read_to_end(&mut got).map(|_| got)
                });
                // In pieces of odd sizes, so that not all segments are full.
                sent.chunks(997 + from).for_each(|piece| client.write_all(piece).unwrap());
                client.shutdown(Shutdown::Write).unwrap();
                let got = reads.join().unwrap().unwrap();
                assert!(got.len() == length && got == sent, "connection {number}");
            });
        }
    });
}

#[test]
fn one_direction_may_end_before_the_other() {
    let after_the_end = |mut stream: TcpStream| {
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        got.reverse();
        stream.write_all(&got).unwrap();
    };
    let shaper = Shaper::start(link(10, None), server(after_the_end)).unwrap();
    takes(milliseconds(20.0), milliseconds(8.0), || {
        let start = Instant::now();
        let mut client = connect(&shaper);
        client.write_all(b"abc").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"cba");
        start.elapsed()
    });
}

#[test]
fn a_reset_by_the_server_reaches_the_client() {
    let address = server(|mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        reset(stream);
    });
    let shaper = Shaper::start(link(10, None), address).unwrap();
    takes(milliseconds(20.0), milliseconds(8.0), || {
        let start = Instant::now();
        let mut client = connect(&shaper);
        client.write_all(b"?").unwrap();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        start.elapsed()
    });
}

/// Starts a server for one connection. The thread returns the result of `serve`.
fn once<T: Send + 'static>(
    serve: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || serve(patient(listener.accept().unwrap().0))))
}

#[test]
fn a_reset_by_the_client_reaches_the_server_after_what_was_sent() {
    let (address, served) = once(|mut stream| {
        stream.read_exact(&mut [0; 3]).unwrap();
        stream.read(&mut [0]).unwrap_err().kind()
    });
    let shaper = Shaper::start(link(10, None), address).unwrap();
    let mut client = connect(&shaper);
    client.write_all(b"abc").unwrap();
    // A reset discards data that the other end, here the link, has not read. So it waits until the
    // link has.
    thread::sleep(milliseconds(100.0));
    reset(client);
    assert_eq!(served.join().unwrap(), ErrorKind::ConnectionReset);
}

#[test]
fn a_client_that_has_gone_is_told_to_a_server_that_goes_on() {
    let (address, served) = once(|mut stream| {
        // The end of the client's data does not stop the server, but data that is not accepted
        // does.
        stream.read_to_end(&mut Vec::new()).unwrap();
        stream.write_all(b"!").unwrap();
        thread::sleep(milliseconds(300.0));
        stream.write_all(b"!").unwrap_err().kind()
    });
    let shaper = Shaper::start(link(10, None), address).unwrap();
    drop(connect(&shaper));
    let told = served.join().unwrap();
    assert!(matches!(told, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{told:?}");
}

#[test]
fn a_reset_does_not_wait_for_what_the_receiver_does_not_take() {
    let (address, served) = once(|mut stream| {
        let start = Instant::now();
        // Checks for errors without reading.
        while start.elapsed() < TIMEOUT {
            if let Some(error) = stream.take_error().unwrap() {
                return Some(error.kind());
            }
            thread::sleep(milliseconds(1.0));
        }
        stream.read(&mut [0]).err().map(|error| error.kind())
    });
    let shaper = Shaper::start(link(2, None), address).unwrap();
    let client = connect(&shaper);
    client.set_nonblocking(true).unwrap();
    let (start, piece) = (Instant::now(), vec![0; 64 << 10]);
    while start.elapsed() < milliseconds(300.0) {
        if (&client).write(&piece).is_err() {
            thread::sleep(milliseconds(1.0));
        }
    }
    let start = Instant::now();
    reset(client);
    assert_eq!(served.join().unwrap(), Some(ErrorKind::ConnectionReset));
    assert!(start.elapsed() < TIMEOUT / 2);
}

/// Checks that a client's connection ends with a reset, a round trip after it began.
fn is_refused(shaper: &Shaper) {
    takes(shaper.link().round_trip, milliseconds(8.0), || {
        let start = Instant::now();
        let error = connect(shaper).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        start.elapsed()
    });
}

#[test]
fn a_server_that_refuses_is_a_reset() {
    // Bound, so that no other process gets the port, but not listening.
    let nobody = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    rustix::net::bind(&nobody, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(rustix::net::getsockname(&nobody).unwrap()).unwrap();
    let shaper = Shaper::start(link(20, None), address).unwrap();
    is_refused(&shaper);
}

#[test]
fn a_server_that_cannot_be_reached_is_a_reset() {
    // The broadcast address belongs to no single host, so no network can make it reachable.
    let everybody = SocketAddr::from(([255, 255, 255, 255], 9));
    is_refused(&Shaper::start(link(20, None), everybody).unwrap());
}

#[test]
fn a_receiver_that_takes_nothing_stops_the_sender() {
    let (address, served) = once(|stream| {
        thread::sleep(milliseconds(800.0));
        let mut all = Vec::new();
        (&stream).read_to_end(&mut all).unwrap();
        all.len()
    });
    let shaper = Shaper::start(link(2, None), address).unwrap();
    let client = connect(&shaper);
    client.set_nonblocking(true).unwrap();
    let (start, piece) = (Instant::now(), vec![0; 64 << 10]);
    let (mut sent, mut until) = (0, Instant::now());
    while start.elapsed() < milliseconds(600.0) {
        match (&client).write(&piece) {
            Ok(count) => (sent, until) = (sent + count, Instant::now()),
            Err(_) => thread::sleep(milliseconds(1.0)),
        }
    }
    // The kernel's buffers on both sides, and the window.
    assert!(sent < 64 << 20, "{sent} bytes");
    assert!(until - start < milliseconds(500.0), "still taking");
    drop(client);
    assert_eq!(served.join().unwrap(), sent);
}

#[test]
fn nothing_is_left_when_the_shaper_goes() {
    let (address, served) = once(|mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(&[0]).unwrap();
        stream.read(&mut [0]).unwrap_err().kind()
    });
    let shaper = Shaper::start(link(10, None), address).unwrap();
    let mut client = connect(&shaper);
    ask(&mut client);
    let (start, address) = (Instant::now(), shaper.address());
    drop(shaper);
    assert!(start.elapsed() < TIMEOUT / 2);
    assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(served.join().unwrap(), ErrorKind::ConnectionReset);
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    // Also without a connection.
    drop(Shaper::start(link(10, None), address).unwrap());
}

#[test]
fn links_out_of_range_are_refused() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    for link in [link(11_000, None), link(20, Some(0)), link(20, Some(u64::MAX))] {
        let error = Shaper::start(link, address).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("give "), "{error}");
    }
}
