//! The messages of a connection, as libssl reports them to its message callback.

use std::ffi::{c_int, c_void};
use std::slice;

use crate::alert::Alert;
use crate::constants::*;
use crate::inside::outside;
use crate::types::SSL;
use crate::wire::{ServerChoice, server_choice};

/// A handshake message as it was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// True if this side sent it.
    pub sent: bool,
    /// The type: 1 for ClientHello, 2 for ServerHello and so on (RFC 8446, appendix B.3).
    pub kind: u8,
    /// The length, including the header.
    pub bytes: usize,
}

/// The messages and parameters seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observer {
    pub(crate) alert_sent: Option<Alert>,
    pub(crate) alert_received: Option<Alert>,
    pub(crate) group: Option<u16>,
    pub(crate) hello_retry: bool,
    pub(crate) messages: Vec<Message>,
}

/// The maximum number of recorded messages, so that a long connection with new tickets and keys
/// does not fill the memory.
const MAX_MESSAGES: usize = 64;

impl Observer {
    fn see(&mut self, sent: bool, content_type: c_int, bytes: &[u8]) {
        match (content_type, bytes) {
            (SSL3_RT_ALERT, &[level, number]) => {
                let seen = if sent { &mut self.alert_sent } else { &mut self.alert_received };
                *seen = Some(Alert { level, number });
            }
            (SSL3_RT_HANDSHAKE, &[kind, ..]) if self.messages.len() < MAX_MESSAGES => {
                self.messages.push(Message { sent, kind, bytes: bytes.len() });
                match server_choice(bytes) {
                    Some(ServerChoice::Retry) => self.hello_retry = true,
                    Some(ServerChoice::Group(group)) => self.group = Some(group),
                    None => {}
                }
            }
            _ => {}
        }
    }
}

/// libssl's message callback; its state is the connection's [`Observer`]. The callback never
/// panics.
pub(crate) unsafe extern "C" fn message_callback(
    write: c_int,
    _version: c_int,
    content_type: c_int,
    message: *const c_void,
    length: usize,
    _ssl: *mut SSL,
    state: *mut c_void,
) {
    if message.is_null() || state.is_null() {
        return;
    }
    // SAFETY: the connection owns the observer and does not access it during a call to libssl.
    let observer = unsafe { &mut *state.cast::<Observer>() };
    // SAFETY: libssl passes a valid pointer and length for the duration of the call.
    let message = unsafe { slice::from_raw_parts(message.cast(), length) };
    outside(|| observer.see(write != 0, content_type, message));
}
