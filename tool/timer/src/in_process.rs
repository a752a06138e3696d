//! Processor time of TLS 1.3 handshakes between a client and a server in this thread.
//!
//! No socket, kernel or other process takes part, so the figures vary by 2 to 3 % where rates over
//! sockets vary by 20 %.

use std::time::{Duration, Instant};

use measure::{Quartiles, quantile, sorted};
use nix::time::{ClockId, clock_gettime};
use openssl_runtime::{Certificate, Error, KeyType, LibraryContext, MemoryConnection, SslContext};
use output::Failure;
use serde::{Deserialize, Serialize};

/// The settings of both sides.
#[derive(Clone)]
pub struct Sides {
    /// The settings of the client.
    pub client: SslContext,
    /// The settings of the server.
    pub server: SslContext,
}

impl Sides {
    /// Makes the settings of both sides for a list of groups. The server has a new self-signed
    /// certificate, which the client verifies.
    ///
    /// # Errors
    /// OpenSSL does not know a group, or lacks an algorithm.
    pub fn self_signed(
        context: &LibraryContext,
        certificate: KeyType,
        groups: &str,
    ) -> Result<Self, Error> {
        let certificate = Certificate::self_signed(context, certificate, &["localhost"])?;
        Ok(Sides {
            server: SslContext::server(context, &certificate)?.groups(groups)?.build(),
            client: SslContext::client(context)?.trust(&certificate)?.groups(groups)?.build(),
        })
    }
}

/// The processor time of one handshake, in microseconds: the lower quartile of all turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Both sides, and threads that work for them.
    pub microseconds: f64,
    /// The client's part.
    pub client_microseconds: f64,
    /// The server's part.
    pub server_microseconds: f64,
    /// The difference of the third and first quartile of [`Cost::microseconds`], divided by the
    /// median.
    pub spread: f64,
    /// The processor time of both sides, divided by the time of the first candidate in the same
    /// round: the median of all rounds.
    pub ratio: f64,
    /// The number of measured handshakes.
    pub handshakes: usize,
}

/// The duration of a turn.
const TURN: Duration = Duration::from_millis(15);
/// Handshakes at the beginning of a turn that are not measured: they refill the caches.
const LEAD_IN: usize = 4;
/// Handshakes before the first turn, in which pools grow to their full size. They take a tenth of
/// the time at most.
const WARM_UP: usize = 300;
/// The minimum number of rounds, however long they take.
const MIN_ROUNDS: usize = 3;
/// The maximum number of flights of each side in a handshake, with a HelloRetryRequest.
const MAX_FLIGHTS: usize = 4;

/// Measures handshakes of all `candidates`, which take turns, for about `time` in total. The first
/// candidate is the one that [`Cost::ratio`] compares with. `finished` is called after each round
/// with the part of the time that has passed.
///
/// # Errors
/// A handshake of one of them fails.
pub fn handshake_costs(
    candidates: &[Sides],
    time: Duration,
    finished: &mut dyn FnMut(f64),
) -> Result<Vec<Cost>, Failure> {
    let start = Instant::now();
    let warm_up = time / 10 / candidates.len().max(1) as u32;
    for sides in candidates {
        let start = Instant::now();
        for _ in 0..WARM_UP {
            handshake(sides)?;
            if start.elapsed() > warm_up {
                break;
            }
        }
    }
    let mut turns: Vec<Vec<Turn>> = candidates.iter().map(|_| Vec::new()).collect();
    let mut rounds = 0;
    while rounds < MIN_ROUNDS || start.elapsed() < time {
        for place in 0..candidates.len() {
            // Each candidate follows each other one equally often.
            let index = (place + rounds) % candidates.len();
            turns[index].push(Turn::of(&candidates[index])?);
        }
        rounds += 1;
        finished((start.elapsed().as_secs_f64() / time.as_secs_f64()).min(1.0));
    }
    let first: Vec<f64> = turns.first().into_iter().flatten().map(Turn::all).collect();
    Ok(turns.iter().filter_map(|turns| cost(turns, &first)).collect())
}

