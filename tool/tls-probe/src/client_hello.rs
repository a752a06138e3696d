//! ClientHello messages with any groups and key shares (RFC 8446, section 4.1.2).

use std::fmt;

use rand_core::TryRng;
use random::OperationRandom;

use crate::share::Share;
use crate::{TLS_1_2, TLS_1_3};

/// The versions that a ClientHello offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// TLS 1.3 only.
    Tls13,
    /// TLS 1.3 and TLS 1.2.
    Tls12And13,
}

/// The parts of a ClientHello that matter here. The others are like those of common clients.
#[derive(Clone, Copy, Debug)]
pub struct ClientHello<'a> {
    /// The name of the server (SNI), if one is sent.
    pub server_name: Option<&'a str>,
    /// The versions.
    pub versions: Versions,
    /// The groups, in the client's order.
    pub groups: &'a [u16],
    /// The key shares. Without any, a server names its choice in a HelloRetryRequest.
    pub shares: &'a [&'a Share],
    /// Bytes that the record is filled up to with padding (RFC 7685), if it has fewer.
    pub at_least: usize,
}

/// The error of a ClientHello with a part that is longer than TLS allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ClientHello does not fit into a record of TLS")
    }
}

impl std::error::Error for TooLong {}

/// The longest contents of a plain record.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 14;
/// Bytes before the contents of a record.
pub(crate) const RECORD_HEADER_BYTES: usize = 5;
pub(crate) const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The version in the header of a first record, which servers ignore.
const RECORD_VERSION: u16 = 0x0301;

const CIPHER_SUITES_13: [u16; 3] = [0x1301, 0x1302, 0x1303];
/// ECDHE, DHE and RSA with AES-GCM, ChaCha20 or AES-CBC.
const CIPHER_SUITES_12: [u16; 14] = [
    0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0x009E, 0x009F, 0xC013, 0xC014, 0x009C, 0x009D,
    0x002F, 0x0035,
];
/// Those of every kind of certificate, ML-DSA's included: a server without one in common refuses.
const SIGNATURE_ALGORITHMS: [u16; 20] = [
    0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080A, 0x080B, 0x0401,
    0x0501, 0x0601, 0x0904, 0x0905, 0x0906, 0x081A, 0x081B, 0x081C,
];

mod extension {
    pub(super) const SERVER_NAME: u16 = 0;
    pub(super) const SUPPORTED_GROUPS: u16 = 10;
    pub(super) const EC_POINT_FORMATS: u16 = 11;
    pub(super) const SIGNATURE_ALGORITHMS: u16 = 13;
    pub(super) const PADDING: u16 = 21;
    pub(super) const EXTENDED_MAIN_SECRET: u16 = 23;
    pub(super) const SUPPORTED_VERSIONS: u16 = 43;
    pub(super) const PSK_KEY_EXCHANGE_MODES: u16 = 45;
    pub(super) const KEY_SHARE: u16 = 51;
    pub(super) const RENEGOTIATION_INFO: u16 = 0xFF01;
}

impl ClientHello<'_> {
    /// Returns the record with this ClientHello, and with fresh random numbers.
    ///
    /// # Errors
    /// A part is longer than TLS allows.
    pub fn record(&self) -> Result<Vec<u8>, TooLong> {
        let plain = self.record_with(None)?;
        const PADDING_HEADER_BYTES: usize = 4;
        match self.at_least.checked_sub(plain.len()) {
            None | Some(0) => Ok(plain),
            Some(missing) => self.record_with(Some(missing.saturating_sub(PADDING_HEADER_BYTES))),
        }
    }

    fn record_with(&self, padding: Option<usize>) -> Result<Vec<u8>, TooLong> {
        let mut record = Writer { bytes: vec![HANDSHAKE], is_too_long: false };
        record.u16(RECORD_VERSION);
        record.vector(2, |record| {
            record.u8(CLIENT_HELLO);
            record.vector(3, |body| self.write_body(body, padding));
        });
        let Writer { bytes, is_too_long } = record;
        let is_too_long = is_too_long || bytes.len() > RECORD_HEADER_BYTES + MAX_RECORD_BYTES;
        if is_too_long { Err(TooLong) } else { Ok(bytes) }
    }

    fn write_body(&self, body: &mut Writer, padding: Option<usize>) {
        body.u16(TLS_1_2);
        // The session identifier of 32 bytes is the mode for middleboxes (appendix D.4).
        let mut unique = [0; 64];
        // A ClientHello that is not unique does its work, too: nothing is kept secret with it.
        let _ = OperationRandom::new().try_fill_bytes(&mut unique);
        let (random, session) = unique.split_at(32);
        body.bytes(random);
        body.vector(1, |body| body.bytes(session));
        let offers_12 = self.versions == Versions::Tls12And13;
        let older = CIPHER_SUITES_12.iter().filter(|_| offers_12);
        body.vector(2, |list| list.numbers(CIPHER_SUITES_13.iter().chain(older)));
        const NO_COMPRESSION: u8 = 0;
        body.vector(1, |methods| methods.u8(NO_COMPRESSION));
        body.vector(2, |extensions| self.write_extensions(extensions, padding));
    }

    fn write_extensions(&self, all: &mut Writer, padding: Option<usize>) {
        if let Some(name) = self.server_name {
            all.extension(extension::SERVER_NAME, |extension| {
                extension.vector(2, |list| {
                    const HOST_NAME: u8 = 0;
                    list.u8(HOST_NAME);
                    list.vector(2, |text| text.bytes(name.as_bytes()));
                });
            });
        }
        all.extension(extension::EXTENDED_MAIN_SECRET, |_| {});
        // An empty vector: this is no renegotiation.
        all.extension(extension::RENEGOTIATION_INFO, |extension| extension.u8(0));
        all.extension(extension::SUPPORTED_GROUPS, |extension| {
            extension.vector(2, |list| list.numbers(self.groups));
        });
        all.extension(extension::EC_POINT_FORMATS, |extension| {
            const UNCOMPRESSED: u8 = 0;
            extension.vector(1, |list| list.u8(UNCOMPRESSED));
        });
        all.extension(extension::SIGNATURE_ALGORITHMS, |extension| {
            extension.vector(2, |list| list.numbers(&SIGNATURE_ALGORITHMS));
        });
        all.extension(extension::SUPPORTED_VERSIONS, |extension| {
            let versions: &[u16] = match self.versions {
                Versions::Tls13 => &[TLS_1_3],
                Versions::Tls12And13 => &[TLS_1_3, TLS_1_2],
            };
            extension.vector(1, |list| list.numbers(versions));
        });
        all.extension(extension::PSK_KEY_EXCHANGE_MODES, |extension| {
            const WITH_KEY_EXCHANGE: u8 = 1;
            extension.vector(1, |list| list.u8(WITH_KEY_EXCHANGE));
        });
        all.extension(extension::KEY_SHARE, |extension| {
            extension.vector(2, |list| {
                for share in self.shares {
                    list.u16(share.group);
                    list.vector(2, |bytes| bytes.bytes(&share.bytes));
                }
            });
        });
        if let Some(bytes) = padding {
            all.extension(extension::PADDING, |extension| {
                extension.bytes.resize(extension.bytes.len() + bytes, 0);
            });
        }
    }
}

