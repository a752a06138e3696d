//! A connection through the link: the client's socket, the server's socket, and a flow in each
//! direction.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

use crate::channel::{Channel, one_way};
use crate::flow::{Arrived, Flow};
use crate::link::Link;

/// Indices of the sockets and of the flows from them.
pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// A socket that does not block, and the state that the kernel has reported.
struct Socket {
    stream: TcpStream,
    is_connected: bool,
    /// A read may return data.
    is_readable: bool,
    is_writable: bool,
    has_failed: bool,
    /// The peer sends no more.
    has_ended: bool,
}

pub(crate) struct Connection {
    sockets: [Option<Socket>; 2],
    /// The flow from the client's socket, and the flow from the server's.
    flows: [Flow; 2],
    upstream: SocketAddr,
    /// The time at which the client's connection request arrives at the server.
    opens: Option<Instant>,
}

/// The next step for a connection.
pub(crate) enum Next {
    /// Call again at this time, or at an event.
    At(Option<Instant>),
    /// Register the server's socket for events.
    Watch,
    /// Remove the connection.
    Drop,
}

impl Connection {
    /// Makes a connection for a client that has just connected.
    pub(crate) fn new(
        client: TcpStream,
        upstream: SocketAddr,
        link: &Link,
        now: Instant,
    ) -> io::Result<Self> {
        client.set_nonblocking(true)?;
        client.set_nodelay(true)?;
        let opens = now + one_way(link);
        Ok(Connection {
            sockets: [Some(Socket::new(client, true)), None],
            flows: [Flow::new(link, now), Flow::new(link, opens)],
            upstream,
            opens: Some(opens),
        })
    }

    /// Returns the stream on one side.
    pub(crate) fn stream(&self, side: usize) -> Option<&TcpStream> {
        self.sockets[side].as_ref().map(|socket| &socket.stream)
    }

    /// Records an event.
    pub(crate) fn event(&mut self, side: usize, events: EventFlags, now: Instant) {
        let Some(socket) = &mut self.sockets[side] else { return };
        if !socket.is_connected {
            if !events.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR) {
                return;
            }
            if !matches!(socket.stream.take_error(), Ok(None)) {
                self.sockets[side] = None;
                self.flows[side].refuse(now);
                return;
            }
            socket.is_connected = true;
        }
        let broken = EventFlags::HUP | EventFlags::ERR;
        let (reads, writes) = (EventFlags::IN | EventFlags::RDHUP, EventFlags::OUT);
        socket.is_readable |= !socket.has_ended && events.intersects(reads | broken);
        socket.is_writable |= events.intersects(writes | broken);
        socket.has_failed |= events.contains(EventFlags::ERR);
    }

    /// Performs all steps that are due at `now`. `channels` are the directions from the client and
    /// from the server. `buffer` is scratch memory.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        channels: &mut [Channel; 2],
        buffer: &mut [u8],
    ) -> Next {
        if self.opens.is_some_and(|at| at <= now) {
            self.opens = None;
            match dial(self.upstream) {
                Ok(stream) => {
                    self.sockets[SERVER] = Some(Socket::new(stream, false));
                    return Next::Watch;
                }
                Err(_) => self.flows[SERVER].refuse(now),
            }
        }
        for side in [CLIENT, SERVER] {
            let flow = &mut self.flows[side];
            if let Some(socket) = &mut self.sockets[side] {
                socket.send(flow, now, buffer);
            }
            flow.depart(now, &mut channels[side]);
        }
        for side in [CLIENT, SERVER] {
            self.receive(side, now);
        }
        if self.flows.iter().any(|flow| flow.reset_arrived(now)) {
            self.abort();
            return Next::Drop;
        }
        if self.flows.iter().all(Flow::has_ended) {
            return Next::Drop;
        }
        let times = [CLIENT, SERVER].map(|side| self.flows[1 - side].next(self.takes(side)));
        Next::At(times.into_iter().chain([self.opens]).flatten().min())
    }

    /// Returns true if the socket on a side takes data: it has room, and has not reset the
    /// connection.
    fn takes(&self, side: usize) -> bool {
        let socket = self.sockets[side].as_ref();
        socket.is_some_and(|socket| socket.is_writable) && !self.flows[side].is_reset()
    }

    /// Writes arrived data to the socket on a side.
    fn receive(&mut self, side: usize, now: Instant) {
        while self.takes(side) {
            let arrived = self.flows[1 - side].arrived(now);
            let Some(socket) = &mut self.sockets[side] else { return };
            match arrived {
                Arrived::Nothing => return,
                Arrived::End => {
                    // An error here is also reported as an event.
                    let _ = socket.stream.shutdown(Shutdown::Write);
                    self.flows[1 - side].hand_over_end();
                }
                Arrived::Bytes(count) => {
                    let flow = &mut self.flows[1 - side];
                    match socket.stream.write(flow.front(count)) {
                        Ok(count) => flow.hand_over(now, count),
                        Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            socket.is_writable = false;
                            flow.block();
                            return;
                        }
                        // The receiver is gone. The sender sees a reset, as from the kernel.
                        Err(_) => self.flows[side].reset(now),
                    }
                }
            }
            self.flows[side].catch_up();
        }
    }

    /// Closes both sockets with a reset, so that their peers see an error and not an end.
    pub(crate) fn abort(&mut self) {
        for socket in self.sockets.iter().flatten() {
            let _ = set_socket_linger(&socket.stream, Some(Duration::ZERO));
        }
        self.sockets = [None, None];
    }
}

impl Socket {
    fn new(stream: TcpStream, is_connected: bool) -> Self {
        Socket {
            stream,
            is_connected,
            is_readable: false,
            is_writable: false,
            has_failed: false,
            has_ended: false,
        }
    }

    /// Reads data from the socket into the flow as far as it has room. The rest stays in the
    /// kernel's buffers, until the program's writes block.
    fn send(&mut self, flow: &mut Flow, now: Instant, buffer: &mut [u8]) {
        while self.is_readable && !flow.is_reset() {
            let room = flow.room(now).min(buffer.len());
            if room == 0 {
                flow.wait(now);
                break;
            }
            match self.stream.read(&mut buffer[..room]) {
                Ok(0) => {
                    (self.is_readable, self.has_ended) = (false, true);
                    flow.end(now);
                }
                Ok(count) => flow.admit(now, &buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_readable = false;
                    flow.idle();
                }
                Err(_) => flow.reset(now),
            }
        }
        // No read would report the error. Data without room in the window is dropped, as if a
        // program had reset the connection.
        if self.has_failed && (self.has_ended || flow.is_waiting()) {
            flow.reset(now);
        }
    }
}

/// Begins to connect. The result is reported as an event.
fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}
