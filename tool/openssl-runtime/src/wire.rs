//! Finds and reads the choices in a flight of TLS, and replaces its key shares, so that tests can
//! tamper with them.
//!
//! A flight is all bytes that one side sends at once. Its plain records come first, because hellos
//! are never encrypted. All functions are safe on arbitrary bytes and return `None` for bytes that
//! they do not recognise.

use std::ops::Range;

use crate::constants::*;

/// The hello at the start of a flight. ChangeCipherSpec records may precede it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Hello {
    /// A ClientHello.
    Client,
    /// A ServerHello or a HelloRetryRequest.
    Server,
}

/// A key share in a flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShare {
    /// The group's code point. On the wire it is the two bytes at `bytes.start - 4`; the next two
    /// bytes are the share's length.
    pub group: u16,
    /// The position of the share's bytes in the flight.
    pub bytes: Range<usize>,
    /// The length fields that include the share's bytes.
    lengths: Vec<LengthField>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LengthField {
    at: usize,
    bytes: usize,
}

/// The maximum length of a plain record in TLS.
const MAX_RECORD_BYTES: usize = 1 << 14;
const RECORD_HEADER_BYTES: usize = 5;
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
/// The random bytes of a ServerHello that make it a HelloRetryRequest (RFC 8446, section 4.1.3).
pub const HELLO_RETRY_RANDOM: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];

/// Returns the key shares that a ClientHello offers, in its order; empty if it offers none.
pub fn find_client_key_shares(flight: &[u8]) -> Option<Vec<KeyShare>> {
    let Some(mut extension) = find_extension(flight, Hello::Client, TLSEXT_TYPE_key_share)? else {
        return Some(Vec::new());
    };
    let mut list = extension.vector(2)?;
    extension.finished()?;
    let mut shares = Vec::new();
    while list.finished().is_none() {
        shares.push(list.share()?);
    }
    Some(shares)
}

/// Returns the key share in a ServerHello; `None` also for a HelloRetryRequest, which has no share.
pub fn find_server_key_share(flight: &[u8]) -> Option<KeyShare> {
    let mut extension = find_extension(flight, Hello::Server, TLSEXT_TYPE_key_share)??;
    let share = extension.share()?;
    extension.finished()?;
    Some(share)
}

/// Returns the group that a HelloRetryRequest asks for; `None` for any other message.
pub fn find_retry_group(flight: &[u8]) -> Option<u16> {
    if !is_hello_retry(flight) {
        return None;
    }
    let mut extension = find_extension(flight, Hello::Server, TLSEXT_TYPE_key_share)??;
    let group = extension.u16()?;
    extension.finished()?;
    Some(group)
}

/// Returns the version that a ServerHello or HelloRetryRequest selects (RFC 8446, section 4.2.1).
pub fn find_server_version(flight: &[u8]) -> Option<u16> {
    let mut body = find_hello(flight, Hello::Server)?;
    match body.clone().hello_extension(Hello::Server, TLSEXT_TYPE_supported_versions)? {
        None => body.u16(),
        Some(mut extension) => {
            let version = extension.u16()?;
            extension.finished()?;
            Some(version)
        }
    }
}

/// True if the flight starts with a HelloRetryRequest.
pub fn is_hello_retry(flight: &[u8]) -> bool {
    let body = || find_hello(flight, Hello::Server)?.take(2 + 32);
    body().is_some_and(|range| flight[range.start + 2..range.end] == HELLO_RETRY_RANDOM)
}

/// Returns the groups that a ClientHello supports, in its order; empty if it does not list them.
pub fn find_supported_groups(flight: &[u8]) -> Option<Vec<u16>> {
    let Some(mut extension) = find_extension(flight, Hello::Client, TLSEXT_TYPE_supported_groups)?
    else {
        return Some(Vec::new());
    };
    let mut list = extension.vector(2)?;
    extension.finished()?;
    let mut groups = Vec::new();
    while list.finished().is_none() {
        groups.push(list.u16()?);
    }
    Some(groups)
}

