//! The lists of groups that the command recommends for `Groups`, and what it says about them.

use clap::ValueEnum;
use kex::{RECOMMENDED_GROUPS, TLS_GROUPS};
use openssl_conf::{Release, split_groups};

/// The first release whose own list of groups begins with X25519MLKEM768, and whose clients send
/// several key shares.
const WITH_ML_KEM: Release = Release::new(3, 5);

/// A side of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// It accepts connections.
    #[default]
    Server,
    /// It makes connections.
    Client,
}

/// Whether this release has the groups with ML-KEM itself.
pub(crate) fn openssl_has_ml_kem(release: Release) -> bool {
    release >= WITH_ML_KEM
}

/// The recommended value of `Groups`.
///
/// From 3.5 on that is OpenSSL's own list, which begins with X25519MLKEM768. Below, a server's list
/// begins with it and goes on with OpenSSL's own. A client sends a key share of its first group
/// only, and a server without that group costs a round trip, so a client's list begins with X25519:
/// a server that prefers X25519MLKEM768 can ask for it.
pub(crate) fn recommended(role: Role, release: Release) -> &'static str {
    if openssl_has_ml_kem(release) {
        return "DEFAULT";
    }
    match role {
        Role::Server => {
            "X25519MLKEM768:X25519:P-256:X448:P-521:P-384:\
             ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192"
        }
        Role::Client => {
            "X25519:X25519MLKEM768:P-256:X448:P-521:P-384:\
             ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192"
        }
    }
}

/// The cost of a client's wrong guess, for people.
pub(crate) const CLIENT_COST: &str = "OpenSSL before 3.5 sends one key share, that of the first \
     group. Only a client of servers that have X25519MLKEM768 should name it first: a server \
     without it costs one more round trip (measured at a latency of 40 ms: 165 ms instead of 123 ms)";

/// True if a list of groups has one of ours: by name, or in OpenSSL's own list.
pub(crate) fn names_ours(list: &str, release: Release) -> bool {
    let Ok(groups) = split_groups(list, release.group_syntax()) else { return false };
    let is_ours = |name: &str| TLS_GROUPS.iter().any(|ours| ours.name.eq_ignore_ascii_case(name));
    let removes = |name: &str| {
        groups.iter().any(|group| group.remove && group.name.eq_ignore_ascii_case(name))
    };
    groups.iter().any(|group| match group.built_in_list {
        true => openssl_has_ml_kem(release) && !removes(RECOMMENDED_GROUPS[0]),
        false => !group.remove && is_ours(&group.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Release = Release::new(3, 0);
    const NEW: Release = Release::new(3, 5);

    #[test]
    fn a_server_prefers_the_first_recommended_group_and_a_client_guesses_safely() {
        let first = |role| recommended(role, OLD).split(':').next().unwrap();
        assert_eq!((first(Role::Server), first(Role::Client)), (RECOMMENDED_GROUPS[0], "X25519"));
        let sorted = |role| {
            let mut names: Vec<_> = recommended(role, OLD).split(':').collect();
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(Role::Server), sorted(Role::Client));
        assert!([Role::Server, Role::Client].map(|role| recommended(role, NEW)) == ["DEFAULT"; 2]);
    }

    #[test]
    fn openssls_own_list_counts_where_it_has_the_group() {
        for (list, old, new) in [
            ("X25519MLKEM768:X25519", true, true),
            ("x25519sntrup761", true, true),
            ("X25519:P-256", false, false),
            ("DEFAULT", false, true),
            ("P-256:DEFAULT", false, true),
            ("DEFAULT:-X25519MLKEM768", false, false),
            ("::", false, false),
        ] {
            assert_eq!((names_ours(list, OLD), names_ours(list, NEW)), (old, new), "{list}");
        }
    }
}
