//! The ABI between libcrypto (OpenSSL 3.0 to 4.x) and its providers, written by hand: dispatch
//! tables, parameters, algorithms, and the core's upcalls. Nothing here links libcrypto. A test
//! checks every number, name and layout against installed headers.
//!
//! A C table of functions is a table of [`Dispatch`] entries made from typed [`Function`]
//! constants, so that an implementation of the wrong type does not compile.

mod core_upcalls;
mod dispatch;
mod environment;
pub mod functions;
mod linked;
pub mod names;
mod param;
mod tls_group;
mod types;

pub use core_upcalls::{Bio, Core, PassphraseCallback};
pub use dispatch::{Dispatch, Function, guard};
pub use environment::environment;
pub use linked::{
    Class, Handshake, InfoCallback, Libcrypto, Libssl, NewObject, Ssl, SslContext, number,
};
pub use param::{Param, ParamIter, ParamRef, ParamType, Params, ValueError, WrongType};
pub use tls_group::{GroupKind, TlsGroup};
pub use types::{
    Algorithm, Callback, CoreBio, CoreHandle, Item, OBJECT_PKEY, Passphrase, operation, selection,
};
