//! Reads OpenSSL configuration files (`openssl.cnf`) as libcrypto 3.0 to 4.0 does, to *analyse*
//! them.
//!
//! It never loads a module and never applies a setting.
//!
//! - [`Config`] is a file with all files that it includes: sections of settings, each with its file
//!   and line.
//! - [`Interpretation`] is the effect of a configuration in a [`Release`] of OpenSSL: the providers
//!   and whether each is active, the TLS settings, and the place where OpenSSL would stop.
//! - [`split_groups`] splits a `Groups` value into its elements.
//! - [`compose()`] writes a configuration that includes another one and adds a provider to it.
//!
//! ```
//! use std::path::Path;
//! use openssl_conf::{Config, Interpretation, Release};
//!
//! let text = "openssl_conf = init\n[init]\nproviders = list\n[list]\nfastkex = mine\n\
//!             [mine]\nactivate = 0\nsize = 16\n";
//! let config = Config::parse(text, Path::new("openssl.cnf"), &|name| std::env::var(name).ok())?;
//! let found = Interpretation::new(&config, Release::new(3, 0));
//! let provider = found.provider("fastkex").unwrap();
//! // Before OpenSSL 3.3 any value of `activate` activates.
//! assert!(provider.active && !found.is_active("default"));
//! assert_eq!(provider.own_parameters().next().unwrap().name, "size");
//! # Ok::<(), openssl_conf::Error>(())
//! ```
//!
//! `config(5)` describes the format; where the manual page gives no answer, this crate follows
//! `crypto/conf/conf_def.c`. Bytes that are not UTF-8 are read as U+FFFD. Three cases are errors
//! here on purpose:
//!
//! - a file that includes itself. OpenSSL continues until it runs out of file descriptors;
//! - a file with a NUL byte. OpenSSL cuts lines short at it;
//! - a file longer than [`FILE_LIMIT`]. OpenSSL has no limit.

#![forbid(unsafe_code)]

mod compose;
mod config;
mod error;
mod expand;
mod groups;
mod interpretation;
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
pub use interpretation::{
    Activation, Command, Interpretation, Module, ModuleKind, Parameter, Profile, Provider,
};
pub use problem::{Problem, ProblemKind};
pub use release::Release;
pub use source::FILE_LIMIT;
