//! Measures the link's delays beyond the model: round trips of small messages, connecting, and a
//! transfer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use shaper::{Link, Shaper};

const ROUND_TRIP: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut buffer = [0; 64 << 10];
                let _ = stream.set_nodelay(true);
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    if buffer[count - 1] == b'?' && stream.write_all(b"!").is_err() {
                        return;
                    }
                }
            });
        }
    });

    let mut direct = connect(server)?;
    let mut alone = Vec::new();
    for _ in 0..200 {
        // Sleeps as deeply as a program that waits for the link.
        thread::sleep(ROUND_TRIP);
        alone.extend(round_trips(&mut direct, 1)?);
    }
    show("loopback alone, every 20 ms", &alone);
    let shaper = Shaper::start(Link { round_trip: ROUND_TRIP, bits_per_second: None }, server)?;
    let through = round_trips(&mut connect(shaper.address())?, 500)?;
    show("round trips of 20 ms, later than", &above(&through, ROUND_TRIP));
    let mut first = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        let mut client = connect(shaper.address())?;
        round_trips(&mut client, 1)?;
        first.push(start.elapsed());
    }
    show("connecting and a round trip, later than 40 ms", &above(&first, 2 * ROUND_TRIP));

    let link = Link { round_trip: Duration::from_millis(4), bits_per_second: Some(10_000_000) };
    let shaper = Shaper::start(link, server)?;
    let frames = 200;
    let model = 2 * link.round_trip + Duration::from_nanos(frames * 1_211_200 + 67 * 8 * 100);
    let mut late = Vec::new();
    for _ in 0..20 {
        let mut bytes = vec![0; frames as usize * 1448];
        bytes[frames as usize * 1448 - 1] = b'?';
        let start = Instant::now();
        let mut client = connect(shaper.address())?;
        client.write_all(&bytes)?;
        client.read_exact(&mut [0])?;
        late.push(start.elapsed());
    }
    show("290 kB at 10 Mbit/s and an answer, later than 250.3 ms", &above(&late, model));
    Ok(())
}

fn connect(address: std::net::SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn round_trips(stream: &mut TcpStream, count: usize) -> std::io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        stream.write_all(b"?")?;
        stream.read_exact(&mut [0])?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn above(times: &[Duration], model: Duration) -> Vec<Duration> {
    times.iter().map(|time| time.saturating_sub(model)).collect()
}

fn show(what: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize].as_micros();
    let (least, low, half, high) = (at(0.0), at(0.25), at(0.5), at(0.99));
    println!("{what}: least {least}, quartile {low}, median {half}, 99 % {high} us");
}
