//! Keys in the module's section of the configuration that the module does not know.

use openssl_conf::Provider;

use super::finding::Finding;

/// Reports each unknown key, with the known key that was probably meant. The module itself cannot
/// do this, because libcrypto does not list the keys of a section.
pub(super) fn examine(provider: &Provider, findings: &mut Vec<Finding>) {
    for parameter in provider.own_parameters() {
        if settings::is_known(&parameter.name) {
            continue;
        }
        let (nearest, meaning) = settings::nearest(&parameter.name);
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