/// Summarizes the turns of a candidate; `first` is the processor time of the first candidate's.
fn cost(turns: &[Turn], first: &[f64]) -> Option<Cost> {
    let low = |part: fn(&Turn) -> f64| {
        quantile(&sorted(turns.iter().map(part).collect()), 0.25).map(|seconds| 1e6 * seconds)
    };
    let all = Quartiles::of(&turns.iter().map(Turn::all).collect::<Vec<_>>())?;
    let ratios = turns.iter().zip(first).map(|(turn, first)| turn.all() / first);
    Some(Cost {
        microseconds: 1e6 * all.first,
        client_microseconds: low(Turn::client)?,
        server_microseconds: low(Turn::server)?,
        spread: (all.third - all.first) / all.median,
        ratio: quantile(&sorted(ratios.collect()), 0.5)?,
        handshakes: turns.iter().map(|turn| turn.handshakes).sum(),
    })
}

/// The processor time of some handshakes, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    handshakes: usize,
    process_seconds: f64,
    client_seconds: f64,
    server_seconds: f64,
}

impl Turn {
    fn of(sides: &Sides) -> Result<Self, Failure> {
        for _ in 0..LEAD_IN {
            handshake(sides)?;
        }
        let mut turn = Turn::default();
        let (start, before) = (Instant::now(), process_seconds());
        while turn.handshakes == 0 || start.elapsed() < TURN {
            let [client, server] = handshake(sides)?;
            turn.client_seconds += client;
            turn.server_seconds += server;
            turn.handshakes += 1;
        }
        turn.process_seconds = process_seconds() - before;
        Ok(turn)
    }

    /// The processor time of one handshake.
    fn all(&self) -> f64 {
        self.process_seconds / self.handshakes as f64
    }

    fn client(&self) -> f64 {
        self.client_seconds / self.handshakes as f64
    }

    fn server(&self) -> f64 {
        self.server_seconds / self.handshakes as f64
    }
}

/// Makes one handshake, and returns the processor time of client and server in seconds.
fn handshake(sides: &Sides) -> Result<[f64; 2], Failure> {
    let mut clock = thread_seconds();
    let mut seconds = [0.0; 2];
    let mut lap = |side: usize| {
        let now = thread_seconds();
        seconds[side] += now - clock;
        clock = now;
    };
    let mut client = MemoryConnection::unobserved(&sides.client).map_err(Failure::new)?;
    lap(0);
    let mut server = MemoryConnection::unobserved(&sides.server).map_err(Failure::new)?;
    lap(1);
    for _ in 0..MAX_FLIGHTS {
        client.handshake().map_err(Failure::about("client"))?;
        server.feed(&client.take_outgoing()).map_err(Failure::new)?;
        lap(0);
        server.handshake().map_err(Failure::about("server"))?;
        client.feed(&server.take_outgoing()).map_err(Failure::new)?;
        lap(1);
        if client.is_finished() && server.is_finished() {
            drop(client);
            lap(0);
            drop(server);
            lap(1);
            return Ok(seconds);
        }
    }
    Err(Failure::new("the handshake does not end"))
}

fn thread_seconds() -> f64 {
    seconds_on(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn process_seconds() -> f64 {
    seconds_on(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Reads a clock that every Linux has; zero otherwise.
fn seconds_on(clock: ClockId) -> f64 {
    clock_gettime(clock).map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(handshakes: usize, process: f64, client: f64, server: f64) -> Turn {
        Turn {
            handshakes,
            process_seconds: process,
            client_seconds: client,
            server_seconds: server,
        }
    }

    #[test]
    fn a_cost_is_that_of_one_handshake() {
        let turns = [turn(10, 0.004, 0.003, 0.001), turn(20, 0.008, 0.006, 0.002)];
        let cost = cost(&turns, &[0.0008, 0.0008]).unwrap();
        let expected = [400.0, 300.0, 100.0, 0.0, 0.5];
        let found = [
            cost.microseconds,
            cost.client_microseconds,
            cost.server_microseconds,
            cost.spread,
            cost.ratio,
        ];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{cost:?}");
        }
        assert_eq!(cost.handshakes, 30);
        assert!(super::cost(&[], &[]).is_none());
    }
}
