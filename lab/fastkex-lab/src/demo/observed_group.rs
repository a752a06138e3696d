//! Finds the group of a connection in the output of programs, each of which has its own format.

use openssl_runtime::wire;

use crate::groups;

/// Returns the group of the answer that curl received, from its `--trace`:
/// `<= Recv SSL data, 1129 bytes (0x469)`, then lines like
/// `0010: 78 49 54 61 ff f3 cc 37 96 bc f4 2b cf 6f 2f bd xITa...7...+.o/.`.
pub(crate) fn in_curl_trace(trace: &str) -> Option<String> {
    const HEX_DIGITS_AND_SPACES: usize = 16 * 3;
    let is_heading = |line: &str| line.starts_with("<= Recv SSL data");
    server_choice(trace, is_heading, |line| {
        let (offset, bytes) = line.split_once(": ")?;
        let is_offset = offset.len() == 4 && offset.chars().all(|c| c.is_ascii_hexdigit());
        is_offset.then(|| bytes.get(..HEX_DIGITS_AND_SPACES).unwrap_or(bytes))
    })
}

/// Returns the group of the answer that `openssl s_client` received, from its `-msg`:
/// `<<< TLS 1.3, Handshake [length 0469], ServerHello`, then lines like
/// `    02 00 04 65 03 03 fa 92 a0 83 78 70 35 22 d8 dc`.
pub(crate) fn in_s_client_messages(messages: &str) -> Option<String> {
    let is_heading = |line: &str| line.starts_with("<<< ") && line.contains(" Handshake ");
    server_choice(messages, is_heading, |line| line.strip_prefix("    "))
}

/// Returns the group of the one connection in the log of a stunnel server. It logs the size of the
/// client's share, `Peer temporary key: (null), 9264 bits`, as OpenSSL 3.0 has no name for the type
/// of this key.
pub(crate) fn in_stunnel_log(log: &str) -> Option<String> {
    let (_, key) = log.split_once("Peer temporary key: ")?;
    // The line may be incomplete.
    let (line, _) = key.split_once('\n')?;
    let (name, bits) = line.strip_suffix(" bits")?.rsplit_once(", ")?;
    if name != "(null)" {
        return Some(name.into());
    }
    let bits: usize = bits.parse().ok()?;
    let group = groups::ours().find(|group| 8 * group.client_bytes == bits);
    Some(group.map_or_else(|| format!("{bits} bits"), |group| group.name.into()))
}

/// Returns the group in a page of `lab/demo/nginx.conf`: a code point, or OpenSSL's name.
pub(crate) fn in_nginx_page(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("with the group ")?;
    let word = rest.split_whitespace().next()?;
    let code_point = word.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok());
    Some(code_point.map_or_else(|| word.into(), groups::name_of))
}

/// Returns the group in the last ServerHello of a dump. Messages begin with a line for which
/// `is_heading` is true. `hex` returns the hexadecimal digits of each following line.
fn server_choice(
    dump: &str,
    is_heading: impl Fn(&str) -> bool,
    hex: impl Fn(&str) -> Option<&str>,
) -> Option<String> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let mut wanted = false;
    for line in dump.lines() {
        match (hex(line), messages.last_mut()) {
            (None, _) => {
                wanted = is_heading(line);
                messages.push(Vec::new());
            }
            (Some(digits), Some(message)) if wanted => {
                let bytes = digits.split(' ').map_while(|byte| u8::from_str_radix(byte, 16).ok());
                message.extend(bytes);
            }
            _ => {}
        }
    }
    let share = messages.iter().rev().find_map(|message| {
        // These programs print messages without the record header.
        let length = u16::try_from(message.len()).ok()?.to_be_bytes();
        wire::find_server_key_share(&[&[22, 3, 3], &length[..], message].concat())
    });
    share.map(|share| groups::name_of(share.group))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn clients_tell_what_they_were_answered_with() {
        let trace = include_str!("samples/curl-7.88-trace.txt");
        assert_eq!(in_curl_trace(trace).as_deref(), Some("sntrup761"));
        let messages = include_str!("samples/s_client-3.0-msg.txt");
        assert_eq!(in_s_client_messages(messages).as_deref(), Some("X25519SNTRUP761"));

        // The ServerHello that answers the second ClientHello counts, not the HelloRetryRequest,
        // which has no share.
        let retried = include_str!("samples/s_client-3.0-msg-retry.txt");
        assert_eq!(in_s_client_messages(retried).as_deref(), Some("P-256"));
    }

    #[test]
    fn dumps_cut_short_tell_nothing() {
        for (dump, observe) in [
            (
                include_str!("samples/curl-7.88-trace.txt"),
                in_curl_trace as fn(&str) -> Option<String>,
            ),
            (include_str!("samples/s_client-3.0-msg.txt"), in_s_client_messages),
        ] {
            let lines: Vec<_> = dump.lines().collect();
            let is_enough = |kept: usize| observe(&lines[..kept].join("\n")).is_some();
            let least = (0..=lines.len()).find(|kept| is_enough(*kept)).unwrap();
            // The next line begins another message.
            assert!(["<= Recv", "<<< TLS"].iter().any(|start| lines[least].starts_with(start)));
            assert!((least..=lines.len()).all(is_enough));
        }
    }

    #[test]
    fn stunnel_tells_the_size_of_the_clients_share() {
        let log = include_str!("samples/stunnel-5.68-server.txt");
        assert_eq!(in_stunnel_log(log).as_deref(), Some("sntrup857"));
        let line = |key: &str| in_stunnel_log(&format!("LOG6[0]: Peer temporary key: {key}\n"));
        assert_eq!(line("X25519, 253 bits").as_deref(), Some("X25519"));
        assert_eq!(line("ECDH, P-256, 256 bits").as_deref(), Some("ECDH, P-256"));
        assert_eq!(line("(null), 9265 bits").as_deref(), Some("9265 bits"));
        assert_eq!(in_stunnel_log("LOG6[0]: Peer temporary key: (null), 9520 b"), None);
        assert_eq!(in_stunnel_log("LOG6[0]: No peer temporary key received\n"), None);
    }

    #[test]
    fn no_two_groups_have_a_client_share_of_the_same_size() {
        let sizes: HashSet<_> = groups::ours().map(|group| group.client_bytes).collect();
        assert_eq!(sizes.len(), groups::ours().count());
    }

    #[test]
    fn nginx_tells_a_code_point_or_a_name() {
        let page = |word: &str| in_nginx_page(&format!("This page came with the group {word}\n"));
        assert_eq!(page("0xfee9").as_deref(), Some("X25519SNTRUP761"));
        assert_eq!(page("0xfeef").as_deref(), Some("0xfeef"));
        assert_eq!(page("prime256v1").as_deref(), Some("prime256v1"));
        assert_eq!(page(""), None);
        assert!(include_str!("../../../demo/nginx.conf").contains("with the group $ssl_curve"));
    }
}