/// Replaces the client's share for `group` by a share of any length. Corrects all lengths: of the
/// entry, the list, the extension, the extensions, the message and the record. Returns `None` if
/// there is no such share or the record would become longer than TLS allows.
pub fn replace_client_key_share(flight: &[u8], group: u16, share: &[u8]) -> Option<Vec<u8>> {
    let shares = find_client_key_shares(flight)?;
    shares.iter().find(|found| found.group == group)?.replace(flight, share)
}

/// Does the same as [`replace_client_key_share`] for the server's share.
pub fn replace_server_key_share(flight: &[u8], share: &[u8]) -> Option<Vec<u8>> {
    find_server_key_share(flight)?.replace(flight, share)
}

impl KeyShare {
    /// Returns the flight that contains this share, with the share replaced as in
    /// [`replace_client_key_share`].
    pub fn replace(&self, flight: &[u8], share: &[u8]) -> Option<Vec<u8>> {
        let (before, after) = (flight.get(..self.bytes.start)?, flight.get(self.bytes.end..)?);
        let mut changed = [before, share, after].concat();
        for (index, field) in self.lengths.iter().enumerate() {
            let old = big_endian(flight.get(field.at..field.at + field.bytes)?);
            let new = (old + share.len()).checked_sub(self.bytes.len())?;
            // The first field is the record's length.
            let most = if index == 0 { MAX_RECORD_BYTES } else { (1 << (8 * field.bytes)) - 1 };
            if new > most {
                return None;
            }
            let bytes = new.to_be_bytes();
            changed[field.at..field.at + field.bytes]
                .copy_from_slice(&bytes[bytes.len() - field.bytes..]);
        }
        Some(changed)
    }
}

/// The server's choice of key exchange in a ServerHello or ServerKeyExchange message (without
/// record header).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerChoice {
    /// The server asks for another ClientHello.
    Retry,
    /// The server uses this group.
    Group(u16),
}

/// Reads the server's choice from a handshake message; `None` if the message contains none.
pub(crate) fn server_choice(message: &[u8]) -> Option<ServerChoice> {
    let mut reader = Reader::new(message);
    let kind = reader.u8()?;
    let mut body = reader.vector(3)?;
    if kind == SSL3_MT_SERVER_KEY_EXCHANGE {
        const NAMED_CURVE: u8 = 3;
        let curve_type = body.u8()?;
        let group = body.u16()?;
        return (curve_type == NAMED_CURVE).then_some(ServerChoice::Group(group));
    }
    if kind != SSL3_MT_SERVER_HELLO {
        return None;
    }
    let random = message.get(body.at + 2..body.at + 2 + 32)?;
    if random == HELLO_RETRY_RANDOM {
        return Some(ServerChoice::Retry);
    }
    let mut extension = body.hello_extension(Hello::Server, TLSEXT_TYPE_key_share)??;
    extension.u16().map(ServerChoice::Group)
}

/// Returns the extension's contents; `Some(None)` if the hello is well-formed and lacks the
/// extension.
fn find_extension(flight: &[u8], hello: Hello, kind: u16) -> Option<Option<Reader<'_>>> {
    find_hello(flight, hello)?.hello_extension(hello, kind)
}

/// Returns the body of the hello at the start of the flight. The hello must lie in one record.
fn find_hello(flight: &[u8], hello: Hello) -> Option<Reader<'_>> {
    let mut records = Reader::new(flight);
    loop {
        let kind = records.u8()?;
        records.take(RECORD_HEADER_BYTES - 3)?;
        let mut record = records.vector(2)?;
        match kind {
            CHANGE_CIPHER_SPEC => {}
            HANDSHAKE => {
                let expected = match hello {
                    Hello::Client => SSL3_MT_CLIENT_HELLO,
                    Hello::Server => SSL3_MT_SERVER_HELLO,
                };
                return if record.u8()? == expected { record.vector(3) } else { None };
            }
            _ => return None,
        }
    }
}

/// Reads forward in a part of a flight and remembers the length fields around it.
#[derive(Clone)]
struct Reader<'a> {
    flight: &'a [u8],
    at: usize,
    end: usize,
    lengths: Vec<LengthField>,
}

