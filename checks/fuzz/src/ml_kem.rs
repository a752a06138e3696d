//! ML-KEM with hostile input: all backends must accept and compute the same as the transliteration
//! of the standard.

use mlkem::{
    Backend, Ciphertext, DecapsulationKey, EncapsulationKey, Error, KeyPair, MlKem512, MlKem768,
    MlKem1024, Operations, SEED_BYTES,
};
use reference::ml_kem::{self as oracle, Parameters};

/// The random bytes of encapsulations.
const MESSAGE: [u8; 32] = [7; 32];

/// A kind of input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    EncapsulationKey,
    DecapsulationKey,
    /// A decapsulation key whose hash is replaced by the right one, so that it is refused only for
    /// the encapsulation key in it.
    HashedDecapsulationKey,
    Ciphertext,
}

/// Feeds a key or a ciphertext to all backends. The first byte selects the parameter set, the
/// second one the kind of input, and the third one how the rest becomes the input: it is the input,
/// it is repeated to the input's length, or it is a change to a valid input, as elsewhere.
pub fn ml_kem(data: &[u8]) {
    let Some((&[set, kind, mode], rest)) = data.split_first_chunk::<3>() else { return };
    let kind = match kind % 4 {
        0 => Kind::EncapsulationKey,
        1 => Kind::DecapsulationKey,
        2 => Kind::HashedDecapsulationKey,
        _ => Kind::Ciphertext,
    };
    match set % 3 {
        0 => check::<MlKem512>(kind, mode, rest),
        1 => check::<MlKem768>(kind, mode, rest),
        _ => check::<MlKem1024>(kind, mode, rest),
    }
}

/// Replaces or changes a valid input.
fn change(input: &mut Vec<u8>, mode: u8, data: &[u8]) {
    match mode % 3 {
        0 => *input = data.to_vec(),
        1 => input.iter_mut().zip(data.iter().cycle()).for_each(|(byte, new)| *byte = *new),
        _ => {
            let Some((&offset, change)) = data.split_first_chunk() else { return };
            let offset = usize::from(u16::from_le_bytes(offset)) % input.len();
            for (byte, change) in input[offset..].iter_mut().zip(change) {
                *byte ^= change;
            }
        }
    }
}

fn check<P: Operations>(kind: Kind, mode: u8, data: &[u8]) {
    let params = Parameters::by_name(P::NAME).unwrap();
    let pair = KeyPair::<P>::from_seed(Backend::best(), &[9; SEED_BYTES]);
    let (public, secret) = pair.into_parts();
    let (ciphertext, _) = public.encapsulate_derand(Backend::best(), &MESSAGE);
    let mut ek = public.as_bytes().to_vec();
    let mut dk = secret.as_bytes().to_vec();
    let mut c = ciphertext.as_bytes().to_vec();
    let input = match kind {
        Kind::EncapsulationKey => &mut ek,
        Kind::DecapsulationKey | Kind::HashedDecapsulationKey => &mut dk,
        Kind::Ciphertext => &mut c,
    };
    change(input, mode, data);
    if kind == Kind::EncapsulationKey {
        encapsulate::<P>(&params, &ek);
        return;
    }
    let ek = params.vector_bytes()..params.vector_bytes() + params.encapsulation_key_bytes();
    if kind == Kind::HashedDecapsulationKey && dk.len() == params.decapsulation_key_bytes() {
        let hash = oracle::h(&dk[ek.clone()]);
        dk[ek.end..ek.end + hash.len()].copy_from_slice(&hash);
    }
    decapsulate::<P>(&params, &dk, &c);
}

/// Checks that an error is the one that the oracle has.
fn assert_refused<T>(ours: Result<T, Error>, expected: oracle::Error) {
    let same = match ours {
        Ok(_) => false,
        Err(Error::Length { .. }) => matches!(expected, oracle::Error::WrongLength { .. }),
        Err(Error::NotCanonical { .. }) => matches!(expected, oracle::Error::NotReduced { .. }),
        Err(Error::Inconsistent { .. }) => matches!(expected, oracle::Error::WrongHash),
        Err(_) => false,
    };
    assert!(same, "the oracle refuses: {expected}");
}

fn encapsulate<P: Operations>(params: &Parameters, ek: &[u8]) {
    let expected = oracle::encapsulate(params, ek, &MESSAGE);
    for backend in Backend::available() {
        let key = EncapsulationKey::<P>::from_bytes_on(backend, ek);
        match &expected {
            Ok((c, shared)) => {
                let (ciphertext, ours) = key.unwrap().encapsulate_derand(backend, &MESSAGE);
                assert_eq!((ciphertext.as_bytes(), ours.as_bytes()), (&c[..], shared));
            }
            Err(error) => assert_refused(key, *error),
        }
    }
}

fn decapsulate<P: Operations>(params: &Parameters, dk: &[u8], c: &[u8]) {
    // The standard checks the encapsulation key in a decapsulation key only when it is used as one.
    // Ours is always one.
    let accepted = match dk.get(params.vector_bytes()..) {
        Some(rest) if dk.len() == params.decapsulation_key_bytes() => {
            oracle::check_encapsulation_key(params, &rest[..params.encapsulation_key_bytes()])
        }
        _ => Ok(()),
    };
    let accepted = accepted.and_then(|()| oracle::check_decapsulation_key(params, dk));
    let expected = oracle::decapsulate(params, dk, c);
    for backend in Backend::available() {
        let key = DecapsulationKey::<P>::from_bytes_on(backend, dk);
        if let Err(error) = &accepted {
            assert_refused(key, *error);
            continue;
        }
        let (key, ciphertext) = (key.unwrap(), Ciphertext::<P>::from_bytes(c));
        match expected {
            Ok(shared) => {
                let ciphertext = ciphertext.unwrap();
                assert_eq!(key.decapsulate(backend, &ciphertext).as_bytes(), &shared);
                let expanded = key.expand(backend);
                assert_eq!(expanded.decapsulate(&ciphertext).as_bytes(), &shared);
            }
            Err(error) => assert_refused(ciphertext, error),
        }
    }
}
