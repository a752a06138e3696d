//! The thread that runs all connections. It waits for sockets, and for the next departure or
//! arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hint;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::channel::Channel;
use crate::connection::{CLIENT, Connection, Next, SERVER};
use crate::link::Link;

/// Data of events: one of these numbers, or twice a connection's number plus the index of its
/// socket.
const STOP: u64 = 0;
const LISTENER: u64 = 1;
const TIMER: u64 = 2;
const FIRST_CONNECTION: u64 = 2;

/// After a wait longer than this the processor is in a deep sleep state, and a timer is late by
/// about `HEAD_START`. Such a timer is set earlier by this time, and the thread then polls the
/// clock.
const DEEP_SLEEP: Duration = Duration::from_millis(1);
const HEAD_START: Duration = Duration::from_micros(50);

/// Delay before accepting again after an error such as a lack of memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);
/// Limits on the bytes of one read and on the events of one wait.
const BUFFER: usize = 64 << 10;
const EVENTS: usize = 256;

pub(crate) struct Engine {
    link: Link,
    upstream: SocketAddr,
    listener: TcpListener,
    accept_again: Option<Instant>,
    epoll: OwnedFd,
    /// Wakes the thread more precisely than a timeout of `epoll`, which is in milliseconds or has
    /// slack.
    timer: OwnedFd,
    /// Held open, as `epoll` watches it.
    _stop: UnixStream,
    channels: [Channel; 2],
    connections: HashMap<u64, Entry>,
    last_number: u64,
    /// Times at which connections have something to do. Outdated entries are skipped.
    schedule: BinaryHeap<Reverse<(Instant, u64)>>,
    buffer: Vec<u8>,
}

struct Entry {
    connection: Connection,
    scheduled: Option<Instant>,
}

impl Engine {
    /// Makes an engine with a listener for clients. It stops when the other end of `stop` is
    /// closed.
    pub(crate) fn new(
        link: Link,
        upstream: SocketAddr,
        listener: TcpListener,
        stop: UnixStream,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), edges)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), edges)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edges)?;
        let now = Instant::now();
        Ok(Engine {
            link,
            upstream,
            listener,
            accept_again: None,
            epoll,
            timer,
            _stop: stop,
            channels: [Channel::new(link, now), Channel::new(link, now)],
            connections: HashMap::new(),
            last_number: FIRST_CONNECTION - 1,
            schedule: BinaryHeap::new(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Runs until the other end of `stop` is closed.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            self.arm()?;
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept(),
                    TIMER => {}
                    data => self.event(data / 2, (data % 2) as usize, event.flags),
                }
            }
            if self.accept_again.is_some_and(|at| at <= Instant::now()) {
                self.accept();
            }
            self.keep_schedule();
        }
    }

    /// Performs steps that are due. Steps that become due meanwhile wait until events have been
    /// handled, so that no connection starves.
    fn keep_schedule(&mut self) {
        let mut now = Instant::now();
        while self.next().is_some_and(|at| at > now && at - now <= HEAD_START) {
            hint::spin_loop();
            now = Instant::now();
        }
        while let Some(&Reverse((at, number))) = self.schedule.peek().filter(|next| next.0.0 <= now)
        {
            self.schedule.pop();
            let Some(entry) = self.connections.get_mut(&number) else { continue };
            if entry.scheduled == Some(at) {
                entry.scheduled = None;
                self.advance(number);
            }
        }
    }

    /// Returns the first time on the schedule.
    fn next(&self) -> Option<Instant> {
        self.schedule.peek().map(|Reverse((at, _))| *at)
    }

    /// Sets the timer to the first time on the schedule.
    fn arm(&mut self) -> io::Result<()> {
        let Some(at) = self.next().into_iter().chain(self.accept_again).min() else {
            return Ok(());
        };
        let mut left = at.saturating_duration_since(Instant::now());
        if left > DEEP_SLEEP {
            left -= HEAD_START;
        }
        // Zero would disarm the timer.
        let left = left.max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
        let once = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    fn accept(&mut self) {
        self.accept_again = None;
        loop {
            match self.listener.accept() {
                Ok((client, _)) => {
                    let now = Instant::now();
                    // A client is disconnected if its connection cannot be set up.
                    let Ok(connection) = Connection::new(client, self.upstream, &self.link, now)
                    else {
                        continue;
                    };
                    self.last_number += 1;
                    let number = self.last_number;
                    self.connections.insert(number, Entry { connection, scheduled: None });
                    self.watch(number, CLIENT);
                    self.advance(number);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    // No file descriptors or no memory: clients stay in the queue of the listener.
                    _ => {
                        self.accept_again = Some(Instant::now() + ACCEPT_AGAIN);
                        return;
                    }
                },
            }
        }
    }

    fn event(&mut self, number: u64, side: usize, flags: EventFlags) {
        // An earlier event may have removed the connection.
        if let Some(entry) = self.connections.get_mut(&number) {
            entry.connection.event(side, flags, Instant::now());
            self.advance(number);
        }
    }

    /// Registers a socket for all events.
    fn watch(&mut self, number: u64, side: usize) {
        let Some(entry) = self.connections.get_mut(&number) else { return };
        let Some(stream) = entry.connection.stream(side) else { return };
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let data = EventData::new_u64(number * 2 + side as u64);
        if epoll::add(&self.epoll, stream.as_fd(), data, flags).is_err() {
            entry.connection.abort();
            self.connections.remove(&number);
        }
    }

    fn advance(&mut self, number: u64) {
        loop {
            let Some(entry) = self.connections.get_mut(&number) else { return };
            let now = Instant::now();
            match entry.connection.advance(now, &mut self.channels, &mut self.buffer) {
                Next::At(next) => {
                    if next != entry.scheduled {
                        entry.scheduled = next;
                        self.schedule.extend(next.map(|at| Reverse((at, number))));
                    }
                    return;
                }
                Next::Watch => self.watch(number, SERVER),
                Next::Drop => {
                    self.connections.remove(&number);
                }
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for entry in self.connections.values_mut() {
            entry.connection.abort();
        }
    }
}
