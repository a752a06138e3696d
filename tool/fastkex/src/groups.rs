//! The lists of groups that the command recommends for `Groups`, and what it says about them.

use clap::ValueEnum;
use kex::{RECOMMENDED_GROUPS, TLS_GROUPS};
use openssl_conf::{Group, Release, split_groups};

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
    groups.iter().any(|group| !group.remove && is_ours(&group.name))
        || names_preferred(list, release)
}

/// True if a list of groups has X25519MLKEM768, the group of browsers: by name, or in OpenSSL's own
/// list.
pub(crate) fn names_preferred(list: &str, release: Release) -> bool {
    let Ok(groups) = split_groups(list, release.group_syntax()) else { return false };
    // A removal concerns what stands before it.
    groups.iter().fold(false, |has_it, group| match group {
        group if is_preferred(&group.name) => !group.remove,
        group => has_it || is_own_list(group, release),
    })
}

/// True if a list begins with X25519MLKEM768, so that a client that sends one key share sends this
/// one.
pub(crate) fn begins_with_preferred(list: &str, release: Release) -> bool {
    let groups = split_groups(list, release.group_syntax()).unwrap_or_default();
    groups.first().is_some_and(|group| !group.remove && is_preferred(&group.name))
}

fn is_ours(name: &str) -> bool {
    TLS_GROUPS.iter().any(|ours| ours.name.eq_ignore_ascii_case(name))
}

fn is_preferred(name: &str) -> bool {
    name.eq_ignore_ascii_case(RECOMMENDED_GROUPS[0])
}

/// True for `DEFAULT` where it has X25519MLKEM768. The list `DEFAULT_SUITE_B` never has it.
fn is_own_list(group: &Group, release: Release) -> bool {
    group.built_in_list && group.name.eq_ignore_ascii_case("DEFAULT") && openssl_has_ml_kem(release)
}

/// The list to write in place of `old`: its groups, except for those that `is_known` denies, and
/// X25519MLKEM768.
///
/// The groups that stand first keep their place if they are ours. A client of OpenSSL before 3.5
/// sends one key share, so its first group also keeps its place.
pub(crate) fn mended(
    old: &str,
    role: Role,
    release: Release,
    is_known: &dyn Fn(&str) -> bool,
) -> String {
    let Ok(groups) = split_groups(old, release.group_syntax()) else {
        return recommended(role, release).to_owned();
    };
    // The place of X25519MLKEM768 is chosen below.
    let is_kept = |group: &&Group| {
        !is_preferred(&group.name) && (group.remove || group.built_in_list || is_known(&group.name))
    };
    let mut kept: Vec<Group> = groups.iter().filter(is_kept).cloned().collect();
    if !kept.iter().any(|group| !group.remove) {
        return recommended(role, release).to_owned();
    }
    let named = groups.iter().position(|group| is_preferred(&group.name) && !group.remove);
    // OpenSSL's own list, where it comes first, has the group at its beginning.
    if named.is_none() && is_own_list(&kept[0], release) {
        return written(&kept);
    }
    let before = named.map(|at| groups[..at].iter().filter(is_kept).count());
    let named = named.map(|at| &groups[at]);
    let marks = kept.iter().filter(|group| group.key_share).count();
    let leading = kept.iter().take_while(|group| !group.remove && is_ours(&group.name)).count();
    let at = match role == Role::Client && !openssl_has_ml_kem(release) {
        true => before.unwrap_or(1),
        false => before.map_or(leading, |before| before.min(leading)),
    };
    let own = Group {
        name: RECOMMENDED_GROUPS[0].to_owned(),
        optional: named.is_some_and(|group| group.optional),
        // Where other groups are marked, no share is sent for one without a mark.
        key_share: named.map_or((1..4).contains(&marks), |group| group.key_share),
        remove: false,
        built_in_list: false,
        tuple: kept.get(at).or(kept.last()).map_or(0, |group| group.tuple),
    };
    kept.insert(at.min(kept.len()), own);
    written(&kept)
}

