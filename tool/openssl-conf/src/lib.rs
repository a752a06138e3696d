//! Reads OpenSSL configuration files (`openssl.cnf`) the way libcrypto 3.0 to 4.0 does, to *understand* them.
//!
//! Nothing is ever run: no module is loaded and no setting applied.
//!
//! - [`Config`] is a file with everything it includes: sections of settings, each with the file and line it came from.
//! - [`Interpretation`] tells what a [`Release`] of OpenSSL does with it: the providers and whether each is active,
//!   the TLS settings, and where it would stop.
//! - [`split_groups`] takes a `Groups` value apart.
//! - [`compose()`] writes a configuration that includes another one and adds a provider to it.
//!
//! ```
//! use std::path::Path;
//! use openssl_conf::{Config, Interpretation, Release};
//!
//! let text = "openssl_conf = init\n[init]\nproviders = list\n[list]\nfastkex = mine\n[mine]\nactivate = 0\nsize = 16\n";
//! let config = Config::parse(text, Path::new("openssl.cnf"), &|name| std::env::var(name).ok())?;
//! let found = Interpretation::new(&config, Release::new(3, 0));
//! let provider = found.provider("fastkex").unwrap();
//! // Before OpenSSL 3.3 any value of `activate` activates.
//! assert!(provider.active && !found.is_active("default"));
//! assert_eq!(provider.own_parameters().next().unwrap().name, "size");
//! # Ok::<(), openssl_conf::Error>(())
//! ```
//!
//! The format is described in `config(5)`; where the manual page is silent, `crypto/conf/conf_def.c` decides. Three
//! things differ on purpose: a file that includes itself, a file with a NUL byte and one beyond [`FILE_LIMIT`] are
//! errors here, while OpenSSL goes on until it runs out of file descriptors, cuts lines short, or has no limit. Bytes
//! that are not UTF-8 are read as U+FFFD.

#![forbid(unsafe_code)]

mod compose;
mod config;
mod error;
mod expand;
mod groups;
mod interpret;
mod lexis;
mod parse;
mod problem;
mod quote;
mod release;
mod source;
mod walk;

pub use compose::{Addition, Base, ComposeError, compose};
pub use config::{Config, Entry, Origin, Section, SkippedInclude};
pub use error::{Error, ErrorKind};
pub use groups::{Group, GroupListError, GroupSyntax, GroupWrong, split_groups};
pub use interpret::{
    Activation, Command, Interpretation, Module, ModuleKind, Parameter, Profile, Provider,
};
pub use problem::{Problem, ProblemKind};
pub use release::Release;
pub use source::FILE_LIMIT;
