//! Operations with two classes of inputs, whose times must not differ.

use curve25519::{ed25519, x25519};
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};
use reference::drbg::Drbg;
use sntrup::{
    Array, Backend, Ciphertext, Error, ExpandedKey, KeyPair, Operations, PreparedEncapsulation,
    PublicKey, SecretKey, SharedSecret,
};

use fastkex::curves::{Curve, EIGHT, MESSAGE_BYTES};
use fastkex::sets::{ForFamily, for_family};

use super::collect::{INPUTS, Limit, Pair, Times, collect};

/// Keys in a batch: the fewest with a first, a last and some between.
const BATCH: usize = 4;

/// An operation that is timed with two classes of inputs.
pub(crate) struct Experiment {
    /// The operation, as `fastkex speed` calls it.
    pub(crate) operation: &'static str,
    /// The two classes.
    pub(crate) classes: &'static str,
    pub(crate) run: fn(&mut Setting<'_>) -> Result<Times, Error>,
}

/// Backend, duration and random source of an experiment.
pub(crate) struct Setting<'a> {
    pub(crate) backend: Backend,
    pub(crate) limit: Limit<'a>,
    pub(crate) random: &'a mut Drbg,
}

impl Setting<'_> {
    /// Calls [`collect`] with the setting's limit and random source.
    fn collect<S, T>(
        &mut self,
        inputs: &[Pair],
        mut state: S,
        load: impl Fn(&mut S, &[u8]) -> Result<(), Error>,
        operation: impl Fn(&mut S) -> T,
    ) -> Result<Times, Error> {
        collect(&self.limit, self.random, inputs, &mut state, load, operation)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.random.fill(&mut bytes);
        bytes
    }
}

/// The operations with experiments.
pub(crate) const OPERATIONS: [&str; 9] = [
    KEYGEN,
    PREPARE,
    ENCAPSULATE,
    ENCAPSULATE_PREPARED,
    DECAPSULATE,
    DECAPSULATE_EXPANDED,
    DERIVE,
    DERIVE_EIGHT,
    SIGN,
];

const KEYGEN: &str = "keygen";
const PREPARE: &str = "prepare";
const ENCAPSULATE: &str = "encapsulate";
const ENCAPSULATE_PREPARED: &str = "encapsulate-prepared";
const DECAPSULATE: &str = "decapsulate";
const DECAPSULATE_EXPANDED: &str = "decapsulate-expanded";
const DERIVE: &str = "derive";
const DERIVE_EIGHT: &str = "derive-eight";
const SIGN: &str = "sign";

const RANDOM_R: &str = "fixed or random r";
const RANDOM_KEY: &str = "fixed or random secret key";
const ALTERED: &str = "accepted or altered ciphertext";
const ARBITRARY: &str = "accepted or arbitrary ciphertext";

/// Returns all experiments with the algorithm `name`, or `None` if it is unknown.
pub(crate) fn experiments(name: &str) -> Option<Vec<Experiment>> {
    match name {
        _ if name == Curve::X25519.name() => Some(with_x25519()),
        _ if name == Curve::Ed25519.name() => Some(with_ed25519()),
        _ => for_family(name, WithSet),
    }
}

struct WithSet;

impl ForFamily for WithSet {
    type Output = Vec<Experiment>;

    fn streamlined<P: Operations>(self) -> Vec<Experiment> {
        with_set::<P>()
    }

    fn ml_kem<P: mlkem::Operations>(self) -> Vec<Experiment> {
        Vec::new()
    }
}

