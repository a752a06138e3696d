//! A server that keeps what each client offers as its key share, to find one that is offered twice,
//! and refuses to go on.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use openssl_runtime::wire;

/// As many clients are served at a time.
const THREADS: usize = 8;
/// The cheapest end of a handshake: a fatal alert, handshake_failure.
const REFUSAL: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
const RECORD_HEADER_BYTES: usize = 5;
const MESSAGE_HEADER_BYTES: usize = 4;
const HANDSHAKE: u8 = 22;
const MAX_RECORD_BYTES: usize = 1 << 14;
/// Size of a ClientHello with its header in bytes; the largest share takes an eighth of it.
const MAX_HELLO_BYTES: usize = 1 << 14;
const END_BYTES: usize = 32;

/// The key shares that clients offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Hellos with a key share.
    pub(crate) hellos: u64,
    /// Connections that ended, or were ended, without one.
    pub(crate) others: u64,
    /// The number of shares by group and size in bytes.
    pub(crate) shares: BTreeMap<(u16, usize), u64>,
    /// Shares that had appeared before, in whole or in part.
    pub(crate) repeated: u64,
}

/// Both ends of a share are remembered: in a hybrid they belong to different keys, and each must be
/// new. 32 bytes of any key are as good as random.
#[derive(Default)]
struct Record {
    report: Report,
    fronts: HashSet<[u8; END_BYTES]>,
    backs: HashSet<[u8; END_BYTES]>,
}

impl Record {
    fn add(&mut self, hello: Option<&[u8]>) {
        let shares = hello.and_then(|hello| Some((hello, wire::find_client_key_shares(hello)?)));
        let Some((hello, shares)) = shares.filter(|(_, shares)| !shares.is_empty()) else {
            self.report.others += 1;
            return;
        };
        self.report.hellos += 1;
        for share in shares {
            let bytes = &hello[share.bytes];
            *self.report.shares.entry((share.group, bytes.len())).or_default() += 1;
            let (mut front, mut back) = ([0; END_BYTES], [0; END_BYTES]);
            let most = bytes.len().min(END_BYTES);
            front[..most].copy_from_slice(&bytes[..most]);
            back[..most].copy_from_slice(&bytes[bytes.len() - most..]);
            let (front, back) = (self.fronts.insert(front), self.backs.insert(back));
            self.report.repeated += u64::from(!(front && back));
        }
    }
}

struct Shared {
    record: Mutex<Record>,
    /// Time for a client to say hello.
    timeout: Duration,
    ended: AtomicBool,
}

/// The server; it ends with its owner.
pub(crate) struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Recorder {
    pub(crate) fn start() -> Recorder {
        Self::with_timeout(Duration::from_secs(10))
    }

    /// Clients have so much time to say hello.
    pub(crate) fn with_timeout(timeout: Duration) -> Recorder {
        let listener = Arc::new(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let address = listener.local_addr().unwrap();
        let (record, ended) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { record, timeout, ended });
        let serve = |_| {
            let (listener, shared) = (Arc::clone(&listener), Arc::clone(&shared));
            std::thread::spawn(move || shared.serve(&listener))
        };
        Recorder { address, threads: (0..THREADS).map(serve).collect(), shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The shares so far.
    pub(crate) fn report(&self) -> Report {
        self.shared.record.lock().unwrap().report.clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        for _ in &self.threads {
            let _ = TcpStream::connect(self.address);
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Shared {
    fn serve(&self, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            // A client that is gone again is none.
            let Ok((mut client, _)) = accepted else { continue };
            let hello = read_hello(&mut client, Instant::now() + self.timeout).ok();
            self.record.lock().unwrap_or_else(PoisonError::into_inner).add(hello.as_deref());
            let _ = client.write_all(&REFUSAL);
            let _ = client.shutdown(Shutdown::Write);
        }
    }
}

/// Reads records until they hold a message, and returns that as a single record.
fn read_hello(client: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    client.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut hello = vec![HANDSHAKE, 3, 1, 0, 0];
    loop {
        let mut header = [0; RECORD_HEADER_BYTES];
        read_until(client, &mut header, deadline)?;
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != HANDSHAKE || header[1] != 3 || length == 0 || length > MAX_RECORD_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        let start = hello.len();
        hello.resize(start + length, 0);
        read_until(client, &mut hello[start..], deadline)?;
        let message = &hello[RECORD_HEADER_BYTES..];
        let Some(header) = message.first_chunk::<MESSAGE_HEADER_BYTES>() else { continue };
        let length = u32::from_be_bytes(*header) as usize % (1 << 24) + MESSAGE_HEADER_BYTES;
        if length > MAX_HELLO_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        if message.len() >= length {
            let length = u16::try_from(message.len()).map_err(|_| ErrorKind::InvalidData)?;
            hello[3..RECORD_HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
            return Ok(hello);
        }
    }
}

/// Fills the buffer, or fails at the deadline, however the bytes trickle in.
fn read_until(client: &mut TcpStream, mut buffer: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => buffer = &mut buffer[read..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