impl<'a> Reader<'a> {
    fn new(flight: &'a [u8]) -> Self {
        Self { flight, at: 0, end: flight.len(), lengths: Vec::new() }
    }

    fn take(&mut self, bytes: usize) -> Option<Range<usize>> {
        let start = self.at;
        let end = start.checked_add(bytes)?;
        (end <= self.end).then(|| {
            self.at = end;
            start..end
        })
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        self.take(bytes).map(|range| big_endian(&self.flight[range]))
    }

    fn u8(&mut self) -> Option<u8> {
        self.number(1)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.number(2)?.try_into().ok()
    }

    /// Returns the contents of a vector with a length field of `length_bytes` bytes.
    fn vector(&mut self, length_bytes: usize) -> Option<Self> {
        let field = LengthField { at: self.at, bytes: length_bytes };
        let length = self.number(length_bytes)?;
        let range = self.take(length)?;
        let lengths = self.lengths.iter().copied().chain([field]).collect();
        Some(Self { flight: self.flight, at: range.start, end: range.end, lengths })
    }

    fn finished(&self) -> Option<()> {
        (self.at == self.end).then_some(())
    }

    /// Reads an entry of a key share extension.
    fn share(&mut self) -> Option<KeyShare> {
        let group = self.u16()?;
        let share = self.vector(2)?;
        Some(KeyShare { group, bytes: share.at..share.end, lengths: share.lengths })
    }

    /// Returns an extension of the hello; the reader must be at the start of the hello's body.
    fn hello_extension(mut self, hello: Hello, kind: u16) -> Option<Option<Self>> {
        const VERSION_AND_RANDOM_BYTES: usize = 2 + 32;
        self.take(VERSION_AND_RANDOM_BYTES)?;
        self.vector(1)?; // session identifier
        match hello {
            Hello::Client => {
                self.vector(2)?; // cipher suites
                self.vector(1)?; // compression methods
            }
            Hello::Server => {
                self.take(2 + 1)?; // cipher suite and compression method
            }
        }
        if self.finished().is_some() {
            return Some(None);
        }
        let mut extensions = self.vector(2)?;
        self.finished()?;
        while extensions.finished().is_none() {
            let found = extensions.u16()?;
            let extension = extensions.vector(2)?;
            if found == kind {
                return Some(Some(extension));
            }
        }
        Some(None)
    }
}