fn experiment(
    operation: &'static str,
    classes: &'static str,
    run: fn(&mut Setting<'_>) -> Result<Times, Error>,
) -> Experiment {
    Experiment { operation, classes, run }
}

fn with_x25519() -> Vec<Experiment> {
    const RANDOM_EIGHT: &str = "fixed or random batch of 8";
    vec![
        experiment(KEYGEN, RANDOM_KEY, |setting| {
            exchange::<1, _>(setting, |backend, [secret], _| x25519::public_key(backend, secret))
        }),
        experiment(KEYGEN, RANDOM_EIGHT, |setting| {
            exchange::<EIGHT, _>(setting, |backend, secrets, _| {
                x25519::public_keys(backend, secrets)
            })
        }),
        experiment(DERIVE, RANDOM_KEY, |setting| {
            exchange::<1, _>(setting, |backend, [secret], [peer]| {
                x25519::shared_secret(backend, secret, peer)
            })
        }),
        experiment(DERIVE_EIGHT, RANDOM_EIGHT, |setting| {
            exchange::<EIGHT, _>(setting, |backend, secrets, peers| {
                x25519::shared_secrets(backend, secrets, peers)
            })
        }),
    ]
}

fn with_ed25519() -> Vec<Experiment> {
    vec![
        experiment(KEYGEN, RANDOM_KEY, |setting| {
            let (inputs, backend) = (seeds(setting)?, setting.backend);
            setting.collect(&inputs, [0; ed25519::SEED_BYTES], copy, |seed| {
                ed25519::SigningKey::from_seed(backend, seed)
            })
        }),
        experiment(SIGN, RANDOM_KEY, |setting| {
            let (inputs, backend) = (seeds(setting)?, setting.backend);
            let load = |key: &mut Option<ed25519::SigningKey>, input: &[u8]| {
                let mut seed = [0; ed25519::SEED_BYTES];
                copy(&mut seed, input)?;
                *key = Some(ed25519::SigningKey::from_seed(backend, &seed));
                Ok(())
            };
            setting.collect(&inputs, None, load, |key| {
                let sign = |key| ed25519::sign(backend, key, &[0x20; MESSAGE_BYTES]);
                key.as_ref().map(sign)
            })
        }),
    ]
}

fn seeds(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| Ok(setting.bytes(ed25519::SEED_BYTES)))
}

/// Times an operation with `COUNT` secret keys, fixed or random, and the same number of fixed
/// public keys.
fn exchange<const COUNT: usize, T>(
    setting: &mut Setting<'_>,
    operation: fn(Backend, &[x25519::SecretKey; COUNT], &[x25519::PublicKey; COUNT]) -> T,
) -> Result<Times, Error> {
    const BYTES: usize = x25519::SECRET_KEY_BYTES;
    let mut peer = [0; BYTES];
    setting.random.fill(&mut peer);
    let peers = [x25519::PublicKey(peer); COUNT];
    let inputs = fixed_or_random(|| Ok(setting.bytes(COUNT * BYTES)))?;
    let backend = setting.backend;
    let secret = || x25519::SecretKey::from_bytes(&[0; BYTES]);
    let secrets: [_; COUNT] = core::array::from_fn(|_| secret());
    let load = |secrets: &mut [x25519::SecretKey; COUNT], input: &[u8]| {
        for (secret, bytes) in secrets.iter_mut().zip(input.as_chunks().0) {
            *secret = x25519::SecretKey::from_bytes(bytes);
        }
        Ok(())
    };
    setting.collect(&inputs, secrets, load, |secrets| operation(backend, secrets, &peers))
}

fn with_set<P: Operations>() -> Vec<Experiment> {
    vec![
        experiment(KEYGEN, "fixed or random g", |setting| keygen::<P>(setting, Part::G)),
        experiment(KEYGEN, "fixed or random f", |setting| keygen::<P>(setting, Part::F)),
        experiment(KEYGEN, "fixed or random rho", |setting| keygen::<P>(setting, Part::Rho)),
        experiment(KEYGEN, "fixed or random batch of 4", keygen_batch::<P>),
        experiment(PREPARE, RANDOM_R, prepare::<P>),
        experiment(ENCAPSULATE, RANDOM_R, encapsulate::<P>),
        experiment(ENCAPSULATE_PREPARED, RANDOM_R, encapsulate_prepared::<P>),
        experiment(DECAPSULATE, ALTERED, |s| decapsulate::<P, SecretKey<P>>(s, altered::<P>)),
        experiment(DECAPSULATE, ARBITRARY, |s| decapsulate::<P, SecretKey<P>>(s, arbitrary::<P>)),
        experiment(DECAPSULATE, RANDOM_KEY, |s| decapsulate::<P, SecretKey<P>>(s, keys::<P>)),
        experiment(DECAPSULATE_EXPANDED, ALTERED, |s| {
            decapsulate::<P, ExpandedKey<P>>(s, altered::<P>)
        }),
        experiment(DECAPSULATE_EXPANDED, ARBITRARY, |s| {
            decapsulate::<P, ExpandedKey<P>>(s, arbitrary::<P>)
        }),
        experiment(DECAPSULATE_EXPANDED, RANDOM_KEY, |s| {
            decapsulate::<P, ExpandedKey<P>>(s, keys::<P>)
        }),
    ]
}