/// Writes a list as `split_groups` reads it.
fn written(groups: &[Group]) -> String {
    let mut text = String::new();
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            text.push(if groups[at - 1].tuple == group.tuple { ':' } else { '/' });
        }
        for (mark, is_set) in [('?', group.optional), ('*', group.key_share), ('-', group.remove)] {
            text.extend(is_set.then_some(mark));
        }
        text.push_str(&group.name);
    }
    text
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
            ("DEFAULT_SUITE_B", false, false),
            ("DEFAULT:-X25519MLKEM768:sntrup761", false, true),
            ("::", false, false),
        ] {
            assert_eq!((names_ours(list, OLD), names_ours(list, NEW)), (old, new), "{list}");
        }
    }

    /// Whatever a list has, the one to write in its place has X25519MLKEM768, loses no group that
    /// OpenSSL knows, and needs no further change.
    #[test]
    fn a_mended_list_keeps_its_groups_and_has_the_preferred_one() {
        let elements = [
            "X25519",
            "X25519MLKEM768",
            "sntrup761",
            "X25519SNTRUP761",
            "P-256",
            "sntrup762",
            "DEFAULT",
            "DEFAULT_SUITE_B",
            "-X25519MLKEM768",
            "-P-256",
            "*X25519",
            "*X25519MLKEM768",
            "?sntrup857",
            "?*P-384",
            "",
        ];
        let is_known = |name: &str| name != "sntrup762";
        let lists = (0..elements.len().pow(4)).map(|mut number| {
            let mut list = String::new();
            for place in 0..4 {
                if place > 0 {
                    list.push(if (number + place) % 7 == 0 { '/' } else { ':' });
                }
                list.push_str(elements[number % elements.len()]);
                number /= elements.len();
            }
            list
        });
        let mut read = 0;
        for list in lists {
            for release in [OLD, Release::new(3, 3), NEW] {
                for role in [Role::Server, Role::Client] {
                    let new = mended(&list, role, release, &is_known);
                    assert!(names_preferred(&new, release), "{list} -> {new}");
                    let parsed = split_groups(&new, release.group_syntax());
                    assert!(parsed.is_ok(), "{list} -> {new}: {parsed:?}");
                    assert_eq!(mended(&new, role, release, &is_known), new, "{list}");
                    if new == recommended(role, release) {
                        continue;
                    }
                    let Ok(old) = split_groups(&list, release.group_syntax()) else { continue };
                    read += 1;
                    let is_meant = |group: &&Group| !group.remove && is_known(&group.name);
                    for group in old.iter().filter(is_meant) {
                        let is_there = |other: &Group| other.name == group.name;
                        assert!(parsed.as_ref().unwrap().iter().any(is_there), "{list} -> {new}");
                    }
                }
            }
        }
        assert!(read > 10_000, "{read}");
    }

    #[test]
    fn a_mended_list_puts_the_preferred_group_where_it_serves() {
        let all = |_: &str| true;
        for (old, server, client) in [
            ("X25519:P-256", "X25519MLKEM768:X25519:P-256", "X25519:X25519MLKEM768:P-256"),
            ("X25519:X25519MLKEM768", "X25519MLKEM768:X25519", "X25519:X25519MLKEM768"),
            ("X25519MLKEM768:X25519", "X25519MLKEM768:X25519", "X25519MLKEM768:X25519"),
            (
                "X25519MLKEM768:sntrup761:X25519",
                "X25519MLKEM768:sntrup761:X25519",
                "X25519MLKEM768:sntrup761:X25519",
            ),
            (
                "sntrup761:X25519",
                "sntrup761:X25519MLKEM768:X25519",
                "sntrup761:X25519MLKEM768:X25519",
            ),
        ] {
            assert_eq!(mended(old, Role::Server, OLD, &all), server);
            assert_eq!(mended(old, Role::Client, OLD, &all), client);
        }
        for (old, new) in [
            ("P-256:DEFAULT", "X25519MLKEM768:P-256:DEFAULT"),
            ("*X25519/P-256", "*X25519MLKEM768:*X25519/P-256"),
            ("DEFAULT:-X25519MLKEM768", "DEFAULT"),
        ] {
            assert_eq!(mended(old, Role::Server, NEW, &all), new);
        }
    }
}
