//! The known-answer format, read.

use super::{Case, Count, KatFile, ParseError, Record, Unlucky};
use crate::kat::fields::Fields;
use crate::ml_kem::{Parameters, SHARED_SECRET_BYTES};

/// The starts of a line.
const KINDS: &str = "count=, unlucky=, keys=, seeded=, encaps=, decaps=, ek_check=, dk_check=, \
    accumulated=, modulus=, hash=, lengths= or rejection= at the start";

/// The start of a file.
const START: &str = "parameters=mlkem512, mlkem768 or mlkem1024 in the first line";

/// The value of `ss` for an input that must be refused.
pub(super) const REFUSED: &str = "refused";

/// Reads a file of known answers. Blank lines are skipped; the fields of a record may come in any
/// order after the first one.
///
/// # Errors
///
/// [`ParseError`] for the first thing wrong: no known parameter set in the first line, an unknown
/// record or field, a field that is missing, there twice, not in hexadecimal, not a number or of
/// the wrong length, or a file without records.
pub fn parse(text: &str) -> Result<KatFile, ParseError> {
    let mut params = None;
    let mut records = vec![];
    for (index, line) in text.lines().enumerate() {
        let known = if params.is_some() { KINDS } else { START };
        if let Some(mut fields) = Fields::split(index + 1, line, known)? {
            if params.is_some() {
                records.push(record(&mut fields)?);
            } else {
                params = Some(parameters(&mut fields)?);
            }
            fields.finish()?;
        }
    }
    let end = |expected: &str| ParseError {
        line: text.lines().count().max(1),
        field: String::new(),
        problem: "the file ends without a record".into(),
        expected: expected.into(),
    };
    let params = params.ok_or_else(|| end(START))?;
    if records.is_empty() { Err(end(KINDS)) } else { Ok(KatFile { params, records }) }
}

fn parameters(fields: &mut Fields) -> Result<Parameters, ParseError> {
    let name = fields.require("parameters")?;
    let error = || fields.error("parameters", "no parameter set of ML-KEM", fields.known);
    Parameters::by_name(name).ok_or_else(error)
}

fn record(fields: &mut Fields) -> Result<Record, ParseError> {
    let kind = fields.kind();
    let (known, case): (_, fn(&mut Fields) -> _) = match kind {
        "count" => (COUNT, |fields| Ok(Case::Count(count(fields)?))),
        "unlucky" => (UNLUCKY, |fields| {
            Ok(Case::Unlucky(Unlucky { blocks: blocks(fields)?, count: count(fields)? }))
        }),
        "keys" => ("d, z, ek, dk (or ek_sha256, dk_sha256)", |fields| {
            Ok(Case::Keys {
                d: fields.array("d")?,
                z: fields.array("z")?,
                ek: fields.expected("ek", "ek_sha256")?,
                dk: fields.expected("dk", "dk_sha256")?,
            })
        }),
        "seeded" => ("d, z, ek (or ek_sha256), c, ss", |fields| {
            Ok(Case::Seeded {
                d: fields.array("d")?,
                z: fields.array("z")?,
                ek: fields.expected("ek", "ek_sha256")?,
                c: fields.vector("c")?,
                ss: shared_secret(fields)?,
            })
        }),
        "encaps" => ("ek, m, c (or c_sha256), ss; or ek, m, ss=refused", |fields| {
            let (ek, m) = (fields.vector("ek")?, fields.array("m")?);
            let answer = match shared_secret(fields)? {
                Some(ss) => Some((fields.expected("c", "c_sha256")?, ss)),
                None => None,
            };
            Ok(Case::Encapsulation { ek, m, answer })
        }),
        "decaps" => ("dk, c, ss", |fields| {
            Ok(Case::Decapsulation {
                dk: fields.vector("dk")?,
                c: fields.vector("c")?,
                ss: shared_secret(fields)?,
            })
        }),
        "ek_check" => ("ek, valid", |fields| {
            Ok(Case::EncapsulationKey { ek: fields.vector("ek")?, valid: flag(fields, "valid")? })
        }),
        "dk_check" => ("dk, valid", |fields| {
            Ok(Case::DecapsulationKey { dk: fields.vector("dk")?, valid: flag(fields, "valid")? })
        }),
        "accumulated" => ("rounds, digest", |fields| {
            Ok(Case::Accumulated {
                rounds: fields.number("rounds", 1)?,
                digest: fields.array("digest")?,
            })
        }),
        "modulus" => {
            ("d, z", |fields| Ok(Case::Modulus { d: fields.array("d")?, z: fields.array("z")? }))
        }
        "hash" => {
            ("d, z", |fields| Ok(Case::Hash { d: fields.array("d")?, z: fields.array("z")? }))
        }
        "lengths" => ("d, z, m", |fields| {
            Ok(Case::Lengths {
                d: fields.array("d")?,
                z: fields.array("z")?,
                m: fields.array("m")?,
            })
        }),
        "rejection" => ("d, z, m, sss_sha256", |fields| {
            Ok(Case::Rejection {
                d: fields.array("d")?,
                z: fields.array("z")?,
                m: fields.array("m")?,
                sss_sha256: fields.array("sss_sha256")?,
            })
        }),
        _ => return Err(fields.error(kind, "no kind of record", fields.known)),
    };
    fields.known = known;
    let id = fields.require(kind)?;
    if id.is_empty() {
        return Err(fields.error(kind, "empty", "a number or a name"));
    }
    Ok(Record { id: id.into(), case: case(fields)? })
}

const COUNT: &str = "d, z, m, ek, dk, c (or ek_sha256, dk_sha256, c_sha256), ss, flip, ss_reject";

const UNLUCKY: &str = "blocks, d, z, m, \
    ek, dk, c (or ek_sha256, dk_sha256, c_sha256), ss, flip, ss_reject";

fn count(fields: &mut Fields) -> Result<Count, ParseError> {
    Ok(Count {
        d: fields.array("d")?,
        z: fields.array("z")?,
        m: fields.array("m")?,
        ek: fields.expected("ek", "ek_sha256")?,
        dk: fields.expected("dk", "dk_sha256")?,
        c: fields.expected("c", "c_sha256")?,
        ss: fields.array("ss")?,
        flip: fields.number("flip", 0)?,
        ss_reject: fields.array("ss_reject")?,
    })
}

/// Reads the numbers of blocks, a digit each.
fn blocks(fields: &mut Fields) -> Result<Vec<usize>, ParseError> {
    let value = fields.require("blocks")?;
    let digits = value.chars().map(|c| c.to_digit(10).map(|digit| digit as usize));
    digits
        .collect::<Option<_>>()
        .ok_or_else(|| fields.error("blocks", "not digits alone", "a digit for each entry of A"))
}

fn shared_secret(fields: &mut Fields) -> Result<Option<[u8; SHARED_SECRET_BYTES]>, ParseError> {
    if fields.take_if("ss", REFUSED) { Ok(None) } else { Ok(Some(fields.array("ss")?)) }
}

fn flag(fields: &mut Fields, name: &str) -> Result<bool, ParseError> {
    match fields.require(name)? {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(fields.error(name, "neither yes nor no", "yes or no")),
    }
}