/// Makes pairs of a fixed and a random input.
fn fixed_or_random(mut make: impl FnMut() -> Result<Vec<u8>, Error>) -> Result<Vec<Pair>, Error> {
    let fixed = make()?;
    (0..INPUTS).map(|_| Ok([fixed.clone(), make()?])).collect()
}

/// Loads an input whose state is its bytes.
fn copy<B: AsMut<[u8]>>(to: &mut B, input: &[u8]) -> Result<(), Error> {
    to.as_mut().copy_from_slice(input);
    Ok(())
}

/// A random source that returns given bytes and then fails.
struct Replay<'a>(&'a [u8]);

#[derive(Debug)]
struct Exhausted;

impl core::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no bytes left to draw")
    }
}

impl core::error::Error for Exhausted {}

impl TryRng for Replay<'_> {
    type Error = Exhausted;

    fn try_next_u32(&mut self) -> Result<u32, Exhausted> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Exhausted> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Exhausted> {
        let (drawn, left) = self.0.split_at_checked(bytes.len()).ok_or(Exhausted)?;
        bytes.copy_from_slice(drawn);
        self.0 = left;
        Ok(())
    }
}

impl TryCryptoRng for Replay<'_> {}

/// A part of a key's random input, in the order of drawing.
#[derive(Clone, Copy)]
enum Part {
    G,
    F,
    Rho,
}

impl Part {
    fn bytes<P: Operations>(self) -> core::ops::Range<usize> {
        let (sample, all) = (P::SAMPLE_BYTES, key_bytes::<P>());
        match self {
            Part::G => 0..sample,
            Part::F => sample..2 * sample,
            Part::Rho => 2 * sample..all,
        }
    }
}

/// Returns the number of random bytes for one key.
fn key_bytes<P: Operations>() -> usize {
    2 * P::SAMPLE_BYTES + P::SMALL_BYTES
}

/// Draws `part` of the bytes of keys until no g is rejected. The number of rejections is public,
/// and takes time.
fn draw_keys<P: Operations>(
    setting: &mut Setting<'_>,
    bytes: &mut [u8],
    part: core::ops::Range<usize>,
) -> Result<(), Error> {
    /// At most one g in 27 is rejected.
    const ATTEMPTS: usize = 100;
    let count = bytes.len() / key_bytes::<P>();
    for _ in 0..ATTEMPTS {
        setting.random.fill(&mut bytes[part.clone()]);
        let keys = KeyPair::<P>::generate_batch(Backend::best(), count, &mut Replay(bytes));
        if keys.is_ok() {
            return Ok(());
        }
    }
    Err(Error::RandomSource)
}

fn keygen<P: Operations>(setting: &mut Setting<'_>, part: Part) -> Result<Times, Error> {
    let mut bytes = vec![0; key_bytes::<P>()];
    let all = 0..bytes.len();
    draw_keys::<P>(setting, &mut bytes, all)?;
    let inputs = fixed_or_random(|| {
        let mut bytes = bytes.clone();
        draw_keys::<P>(setting, &mut bytes, part.bytes::<P>())?;
        Ok(bytes)
    })?;
    let backend = setting.backend;
    setting
        .collect(&inputs, bytes, copy, |bytes| KeyPair::<P>::generate(backend, &mut Replay(bytes)))
}

fn keygen_batch<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let length = BATCH * key_bytes::<P>();
    let inputs = fixed_or_random(|| {
        let mut bytes = vec![0; length];
        draw_keys::<P>(setting, &mut bytes, 0..length)?;
        Ok(bytes)
    })?;
    let backend = setting.backend;
    setting.collect(&inputs, vec![0; length], copy, |bytes| {
        KeyPair::<P>::generate_batch(backend, BATCH, &mut Replay(bytes))
    })
}

/// Makes inputs for the random polynomial r.
fn samples<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| Ok(setting.bytes(P::SAMPLE_BYTES)))
}

fn prepare<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    setting.collect(&inputs, P::SampleBytes::filled(0), copy, |bytes| {
        PreparedEncapsulation::<P>::generate_derand(backend, bytes)
    })
}

fn encapsulate<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (public, _) = key::<P>(setting)?;
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    setting.collect(&inputs, P::SampleBytes::filled(0), copy, |bytes| {
        public.encapsulate_derand(backend, bytes)
    })
}

