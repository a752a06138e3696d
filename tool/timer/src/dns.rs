//! A workload of one query over DNS over TLS (RFC 7858).

use std::io::{Read, Write};
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype};
use openssl_runtime::TlsStream;
use output::Failure;

use crate::wire::Wire;
use crate::workload::{Data, Fault, Workload};

/// A query, and the check of its answer: a DNS answer without an error and with at least one
/// record.
pub struct DnsQuery {
    name: String,
    /// The message, with an identifier of zero.
    message: Vec<u8>,
    next_identifier: AtomicU16,
}

/// The size of the length field before each message (RFC 1035, section 4.2.2).
const LENGTH_BYTES: usize = 2;

impl DnsQuery {
    /// Creates a recursive query for records of a type, such as `A`, of a name, such as
    /// `example.test`.
    ///
    /// # Errors
    /// The name or type is not valid.
    pub fn new(name: &str, record_type: &str) -> Result<Self, Failure> {
        let wrong = |what: &str, hint: &str| Failure::new(format!("{what}: expected {hint}"));
        let parsed = Name::<Vec<u8>>::from_str(name)
            .map_err(|_| wrong(&format!("name '{name}'"), "a domain name, such as example.test"))?;
        let record_type = Rtype::from_str(record_type).map_err(|_| {
            wrong(&format!("record type '{record_type}'"), "one such as A, AAAA or TXT")
        })?;
        let mut builder = MessageBuilder::new_vec();
        builder.header_mut().set_rd(true);
        let mut question = builder.question();
        question.push((&parsed, record_type)).map_err(Failure::about(name))?;
        Ok(Self {
            name: name.into(),
            message: question.finish(),
            next_identifier: AtomicU16::new(0),
        })
    }

    /// Returns the query, preceded by its length, with a new identifier.
    fn next(&self) -> Vec<u8> {
        let identifier = self.next_identifier.fetch_add(1, Ordering::Relaxed);
        // A query contains one name and therefore has a few hundred bytes at most.
        let length = self.message.len() as u16;
        let mut bytes = Vec::with_capacity(LENGTH_BYTES + self.message.len());
        bytes.extend(length.to_be_bytes());
        bytes.extend(identifier.to_be_bytes());
        bytes.extend(&self.message[2..]);
        bytes
    }

    fn check(&self, query: &[u8], answer: &[u8]) -> Result<(), Failure> {
        let wrong = |what: String| Failure::new(format!("{}: {what}", self.name));
        let parse = |bytes| {
            Message::from_slice(bytes).map_err(|_| wrong("the answer is no DNS message".into()))
        };
        let (query, answer) = (parse(query)?, parse(answer)?);
        if !answer.is_answer(query) {
            return Err(wrong("the answer is not one to the query".into()));
        }
        match answer.header().rcode() {
            Rcode::NOERROR if answer.header_counts().ancount() > 0 => Ok(()),
            Rcode::NOERROR => Err(wrong("the server knows no record of this type".into())),
            code => Err(wrong(format!("the server answered {code}"))),
        }
    }
}

impl Workload for DnsQuery {
    fn run(&self, stream: &mut TlsStream<Wire>) -> Result<Data, Fault> {
        let query = self.next();
        stream.write_all(&query)?;
        let mut length = [0; LENGTH_BYTES];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer)?;
        self.check(&query[LENGTH_BYTES..], &answer).map_err(Fault::Answer)?;
        Ok(Data { sent: query.len(), received: LENGTH_BYTES + answer.len() })
    }
}

#[cfg(test)]
mod tests {
    use domain::rdata::A;

    use super::*;

    fn answer(query: &[u8], code: Rcode, records: usize) -> Vec<u8> {
        let query = Message::from_slice(query).unwrap();
        let mut answer = MessageBuilder::new_vec().start_answer(query, code).unwrap();
        let name = Name::<Vec<u8>>::from_str("example.test").unwrap();
        for _ in 0..records {
            answer.push((&name, 60, A::from_octets(192, 0, 2, 1))).unwrap();
        }
        answer.finish()
    }

    #[test]
    fn answers_are_told_from_other_messages() {
        let query = DnsQuery::new("example.test", "A").unwrap();
        let (first, second) = (query.next(), query.next());
        assert_eq!(
            usize::from(u16::from_be_bytes([first[0], first[1]])),
            first.len() - LENGTH_BYTES
        );
        assert_ne!(first, second);
        let (first, second) = (&first[LENGTH_BYTES..], &second[LENGTH_BYTES..]);
        query.check(first, &answer(first, Rcode::NOERROR, 1)).unwrap();
        let wrong = [
            (answer(second, Rcode::NOERROR, 1), "not one to the query"),
            (first.to_vec(), "not one to the query"),
            (answer(first, Rcode::NXDOMAIN, 0), "NXDOMAIN"),
            (answer(first, Rcode::NOERROR, 0), "no record"),
            (vec![0; 5], "no DNS message"),
        ];
        for (bytes, message) in wrong {
            let found = query.check(first, &bytes).unwrap_err().to_string();
            assert!(found.starts_with("example.test: ") && found.contains(message), "{found}");
        }
    }

    #[test]
    fn names_and_types_are_checked() {
        assert!(DnsQuery::new("a..b", "A").err().unwrap().to_string().contains("a domain name"));
        assert!(DnsQuery::new("example.test", "B C").err().unwrap().to_string().contains("AAAA"));
    }
}
