//! The known-answer format as text.

use super::fields::{Fields, ParseError};
use super::{Count, KatFile, Record, Sequence};

/// The starts of a line.
const KINDS: &str = "count= or sequence= at the start";

/// Reads a file of known answers. Blank lines are skipped; the fields of a record may come in any
/// order after the first one.
///
/// # Errors
///
/// [`ParseError`] for the first thing wrong: an unknown record or field, a field that is missing,
/// there twice, not in hexadecimal, not a number or of the wrong length, or a file without records.
pub fn parse(text: &str) -> Result<KatFile, ParseError> {
    let mut records = vec![];
    for (index, line) in text.lines().enumerate() {
        if let Some(mut fields) = Fields::split(index + 1, line, KINDS)? {
            let record = record(&mut fields)?;
            fields.finish()?;
            records.push(record);
        }
    }
    if records.is_empty() {
        return Err(ParseError {
            line: text.lines().count().max(1),
            field: String::new(),
            problem: "the file ends without a record".into(),
            expected: "a line that starts with count= or sequence=".into(),
        });
    }
    Ok(KatFile { records })
}

fn record(fields: &mut Fields) -> Result<Record, ParseError> {
    let kind = fields.kind();
    match kind {
        "count" => {
            fields.known = "seed, pk, sk, ct (or pk_sha256, sk_sha256, ct_sha256), ss, ss_reject";
            Ok(Record::Count(Count {
                count: fields.number("count", 0)?,
                seed: fields.array("seed")?,
                pk: fields.expected("pk", "pk_sha256")?,
                sk: fields.expected("sk", "sk_sha256")?,
                ct: fields.expected("ct", "ct_sha256")?,
                ss: fields.array("ss")?,
                ss_reject: fields.array("ss_reject")?,
            }))
        }
        "sequence" => {
            fields.known = "seed, pks_sha256, sks_sha256";
            Ok(Record::Sequence(Sequence {
                n: fields.number("sequence", 1)?,
                seed: fields.array("seed")?,
                pks_sha256: fields.array("pks_sha256")?,
                sks_sha256: fields.array("sks_sha256")?,
            }))
        }
        _ => Err(fields.error(kind, "no kind of record", fields.known)),
    }
}