fn encapsulate_prepared<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (public, _) = key::<P>(setting)?;
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    let load = |prepared: &mut Option<PreparedEncapsulation<P>>, input: &[u8]| {
        let mut bytes = P::SampleBytes::filled(0);
        copy(&mut bytes, input)?;
        *prepared = Some(PreparedEncapsulation::generate_derand(backend, &bytes));
        Ok(())
    };
    setting.collect(&inputs, None, load, |prepared| {
        prepared.take().map(|prepared| prepared.encapsulate(&public))
    })
}

fn key<P: Operations>(setting: &mut Setting<'_>) -> Result<(PublicKey<P>, SecretKey<P>), Error> {
    Ok(KeyPair::<P>::generate(Backend::best(), setting.random)?.into_parts())
}

fn ciphertext<P: Operations>(
    setting: &mut Setting<'_>,
    public: &PublicKey<P>,
) -> Result<Ciphertext<P>, Error> {
    Ok(public.encapsulate(Backend::best(), setting.random)?.0)
}

/// Concatenates the bytes of a key and a ciphertext.
fn delivery<P: Operations>(key: &SecretKey<P>, ciphertext: &[u8]) -> Vec<u8> {
    [key.as_bytes(), ciphertext].concat()
}

/// Makes pairs of an accepted ciphertext and another one.
fn accepted_or<P: Operations>(
    setting: &mut Setting<'_>,
    other: impl Fn(&mut Setting<'_>, &Ciphertext<P>) -> Vec<u8>,
) -> Result<Vec<Pair>, Error> {
    let (public, secret) = key::<P>(setting)?;
    (0..INPUTS)
        .map(|_| {
            let accepted = ciphertext(setting, &public)?;
            let other = other(setting, &accepted);
            Ok([delivery(&secret, accepted.as_bytes()), delivery(&secret, &other)])
        })
        .collect()
}

/// Makes pairs in which one bit of the second ciphertext's confirmation is wrong.
fn altered<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    accepted_or::<P>(setting, |setting, accepted| {
        let mut bytes = accepted.as_bytes().to_vec();
        let confirmation = &mut bytes[P::ROUNDED_BYTES..];
        let (random, length) = (setting.bytes(2), confirmation.len());
        confirmation[usize::from(random[0]) % length] ^= 1 << (random[1] % 8);
        bytes
    })
}

/// Makes pairs in which the second ciphertext is random bytes.
fn arbitrary<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    accepted_or::<P>(setting, |setting, _| setting.bytes(P::CIPHERTEXT_BYTES))
}

/// Makes pairs of keys, each with a ciphertext that it accepts.
fn keys<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| {
        let (public, secret) = key::<P>(setting)?;
        let ciphertext = ciphertext(setting, &public)?;
        Ok(delivery(&secret, ciphertext.as_bytes()))
    })
}

/// A key that decapsulates.
trait Decapsulator<P: Operations>: Sized {
    fn new(key: SecretKey<P>, backend: Backend) -> Self;
    fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret;
}

impl<P: Operations> Decapsulator<P> for SecretKey<P> {
    fn new(key: SecretKey<P>, _: Backend) -> Self {
        key
    }

    fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.decapsulate(backend, ciphertext)
    }
}

impl<P: Operations> Decapsulator<P> for ExpandedKey<P> {
    fn new(key: SecretKey<P>, backend: Backend) -> Self {
        key.expand(backend)
    }

    fn decapsulate(&self, _: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.decapsulate(ciphertext)
    }
}

fn decapsulate<P: Operations, D: Decapsulator<P>>(
    setting: &mut Setting<'_>,
    inputs: fn(&mut Setting<'_>) -> Result<Vec<Pair>, Error>,
) -> Result<Times, Error> {
    let (inputs, backend) = (inputs(setting)?, setting.backend);
    let load = |state: &mut Option<(D, Ciphertext<P>)>, input: &[u8]| {
        // Frees the heap memory first, so that the next state is allocated at the same address.
        *state = None;
        let (key, ciphertext) = input.split_at(P::SECRET_KEY_BYTES);
        let key = D::new(SecretKey::from_bytes(key)?, backend);
        *state = Some((key, Ciphertext::from_bytes(ciphertext)?));
        Ok(())
    };
    setting.collect(&inputs, None, load, |state| {
        state.as_ref().map(|(key, ciphertext)| key.decapsulate(backend, ciphertext))
    })
}
