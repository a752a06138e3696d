//! The socket of a connection. Each read and write has a timeout. The whole connection has a time
//! limit too, so that a peer cannot prolong it by sending a byte at intervals.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

thread_local! {
    /// The time counted in the kernel, as in `openssl_runtime::count_time_inside`.
    static IN_KERNEL: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// A socket with timeouts.
pub struct Wire {
    // An option, so that closing the socket can be timed.
    stream: Option<TcpStream>,
    give_up: Instant,
}

impl Wire {
    /// Connects. Each read and write may take `timeout`, and the whole connection may take twice
    /// `timeout`.
    ///
    /// # Errors
    /// The server does not accept the connection.
    pub fn connect(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = in_kernel(|| {
            let stream = TcpStream::connect_timeout(&address, timeout)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok::<_, io::Error>(stream)
        })?;
        Ok(Self { stream: Some(stream), give_up: Instant::now() + 2 * timeout })
    }

    fn stream(&mut self) -> io::Result<&mut TcpStream> {
        if Instant::now() > self.give_up {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.as_mut().ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stream = self.stream()?;
        in_kernel(|| stream.read(buffer))
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stream = self.stream()?;
        in_kernel(|| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        in_kernel(|| self.stream = None);
    }
}

/// Starts counting, from zero, the time that this thread's sockets spend in the kernel, or stops
/// it.
pub(crate) fn count_time_in_kernel(yes: bool) {
    IN_KERNEL.set(yes.then_some(Duration::ZERO));
}

/// Returns the time counted so far; `None` if it is not counted.
pub(crate) fn time_in_kernel() -> Option<Duration> {
    IN_KERNEL.get()
}

fn in_kernel<T>(call: impl FnOnce() -> T) -> T {
    if IN_KERNEL.get().is_none() {
        return call();
    }
    let start = Instant::now();
    let result = call();
    IN_KERNEL.set(IN_KERNEL.get().map(|counted| counted + start.elapsed()));
    result
}
