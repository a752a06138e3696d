//! Test vectors of RFC 8032, section 7.

mod common;

use common::{hex, hex_bytes};
use curve25519::ed25519::{
    Instance, SigningKey, prehash, sign, sign_as, verify, verify_as, verify_strict,
};
use curve25519::{Backend, Error};

/// Section 7.1, but for the one with a long message: seed, public key, message and signature.
const VECTORS: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589\
         09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

#[test]
fn section_7_1() {
    for backend in Backend::available() {
        for [seed, public, message, signature] in VECTORS {
            let key = SigningKey::from_seed(backend, &hex(seed));
            let message = hex_bytes(message);
            assert_eq!(key.verifying_key().0, hex(public));
            assert_eq!(sign(backend, &key, &message), hex(signature));
            let public = key.verifying_key();
            assert_eq!(verify(backend, public, &hex(signature), &message), Ok(()));
            assert_eq!(verify_strict(backend, public, &hex(signature), &message), Ok(()));
        }
    }
}

/// The first of section 7.2, and section 7.3: seed, public key, context, message and signature.
const FOO: [&str; 5] = [
    "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
    "dfc9425e4f968f7f0c29f0259cf5f9aed6851c2bb4ad8bfb860cfee0ab248292",
    "666f6f",
    "f726936d19c800494e3fdaff20b276a8",
    "55a4cc2f70a54e04288c5f4cd1e45a7bb520b36292911876cada7323198dd87a\
     8b36950b95130022907a7fb7c4e9b2d5f6cca685a587b4b21f4b888e4e7edb0d",
];
const PREHASHED: [&str; 5] = [
    "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
    "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
    "",
    "616263",
    "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41\
     31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406",
];

#[test]
fn sections_7_2_and_7_3() {
    let context = |text| Instance::with_context(&hex_bytes(text)).unwrap();
    for backend in Backend::available() {
        for ([seed, public, text, message, signature], instance, message_is_hashed) in
            [(FOO, context(FOO[2]), false), (PREHASHED, Instance::prehashed(&[]).unwrap(), true)]
        {
            let key = SigningKey::from_seed(backend, &hex(seed));
            let mut message = hex_bytes(message);
            if message_is_hashed {
                message = prehash(&message).to_vec();
            }
            let public_key = key.verifying_key();
            assert_eq!(public_key.0, hex(public));
            let signature = hex(signature);
            assert_eq!(sign_as(backend, &key, &instance, &message), signature, "context {text}");
            let verdict = |instance: &Instance| {
                verify_as(backend, public_key, instance, &signature, &message)
            };
            assert_eq!(verdict(&instance), Ok(()));
            for other in [Instance::pure(), context("00"), Instance::prehashed(b"x").unwrap()] {
                assert_eq!(verdict(&other), Err(Error::Signature));
            }
        }
    }
}

#[test]
fn contexts_have_their_lengths() {
    assert!(Instance::with_context(&[]).is_none() && Instance::with_context(&[0; 256]).is_none());
    assert!(Instance::with_context(&[0; 255]).is_some());
    assert!(Instance::prehashed(&[0; 256]).is_none() && Instance::prehashed(&[0; 255]).is_some());
}