/// Appends the fields of a message.
struct Writer {
    bytes: Vec<u8>,
    /// True if a vector was longer than its length field can tell.
    is_too_long: bool,
}

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn u8(&mut self, number: u8) {
        self.bytes.push(number);
    }

    fn u16(&mut self, number: u16) {
        self.bytes(&number.to_be_bytes());
    }

    fn numbers<'n>(&mut self, numbers: impl IntoIterator<Item = &'n u16>) {
        numbers.into_iter().for_each(|&number| self.u16(number));
    }

    /// Writes a vector with a length field of `length_bytes` bytes.
    fn vector(&mut self, length_bytes: usize, contents: impl FnOnce(&mut Self)) {
        let at = self.bytes.len();
        let start = at + length_bytes;
        self.bytes.resize(start, 0);
        contents(self);
        let length = (self.bytes.len() - start).to_be_bytes();
        let (zeros, field) = length.split_at(length.len() - length_bytes);
        self.is_too_long |= zeros.iter().any(|&byte| byte != 0);
        self.bytes[at..start].copy_from_slice(field);
    }

    fn extension(&mut self, kind: u16, contents: impl FnOnce(&mut Self)) {
        self.u16(kind);
        self.vector(2, contents);
    }
}

#[cfg(test)]
mod tests {
    use openssl_runtime::wire;

    use super::*;

    fn hello<'a>(groups: &'a [u16], shares: &'a [&'a Share]) -> ClientHello<'a> {
        let server_name = Some("example.org");
        ClientHello { server_name, versions: Versions::Tls12And13, groups, shares, at_least: 0 }
    }

    #[test]
    fn what_was_put_in_is_there() {
        let share = Share { group: 0x1D, bytes: vec![7; 32] };
        let record = hello(&[0x11EC, 0x1D], &[&share]).record().unwrap();
        assert_eq!(wire::find_supported_groups(&record), Some(vec![0x11EC, 0x1D]));
        let shares = wire::find_client_key_shares(&record).unwrap();
        assert_eq!((shares.len(), shares[0].group), (1, 0x1D));
        assert_eq!(record[shares[0].bytes.clone()], [7; 32]);
        let name = b"\0\0\0\x10\0\x0e\0\0\x0bexample.org";
        assert!(record.windows(name.len()).any(|window| window == name));
        let other = hello(&[0x11EC, 0x1D], &[&share]).record().unwrap();
        assert_ne!(record[11..43], other[11..43]);
    }

    #[test]
    fn a_hello_may_have_no_share_and_no_name() {
        let hello = ClientHello { server_name: None, ..hello(&[0x1D], &[]) };
        let record = hello.record().unwrap();
        assert_eq!(wire::find_client_key_shares(&record), Some(Vec::new()));
        assert_eq!(usize::from(u16::from_be_bytes([record[3], record[4]])), record.len() - 5);
    }

    #[test]
    fn padding_fills_a_hello_up() {
        let plain = hello(&[0x1D], &[]).record().unwrap().len();
        for (at_least, expected) in
            [(0, plain), (plain, plain), (plain + 5, plain + 5), (1600, 1600)]
        {
            let padded = ClientHello { at_least, ..hello(&[0x1D], &[]) }.record().unwrap();
            assert_eq!(padded.len(), expected);
            assert_eq!(wire::find_supported_groups(&padded), Some(vec![0x1D]));
        }
    }

    #[test]
    fn too_long_is_an_error() {
        let long = Share { group: 1, bytes: vec![0; 1 << 14] };
        assert_eq!(hello(&[], &[&long]).record(), Err(TooLong));
        assert_eq!(hello(&[0; 40_000], &[]).record(), Err(TooLong));
        let name = "a".repeat(70_000);
        let named = ClientHello { server_name: Some(&name), ..hello(&[], &[]) };
        assert_eq!(named.record(), Err(TooLong));
    }
}