fn big_endian(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: [u8; 8] = [0, 10, 0, 4, 0, 2, 0, 29];

    /// Returns a flight with a hello of this kind and these extensions.
    fn flight(kind: u8, extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([2, 1, 1]); // session identifier
        body.extend(if kind == SSL3_MT_CLIENT_HELLO {
            &[0, 2, 19, 1, 1, 0][..]
        } else {
            &[19, 1, 0]
        });
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let length = u16::try_from(body.len()).unwrap();
        let mut flight = vec![20, 3, 3, 0, 1, 1, 22, 3, 1];
        flight.extend((length + 4).to_be_bytes());
        flight.extend([kind, 0]);
        flight.extend(length.to_be_bytes());
        flight.extend(body);
        flight.extend([23, 3, 3, 0, 2, 9, 9]);
        flight
    }

    fn client() -> Vec<u8> {
        let shares = [0, 51, 0, 13, 0, 11, 0, 29, 0, 2, 5, 6, 0, 23, 0, 1, 8];
        flight(SSL3_MT_CLIENT_HELLO, &[&GROUPS[..], &shares].concat())
    }

    fn server() -> Vec<u8> {
        flight(SSL3_MT_SERVER_HELLO, &[0, 43, 0, 2, 3, 4, 0, 51, 0, 7, 0, 29, 0, 3, 1, 2, 3])
    }

    #[test]
    fn shares_are_found() {
        let flight = client();
        let shares = find_client_key_shares(&flight).unwrap();
        let found: Vec<_> =
            shares.iter().map(|share| (share.group, &flight[share.bytes.clone()])).collect();
        assert_eq!(found, [(29, &[5, 6][..]), (23, &[8][..])]);
        assert_eq!(find_supported_groups(&flight), Some(vec![29]));
        assert_eq!(find_server_key_share(&flight), None);

        let flight = server();
        assert_eq!(find_server_version(&flight), Some(0x0304));
        let share = find_server_key_share(&flight).unwrap();
        assert_eq!((share.group, &flight[share.bytes]), (29, &[1, 2, 3][..]));
        assert_eq!(find_client_key_shares(&flight), None);
        assert_eq!(find_retry_group(&flight), None);
    }

    #[test]
    fn absent_extensions_are_not_malformed() {
        let old = flight(SSL3_MT_SERVER_HELLO, &[]);
        assert_eq!(find_server_version(&old), Some(0x0303));
        assert_eq!(find_server_version(&client()), None);
        let flight = flight(SSL3_MT_CLIENT_HELLO, &GROUPS);
        assert_eq!(find_client_key_shares(&flight), Some(Vec::new()));
    }

    #[test]
    fn retries_are_recognised() {
        let mut flight = flight(SSL3_MT_SERVER_HELLO, &[0, 51, 0, 2, 0, 23]);
        assert!(!is_hello_retry(&flight));
        let random = flight.windows(32).position(|window| window == [7; 32]).unwrap();
        flight[random..random + 32].copy_from_slice(&HELLO_RETRY_RANDOM);
        assert!(is_hello_retry(&flight));
        assert_eq!(find_retry_group(&flight), Some(23));
        assert_eq!(find_server_key_share(&flight), None);
        assert_eq!(server_choice(&flight[11..]), Some(ServerChoice::Retry));
    }

    #[test]
    fn the_servers_choice_is_read_from_its_messages() {
        assert_eq!(server_choice(&server()[11..]), Some(ServerChoice::Group(29)));
        assert_eq!(server_choice(&[12, 0, 0, 4, 3, 0, 23, 0]), Some(ServerChoice::Group(23)));
        assert_eq!(server_choice(&[12, 0, 0, 4, 1, 0, 23, 0]), None);
        assert_eq!(server_choice(&[2, 0, 0, 1, 3]), None);
    }

    #[test]
    fn replaced_shares_leave_a_well_formed_flight() {
        for share in [&[][..], &[1], &[4, 4], &[9; 1000]] {
            let changed = replace_client_key_share(&client(), 29, share).unwrap();
            let shares = find_client_key_shares(&changed).unwrap();
            assert_eq!(&changed[shares[0].bytes.clone()], share);
            assert_eq!(&changed[shares[1].bytes.clone()], [8]);
            assert!(changed.ends_with(&[23, 3, 3, 0, 2, 9, 9]));

            let changed = replace_server_key_share(&server(), share).unwrap();
            assert_eq!(&changed[find_server_key_share(&changed).unwrap().bytes], share);
        }
        assert_eq!(replace_client_key_share(&client(), 29, &[5, 6]), Some(client()));
        assert_eq!(replace_client_key_share(&client(), 30, &[]), None);
        assert_eq!(replace_client_key_share(&client(), 29, &[0; MAX_RECORD_BYTES]), None);
        assert_eq!(replace_client_key_share(&client(), 29, &[0; 70_000]), None);
    }

    #[test]
    fn garbage_is_refused_without_panic() {
        let mut numbers = artifacts::Numbers::new(1);
        let mut next = || (numbers.bits() >> 33) as usize;
        let try_all = |flight: &[u8]| {
            if let Some(shares) = find_client_key_shares(flight) {
                shares.iter().for_each(|share| drop(share.replace(flight, &[1, 2, 3])));
            }
            find_server_key_share(flight).map(|share| share.replace(flight, &[]));
            find_retry_group(flight);
            find_server_version(flight);
            find_supported_groups(flight);
            server_choice(flight);
            server_choice(flight.get(11..).unwrap_or_default());
        };
        for original in [client(), server()] {
            (0..original.len()).for_each(|length| try_all(&original[..length]));
            for _ in 0..20_000 {
                let mut flight = original.clone();
                for _ in 0..1 + next() % 4 {
                    let at = next() % flight.len();
                    flight[at] = next() as u8;
                }
                try_all(&flight);
            }
        }
        let share = find_server_key_share(&server()).unwrap();
        assert_eq!(share.replace(&[], &[1]), None);
    }
}
