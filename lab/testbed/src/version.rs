//! Versions of installed programs.

use std::process::Command;

use crate::{Set, Started};

/// The versions of a program and of its OpenSSL.
pub(crate) struct Version {
    /// Name and version: `nginx 1.22.1`.
    pub(crate) name: String,
    /// The version that the program runs with, not the one that it was built with: `3.0.22`. Empty
    /// if the program does not print it.
    pub(crate) openssl: String,
}

/// Asks a program of this Debian package for its version, which follows `mark` in the output. If it
/// is not installed, the error holds the line to report.
pub(crate) fn ask(
    set: &Set,
    program: &str,
    package: &str,
    argument: &str,
    mark: &str,
) -> Result<Version, Started> {
    read_version(set.stock(program).arg(argument), program, mark).ok_or_else(|| {
        Started::Absent(format!("{program}, which is not installed (apt-get install {package})"))
    })
}

/// Reads the versions in the output of this command. Returns `None` if it cannot be run.
pub(crate) fn read_version(command: &mut Command, program: &str, mark: &str) -> Option<Version> {
    let output = command.output().ok()?;
    // Some programs print it on standard error.
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let version = text.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next());
    let name = [program, version.unwrap_or_default()].join(" ").trim_end().to_owned();
    Some(Version { name, openssl: openssl_in(&text) })
}

/// Returns the last version of OpenSSL in a text. A version before it is the one that the program
/// was built with.
fn openssl_in(text: &str) -> String {
    let version = |rest: &str| {
        let word: String = rest
            .trim_start_matches(|c: char| !c.is_ascii_digit() && c != '\n')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
            .collect();
        (word.matches('.').count() >= 2).then_some(word)
    };
    text.match_indices("OpenSSL")
        .filter_map(|(place, mark)| version(&text[place + mark.len()..]))
        .last()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openssl_that_runs_is_found() {
        for text in [
            "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.9 30 May 2023 (running with OpenSSL 3.0.22 25 Aug 2026)\nTLS SNI",
            "Compiled with OpenSSL 3.0.9 30 May 2023\nRunning  with OpenSSL 3.0.22 25 Aug 2026\nThreading:PTHREAD",
            "Linked libs: libevent 2.1.12-stable (it uses epoll), OpenSSL 3.0.22 25 Aug 2026\nLinked modules: dns64",
            "Built with OpenSSL version : OpenSSL 3.0.9 30 May 2023\nRunning on OpenSSL version : OpenSSL 3.0.22 25 Aug 2026\n\
             OpenSSL library supports SNI : yes\nOpenSSL library supports : TLSv1.0 TLSv1.1\nBuilt with Lua version : Lua 5.3.6",
        ] {
            assert_eq!(openssl_in(text), "3.0.22", "{text}");
        }
        assert_eq!(openssl_in("no such thing 1.2.3"), "");
    }
}
