//! libmlkem: the NIST KEM API for the three parameter sets, with batch key generation.
//! `include/mlkem.h` documents it.

use kex::MlKem;
use mlkem_kem::{MlKem512, MlKem768, MlKem1024};

kem_capi::export! {
    MlKem<MlKem512>: "mlkem512" derand 64 32;
    MlKem<MlKem768>: "mlkem768" derand 64 32;
    MlKem<MlKem1024>: "mlkem1024" derand 64 32;
}
