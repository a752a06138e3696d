//! libsntrup: the NIST KEM API for the six parameter sets, with batch key generation.
//! `include/sntrup.h` documents it.

use kex::Sntrup;
use sntrup_kem::{Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277};

kem_capi::export! {
    Sntrup<Sntrup653>: "sntrup653";
    Sntrup<Sntrup761>: "sntrup761";
    Sntrup<Sntrup857>: "sntrup857";
    Sntrup<Sntrup953>: "sntrup953";
    Sntrup<Sntrup1013>: "sntrup1013";
    Sntrup<Sntrup1277>: "sntrup1277";
}
