//! The known-answer format, written.

use super::parse::REFUSED;
use super::{Case, Count, Expected, KatFile, Record, Unlucky};
use crate::kat::hex;
use crate::ml_kem::SHARED_SECRET_BYTES;
use std::fmt;

impl fmt::Display for KatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "parameters={}", self.params.name)?;
        self.records.iter().try_for_each(|record| writeln!(f, "{record}"))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.case.kind(), self.id)?;
        match &self.case {
            Case::Count(count) => write_count(f, count),
            Case::Unlucky(Unlucky { blocks, count }) => {
                write!(f, " blocks=")?;
                blocks.iter().try_for_each(|blocks| write!(f, "{blocks}"))?;
                write_count(f, count)
            }
            Case::Keys { d, z, ek, dk } => {
                write_bytes(f, "d", d)?;
                write_bytes(f, "z", z)?;
                write_expected(f, "ek", ek)?;
                write_expected(f, "dk", dk)
            }
            Case::Seeded { d, z, ek, c, ss } => {
                write_bytes(f, "d", d)?;
                write_bytes(f, "z", z)?;
                write_expected(f, "ek", ek)?;
                write_bytes(f, "c", c)?;
                write_shared_secret(f, ss.as_ref())
            }
            Case::Encapsulation { ek, m, answer } => {
                write_bytes(f, "ek", ek)?;
                write_bytes(f, "m", m)?;
                if let Some((c, _)) = answer {
                    write_expected(f, "c", c)?;
                }
                write_shared_secret(f, answer.as_ref().map(|(_, ss)| ss))
            }
            Case::Decapsulation { dk, c, ss } => {
                write_bytes(f, "dk", dk)?;
                write_bytes(f, "c", c)?;
                write_shared_secret(f, ss.as_ref())
            }
            Case::EncapsulationKey { ek, valid } => {
                write_bytes(f, "ek", ek)?;
                write_flag(f, "valid", *valid)
            }
            Case::DecapsulationKey { dk, valid } => {
                write_bytes(f, "dk", dk)?;
                write_flag(f, "valid", *valid)
            }
            Case::Accumulated { rounds, digest } => {
                write!(f, " rounds={rounds}")?;
                write_bytes(f, "digest", digest)
            }
            Case::Modulus { d, z } | Case::Hash { d, z } => {
                write_bytes(f, "d", d)?;
                write_bytes(f, "z", z)
            }
            Case::Lengths { d, z, m } => {
                write_bytes(f, "d", d)?;
                write_bytes(f, "z", z)?;
                write_bytes(f, "m", m)
            }
            Case::Rejection { d, z, m, sss_sha256 } => {
                write_bytes(f, "d", d)?;
                write_bytes(f, "z", z)?;
                write_bytes(f, "m", m)?;
                write_bytes(f, "sss_sha256", sss_sha256)
            }
        }
    }
}

fn write_count(f: &mut fmt::Formatter<'_>, count: &Count) -> fmt::Result {
    write_bytes(f, "d", &count.d)?;
    write_bytes(f, "z", &count.z)?;
    write_bytes(f, "m", &count.m)?;
    write_expected(f, "ek", &count.ek)?;
    write_expected(f, "dk", &count.dk)?;
    write_expected(f, "c", &count.c)?;
    write_bytes(f, "ss", &count.ss)?;
    write!(f, " flip={}", count.flip)?;
    write_bytes(f, "ss_reject", &count.ss_reject)
}

fn write_bytes(f: &mut fmt::Formatter<'_>, name: &str, bytes: &[u8]) -> fmt::Result {
    write!(f, " {name}={}", hex(bytes))
}

fn write_expected(f: &mut fmt::Formatter<'_>, name: &str, expected: &Expected) -> fmt::Result {
    match expected {
        Expected::Whole(bytes) => write_bytes(f, name, bytes),
        Expected::Digest(digest) => write_bytes(f, &format!("{name}_sha256"), digest),
    }
}

fn write_flag(f: &mut fmt::Formatter<'_>, name: &str, flag: bool) -> fmt::Result {
    write!(f, " {name}={}", if flag { "yes" } else { "no" })
}

fn write_shared_secret(
    f: &mut fmt::Formatter<'_>,
    ss: Option<&[u8; SHARED_SECRET_BYTES]>,
) -> fmt::Result {
    match ss {
        Some(ss) => write_bytes(f, "ss", ss),
        None => write!(f, " ss={REFUSED}"),
    }
}
