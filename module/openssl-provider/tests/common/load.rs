//! Clients without TLS that keep a proxy busy whose every request fails upstream.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A proxy that says nothing for so long has failed.
const TIMEOUT: Duration = Duration::from_secs(20);
/// A proxy that is reloaded closes connections, also those on which a request is under way to it.
/// More in a row are a failure.
const MAX_RETRIES: u32 = 20;

#[derive(Default)]
struct Shared {
    answers: AtomicU64,
    enough: AtomicBool,
}

/// Clients at work.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<io::Result<()>>>,
}

impl Load {
    /// Starts `clients` clients, which fetch the paths in turn over persistent connections.
    pub(crate) fn start(port: u16, paths: &[&str], clients: usize) -> Load {
        let shared = Arc::<Shared>::default();
        let start = |first: usize| {
            let shared = Arc::clone(&shared);
            let paths: Vec<String> = paths.iter().map(|path| (*path).into()).collect();
            std::thread::spawn(move || shared.fetch(port, paths.iter().cycle().skip(first)))
        };
        Load { clients: (0..clients).map(start).collect(), shared }
    }

    /// The number of answers so far.
    pub(crate) fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::SeqCst)
    }

    /// Whether a client has given up, which [`Load::end`] explains.
    pub(crate) fn has_failed(&self) -> bool {
        self.clients.iter().any(JoinHandle::is_finished)
    }

    /// Lets the clients have the answers they wait for, and returns how many there were.
    pub(crate) fn end(mut self) -> u64 {
        self.shared.enough.store(true, Ordering::SeqCst);
        for client in self.clients.drain(..) {
            client.join().unwrap().unwrap();
        }
        self.answers()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.enough.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn fetch<'a>(&self, port: u16, paths: impl Iterator<Item = &'a String>) -> io::Result<()> {
        let mut connection = None;
        for path in paths {
            let mut retries = 0;
            while !self.enough.load(Ordering::SeqCst) {
                let (mut proxy, fresh) = match connection.take() {
                    Some(kept) => (kept, false),
                    None => (connect(port)?, true),
                };
                match answer(&mut proxy, path) {
                    Ok(keep) => {
                        connection = keep.then_some(proxy);
                        self.answers.fetch_add(1, Ordering::SeqCst);
                        break;
                    }
                    Err(error) if is_closing(&error) && (!fresh || retries < MAX_RETRIES) => {
                        retries += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
            if self.enough.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn connect(port: u16) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(BufReader::new(stream))
}

/// Whether the proxy closed the connection before it answered anything.
fn is_closing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted
    )
}

/// Fetches a path, which must fail for upstream's sake; whether the connection stays.
fn answer(proxy: &mut BufReader<TcpStream>, path: &str) -> io::Result<bool> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    proxy.get_mut().write_all(request.as_bytes())?;
    let mut line = String::new();
    if proxy.read_line(&mut line)? == 0 {
        return Err(ErrorKind::ConnectionReset.into());
    }
    if !line.starts_with("HTTP/1.1 50") {
        return Err(io::Error::other(format!("{path}: {line:?} instead of an error")));
    }
    let (mut length, mut keep) = (0, true);
    loop {
        line.clear();
        // From here on the answer is half there, and the request has been dealt with: never
        // repeated.
        let read = proxy.read_line(&mut line).map_err(io::Error::other)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(io::Error::other)?,
            "connection" => keep = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    io::copy(&mut proxy.take(length), &mut io::sink()).map_err(io::Error::other)?;
    Ok(keep)
}
