//! The socket of a connection: no read or write waits for ever, and no connection does by a byte
//! now and then.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

thread_local! {
    /// As in `openssl_runtime::count_time_inside`, for the kernel.
    static IN_KERNEL: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// A socket.
pub struct Wire {
    // An option so that its end can be timed.
    stream: Option<TcpStream>,
    give_up: Instant,
}

impl Wire {
    /// Connects. Each read and write may take `timeout`, and the connection as a whole as much as
    /// `timeout` more.
    ///
    /// # Errors
    /// The server does not accept.
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

/// Begins to count the time that this thread's sockets are in the kernel, from zero, or ends it.
pub(crate) fn count_time_in_kernel(yes: bool) {
    IN_KERNEL.set(yes.then_some(Duration::ZERO));
}

/// Bytes counted so far.
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
