//! Keys in the module's section of the configuration: unknown ones, and what the module offers by
//! them.

use kex::TLS_GROUPS;
use openssl_conf::{Config, Entry, Provider, Release, Section};
use strsim::osa_distance;

use super::finding::Finding;

/// Reports each unknown key, with the known key that was probably meant. The module itself cannot
/// do this, because libcrypto does not list the keys of a section.
///
/// Reports also a known key whose value is the name of a section: OpenSSL then passes the settings
/// of that section on, in place of the value.
pub(super) fn examine(provider: &Provider, config: &Config, findings: &mut Vec<Finding>) {
    let own = config.section(provider.section());
    let settings_of = own.into_iter().flat_map(Section::entries);
    let taken: Vec<_> = settings_of
        .filter(|entry| settings::is_known(&entry.key) && config.section(&entry.value).is_some())
        .collect();
    for Entry { key, value, origin } in &taken {
        // A name with another case or a group more than once means the same to the module.
        let instead = match *key == settings::GROUPS.name {
            true => TLS_GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(":"),
            false => format!("{value} (with the section renamed)"),
        };
        findings.push(Finding::wrong(
            "keys",
            format!(
                "{origin}: there is a section [{value}], so OpenSSL takes '{key} = {value}' for its settings, \
                 and the module gets no {key}"
            ),
            format!(
                "rename the section [{value}], or in [{}]\n{key} = {instead}",
                provider.section()
            ),
        ));
    }
    for parameter in provider.own_parameters() {
        let is_taken =
            |name: &str| taken.iter().any(|entry| name.starts_with(&format!("{}.", entry.key)));
        if settings::is_known(&parameter.name) || is_taken(&parameter.name) {
            continue;
        }
        let (nearest, meaning) = nearest(&parameter.name);
        findings.push(Finding::wrong(
            "keys",
            format!(
                "{}: unknown key '{}' in section [{}], which the module ignores",
                parameter.origin,
                parameter.name,
                provider.section()
            ),
            format!("rename it to {nearest} ({meaning}), or remove it"),
        ));
    }
}

/// The first release in which decoders of other keys cost a TLS client nothing measurable.
const INDEXED_DECODERS: Release = Release::new(3, 5);

/// Reports the groups that the module offers, and whether their keys can be files.
pub(super) fn examine_offers(provider: &Provider, release: Release, findings: &mut Vec<Finding>) {
    let value = |key: settings::Key| {
        let mut parameters = provider.own_parameters();
        // The last value of a key counts.
        let found = parameters.by_ref().filter(|parameter| parameter.name == key.name).last();
        found.map(|parameter| parameter.value.as_str())
    };
    let groups =
        value(settings::GROUPS).map_or_else(|| Ok(settings::default_groups()), settings::groups);
    // The module refuses a wrong value, which is reported elsewhere.
    let Ok(groups) = groups else { return };
    let names: Vec<_> = groups.iter().map(|group| group.name).collect();
    let key_files = value(settings::KEY_FILES) == Some("on");
    let files = if key_files {
        "key files on"
    } else {
        "key files off ('fastkex run -- openssl genpkey' has them)"
    };
    findings.push(Finding::ok("offers", format!("{}; {files}", names.join(", "))));
    if key_files && release < INDEXED_DECODERS {
        findings.push(Finding::note(
            "offers",
            "key files slow down every TLS client with this OpenSSL: remove key_files = on where no program reads or writes such keys",
        ));
    }
}

/// Returns the name and meaning of the known key most similar to `name`: the key at the smallest
/// distance. The distance counts insertions, deletions, replacements and swaps of neighbouring
/// characters, and ignores upper and lower case.
fn nearest(name: &str) -> (String, &'static str) {
    let name = name.to_lowercase();
    let nearest =
        settings::all().min_by_key(|(known, _)| osa_distance(&name, &known.to_lowercase()));
    nearest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_the_one_that_was_meant() {
        for (wrong, meant) in [
            ("bacth", "batch"),
            ("Backend", "backend"),
            ("maxage", "max_age"),
            ("warmup-load", "warmup_load"),
            ("code_points.sntrup671", "code_points.sntrup761"),
            ("code_point.X25519SNTRUP761", "code_points.X25519SNTRUP761"),
        ] {
            assert_eq!(nearest(wrong).0, meant, "{wrong}");
        }
        assert_eq!(nearest("bacth").1, settings::BATCH.meaning);
    }
}
