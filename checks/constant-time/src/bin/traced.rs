//! Runs one operation between two marks, for a tracer, with the secrets that belong to a number.
//! Usage: `traced SET OPERATION SECRET`, SET being a parameter set, x25519 or ed25519, or
//! `traced leak HOW SECRET`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = constant_time::trace::offer().and_then(|()| operations::run(&arguments));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("traced: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    eprintln!("traced: programs are traced on Linux and x86-64 only");
    ExitCode::from(2)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod operations {
    use std::fmt::Display;
    use std::hint::black_box;

    use constant_time::trace::mark;
    use curve25519::{ed25519, x25519};
    use lanes::{Kernel, Lanes, Portable};
    use mlkem::{DecapsulationKey, EncapsulationKey, MlKem512, MlKem768, MlKem1024};
    use rand_core::utils::next_word_via_fill;
    use rand_core::{Infallible, TryCryptoRng, TryRng};
    use reference::drbg::Drbg;
    use sntrup::{
        Backend, Ciphertext, KeyPair, Operations, PreparedEncapsulation, SecretKey, SharedSecret,
        Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
    };

    /// Keys in a batch: a first, a last, and one between.
    const BATCH: usize = 3;

    /// Random bytes drawn beforehand, so that the trace has the operation and not the generator.
    struct Drawn {
        bytes: Vec<u8>,
        used: usize,
    }

    impl Drawn {
        fn new(secret: u8) -> Self {
            const ENOUGH: usize = 1 << 17;
            let mut bytes = vec![0; ENOUGH];
            Drbg::new(&[secret; 48]).fill(&mut bytes);
            Drawn { bytes, used: 0 }
        }
    }

    impl TryRng for Drawn {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            next_word_via_fill(self)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            next_word_via_fill(self)
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            let end = self.used + bytes.len();
            bytes.copy_from_slice(&self.bytes[self.used..end]);
            self.used = end;
            Ok(())
        }
    }

    impl TryCryptoRng for Drawn {}

    /// Runs the operation between the marks.
    fn between_marks<T>(operation: impl FnOnce() -> T) -> T {
        mark();
        let made = black_box(operation());
        mark();
        made
    }

    /// The key of a secret's number, a ciphertext for it, and the encapsulated secret.
    struct Sent<P: Operations> {
        key: SecretKey<P>,
        ciphertext: Ciphertext<P>,
        secret: SharedSecret,
        is_made: bool,
    }

    impl<P: Operations> Sent<P> {
        /// Makes a key and a ciphertext: one encapsulated to the key, or an attacker's change of
        /// it.
        fn new(backend: Backend, number: u8, ciphertext: &str) -> Result<Self, String> {
            let random = &mut Drawn::new(number);
            let pair = KeyPair::<P>::generate(backend, random).map_err(wrong)?;
            let (public, key) = pair.into_parts();
            let (made, secret) = public.encapsulate(backend, random).map_err(wrong)?;
            let mut bytes = made.as_bytes().to_vec();
            // Words of equal length, as arguments are on the stack.
            match ciphertext {
                "made" => {}
                // Wrong in Rounded, wrong in the confirmation, and random bytes.
                "bent" => bytes[0] ^= 1,
                "fake" => bytes[P::ROUNDED_BYTES] ^= 1,
                "wild" => {
                    let Ok(()) = random.try_fill_bytes(&mut bytes);
                }
                _ => return Err(format!("unknown ciphertext '{ciphertext}'")),
            }
            let is_made = ciphertext == "made";
            let ciphertext = Ciphertext::from_bytes(&bytes).map_err(wrong)?;
            Ok(Sent { key, ciphertext, secret, is_made })
        }

        /// Checks that the traced operation had the right result.
        fn check(&self, decapsulated: &SharedSecret) -> Result<(), String> {
            if (decapsulated.as_bytes() == self.secret.as_bytes()) == self.is_made {
                return Ok(());
            }
            Err("the wrong secret was decapsulated".into())
        }
    }

    fn wrong(error: impl Display) -> String {
        error.to_string()
    }

    fn operation<P: Operations>(name: &str, secret: u8) -> Result<(), String> {
        let backend = Backend::named("avx512").map_err(wrong)?;
        let random = &mut Drawn::new(secret);
        let (name, ciphertext) = name.split_once(':').unwrap_or((name, "made"));
        match name {
            "generate" => {
                between_marks(|| KeyPair::<P>::generate(backend, random)).map_err(wrong)?;
            }
            "generate-batch" => {
                between_marks(|| KeyPair::<P>::generate_batch(backend, BATCH, random))
                    .map_err(wrong)?;
            }
            "prepare-batch" => {
                between_marks(|| {
                    PreparedEncapsulation::<P>::generate_batch(backend, BATCH, random)
                })
                .map_err(wrong)?;
            }
            "encapsulate" => {
                // The receiver's key is public, and the same for all secrets.
                let public = Sent::<P>::new(backend, 0, "made")?.key.public_key();
                between_marks(|| public.encapsulate(backend, random)).map_err(wrong)?;
            }
            "read" => {
                let key = Sent::<P>::new(backend, secret, "made")?.key;
                between_marks(|| {
                    SecretKey::<P>::from_bytes(key.as_bytes()).and_then(|key| key.check(backend))
                })
                .map_err(wrong)?;
            }
            "decapsulate" => {
                let sent = Sent::<P>::new(backend, secret, ciphertext)?;
                sent.check(&between_marks(|| sent.key.decapsulate(backend, &sent.ciphertext)))?;
            }
            "expand" => {
                let sent = Sent::<P>::new(backend, secret, ciphertext)?;
                let expanded = between_marks(|| sent.key.expand(backend));
                sent.check(&expanded.decapsulate(&sent.ciphertext))?;
            }
            "decapsulate-expanded" => {
                let sent = Sent::<P>::new(backend, secret, ciphertext)?;
                let expanded = sent.key.expand(backend);
                sent.check(&between_marks(|| expanded.decapsulate(&sent.ciphertext)))?;
            }
            _ => return Err(format!("unknown operation '{name}'")),
        }
        Ok(())
    }

    /// A key of ML-KEM, a ciphertext, and the secret that was encapsulated.
    ///
    /// Sampling of the matrix takes a path that depends on its seed, which is public. All numbers
    /// therefore have the same encapsulation key. Their decapsulation keys differ in z. Ciphertexts
    /// that are named `else` or `wild` come to a key with another s, which rejects all.
    struct SentMlKem<P: mlkem::Operations> {
        public: EncapsulationKey<P>,
        key: Vec<u8>,
        ciphertext: mlkem::Ciphertext<P>,
        secret: SharedSecret,
        is_accepted: bool,
    }

    impl<P: mlkem::Operations> SentMlKem<P> {
        fn new(backend: Backend, number: u8, ciphertext: &str) -> Result<Self, String> {
            const Q: u16 = 3329;
            let pair = mlkem::KeyPair::<P>::generate(backend, &mut Drawn::new(0)).map_err(wrong)?;
            let (public, key) = pair.into_parts();
            let random = &mut Drawn::new(number);
            let (made, secret) = public.encapsulate(backend, random).map_err(wrong)?;
            let (mut bytes, mut key) = (made.as_bytes().to_vec(), key.as_bytes().to_vec());
            let (mut is_other, mut is_accepted) = (false, false);
            // Words of equal length, as above.
            match ciphertext {
                "made" => is_accepted = true,
                // Wrong in u, and wrong in v.
                "bent" => bytes[0] ^= 1,
                "fake" => bytes[P::CIPHERTEXT_BYTES - 1] ^= 1,
                "else" => is_other = true,
                "wild" => {
                    is_other = true;
                    let Ok(()) = random.try_fill_bytes(&mut bytes);
                }
                _ => return Err(format!("unknown ciphertext '{ciphertext}'")),
            }
            let z = key.len() - mlkem::SHARED_SECRET_BYTES;
            let Ok(()) = random.try_fill_bytes(&mut key[z..]);
            let s = &mut key[..P::ENCAPSULATION_KEY_BYTES - mlkem::SHARED_SECRET_BYTES];
            for two in s.chunks_exact_mut(3).filter(|_| is_other) {
                let mut drawn = [0; 4];
                let Ok(()) = random.try_fill_bytes(&mut drawn);
                let [a, b] = [[drawn[0], drawn[1]], [drawn[2], drawn[3]]]
                    .map(|bytes| u32::from(u16::from_le_bytes(bytes) % Q));
                two.copy_from_slice(&(a | b << 12).to_le_bytes()[..3]);
            }
            let ciphertext = mlkem::Ciphertext::from_bytes(&bytes).map_err(wrong)?;
            Ok(SentMlKem { public, key, ciphertext, secret, is_accepted })
        }

        fn read(&self, backend: Backend) -> Result<DecapsulationKey<P>, String> {
            DecapsulationKey::from_bytes_on(backend, &self.key).map_err(wrong)
        }

        /// Checks that the traced operation had the right result.
        fn check(&self, decapsulated: &SharedSecret) -> Result<(), String> {
            if (decapsulated.as_bytes() == self.secret.as_bytes()) == self.is_accepted {
                return Ok(());
            }
            Err("the wrong secret was decapsulated".into())
        }
    }

    /// Runs an operation of ML-KEM. Key generation is not among them: each seed of a key gives
    /// another seed of the matrix, so the traces of two secrets always differ.
    fn ml_kem<P: mlkem::Operations>(name: &str, secret: u8) -> Result<(), String> {
        let backend = Backend::named("avx512").map_err(wrong)?;
        let (name, ciphertext) = name.split_once(':').unwrap_or((name, "made"));
        let sent = SentMlKem::<P>::new(backend, secret, ciphertext)?;
        match name {
            "encapsulate" => {
                let random = &mut Drawn::new(secret);
                between_marks(|| sent.public.encapsulate(backend, random)).map_err(wrong)?;
            }
            // Together, as reading alone runs few instructions of 512-bit vectors.
            "read-expand" => {
                let expanded = between_marks(|| {
                    let key = sent.read(backend)?;
                    key.check(backend).map_err(wrong)?;
                    Ok::<_, String>(key.expand(backend))
                })?;
                sent.check(&expanded.decapsulate(&sent.ciphertext))?;
            }
            "decapsulate" => {
                let key = sent.read(backend)?;
                sent.check(&between_marks(|| key.decapsulate(backend, &sent.ciphertext)))?;
            }
            "decapsulate-expanded" => {
                let expanded = sent.read(backend)?.expand(backend);
                sent.check(&between_marks(|| expanded.decapsulate(&sent.ciphertext)))?;
            }
            _ => return Err(format!("unknown operation '{name}'")),
        }
        Ok(())
    }

    /// Enough keys to fill a vector, and one more.
    const NINE: usize = 9;

    fn exchange(name: &str, secret: u8) -> Result<(), String> {
        let backend = Backend::named("avx512").map_err(wrong)?;
        let random = &mut Drawn::new(secret);
        let mut generate = |count| x25519::generate_batch(backend, random, count).map_err(wrong);
        match name {
            "generate" => drop(between_marks(|| generate(1))?),
            "generate-batch" => drop(between_marks(|| generate(NINE))?),
            "derive" | "derive-batch" => {
                // The peers are public, and the same for all secrets.
                let peers = x25519::generate_batch(backend, &mut Drawn::new(0), NINE);
                let peers: Vec<_> = peers.map_err(wrong)?.iter().map(|pair| pair.public).collect();
                let secrets: Vec<_> = generate(NINE)?.into_iter().map(|pair| pair.secret).collect();
                let count = if name == "derive" { 1 } else { NINE };
                let (secrets, peers) = (&secrets[..count], &peers[..count]);
                let shared = between_marks(|| x25519::shared_secrets(backend, secrets, peers));
                for (shared, (secret, peer)) in shared.into_iter().zip(secrets.iter().zip(peers)) {
                    let portable = Backend::Portable(Portable);
                    let again = x25519::shared_secret(portable, secret, peer).map_err(wrong)?;
                    if shared.map_err(wrong)?.as_bytes() != again.as_bytes() {
                        return Err("the wrong secret was shared".into());
                    }
                }
            }
            _ => return Err(format!("unknown operation '{name}'")),
        }
        Ok(())
    }

    fn signature(name: &str, secret: u8) -> Result<(), String> {
        const MESSAGE: &[u8] = &[7; 130];
        let backend = Backend::named("avx512").map_err(wrong)?;
        let random = &mut Drawn::new(secret);
        let mut generate = |count| ed25519::generate_batch(backend, random, count).map_err(wrong);
        match name {
            "generate" => drop(between_marks(|| generate(1))?),
            "generate-batch" => drop(between_marks(|| generate(NINE))?),
            "sign" => {
                let key = &generate(1)?[0];
                let signature = between_marks(|| ed25519::sign(backend, key, MESSAGE));
                ed25519::verify(backend, key.verifying_key(), &signature, MESSAGE)
                    .map_err(wrong)?;
            }
            _ => return Err(format!("unknown operation '{name}'")),
        }
        Ok(())
    }

    const WORDS: usize = 64;

    /// A kernel that leaks its words in the way `how` says.
    struct Leak<'a> {
        words: &'a mut [i16; WORDS],
        table: &'a [i16; 256],
        how: How,
    }

    #[derive(Clone, Copy)]
    enum How {
        /// No leak: the same for all secrets.
        None,
        Branch,
        Index,
        Division,
        Trips,
    }

    impl<L: Lanes<Word = i16>> Kernel<L> for Leak<'_> {
        type Output = i16;

        #[inline(always)]
        fn run(self, lanes: L) -> i16 {
            let words = self.words;
            for i in (0..WORDS).step_by(L::WORDS) {
                let x = lanes.load(&words[i..]);
                lanes.store(&mut words[i..], lanes.add(x, x));
            }
            let word = words[3];
            match self.how {
                How::None => word,
                How::Branch if word > 0 => black_box(1),
                How::Branch => black_box(2) + black_box(3),
                How::Index => self.table[usize::from(word as u8)],
                How::Division => words[4] / (word | 1),
                How::Trips => {
                    let (mut word, mut trips) = (word as u16 | 1 << 15, 0);
                    while black_box(word) & 1 == 0 {
                        word >>= 1;
                        trips += 1;
                    }
                    trips
                }
            }
        }
    }

    fn leak(how: &str, secret: u8) -> Result<(), String> {
        let how = match how {
            "nothing" => How::None,
            "branch" => How::Branch,
            "index" => How::Index,
            "division" => How::Division,
            "trips" => How::Trips,
            _ => return Err(format!("unknown leak '{how}'")),
        };
        // The kernel doubles the words: 0x4040 becomes negative.
        let word = [0x0010, 0x4040, 0x2300][usize::from(secret) % 3];
        let (mut words, table) = ([word; WORDS], [7; 256]);
        let leak = Leak { words: black_box(&mut words), table: black_box(&table), how };
        let Backend::Avx512(lanes) = Backend::named("avx512").map_err(wrong)? else {
            return Err("no lanes of AVX-512".into());
        };
        between_marks(|| lanes.run(leak));
        Ok(())
    }

    pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
        let [set, name, secret] = arguments else {
            return Err("usage: traced SET OPERATION SECRET | leak HOW SECRET".into());
        };
        let secret = secret.parse().map_err(|_| format!("'{secret}' is no number below 256"))?;
        match set.as_str() {
            "leak" => leak(name, secret),
            "x25519" => exchange(name, secret),
            "ed25519" => signature(name, secret),
            "mlkem512" => ml_kem::<MlKem512>(name, secret),
            "mlkem768" => ml_kem::<MlKem768>(name, secret),
            "mlkem1024" => ml_kem::<MlKem1024>(name, secret),
            "sntrup653" => operation::<Sntrup653>(name, secret),
            "sntrup761" => operation::<Sntrup761>(name, secret),
            "sntrup857" => operation::<Sntrup857>(name, secret),
            "sntrup953" => operation::<Sntrup953>(name, secret),
            "sntrup1013" => operation::<Sntrup1013>(name, secret),
            "sntrup1277" => operation::<Sntrup1277>(name, secret),
            _ => Err(format!("unknown parameter set '{set}'")),
        }
    }
}
