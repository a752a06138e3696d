//! Finds the group of a connection in the output of programs, each of which has its own format.

#![allow(dead_code)]

use openssl_runtime::wire;

pub(crate) use kex::shown_group as name_of;

/// Finds the group in nginx's page: a name, or a code point.
pub(crate) fn in_nginx_page(page: &str) -> Option<String> {
    let word = page.split_once("group ")?.1.split_whitespace().next()?;
    let id = word.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok());
    Some(id.map_or_else(|| word.to_owned(), name_of))
}

/// Finds the group in stunnel's log, by the size of the client's share.
pub(crate) fn in_stunnel_log(log: &str) -> Option<String> {
    let line = log.split_once("Peer temporary key: ")?.1.split_once('\n')?.0;
    let (name, bits) = line.strip_suffix(" bits")?.rsplit_once(", ")?;
    let is_ours = |group: &&&kex::TlsGroup| (8 * group.public_key_bytes).to_string() == bits;
    let ours = kex::TLS_GROUPS.iter().find(is_ours);
    Some(ours.map_or_else(|| name.to_owned(), |group| group.name.to_owned()))
}

/// Finds the group in a dump of `openssl -msg`, `    02 00 04 65 ...`.
pub(crate) fn in_openssl_messages(text: &str) -> Option<String> {
    in_dump(text, |line| line.strip_prefix("    "))
}

/// Finds the group in curl's trace, `0010: 78 49 54 61 ... xITa`.
pub(crate) fn in_curl_trace(text: &str) -> Option<String> {
    in_dump(text, |line| {
        let (offset, bytes) = line.split_once(": ")?;
        (offset.len() == 4).then(|| bytes.get(..48).unwrap_or(bytes))
    })
}

/// Finds the group in Apache's log, `[...] ... | 0010: 78 49 54 61 ... xITa |`. Lines of other
/// processes may stand between the lines of a dump.
pub(crate) fn in_apache_log(text: &str) -> Option<String> {
    let dumps = text.lines().filter_map(|line| line.split_once("| ")?.1.split_once(": "));
    // Each dump begins at offset 0.
    let dumps: String = dumps
        .map(|(offset, bytes)| {
            let first = if offset == "0000" { "\n" } else { "" };
            format!("{first}    {}\n", bytes.get(..47).unwrap_or(bytes))
        })
        .collect();
    in_openssl_messages(&dumps)
}

/// Finds the group in the output of our callback in Python: one message per line.
pub(crate) fn in_python_messages(text: &str) -> Option<String> {
    text.lines().find_map(|line| in_dump(line, |line| line.strip_prefix("message ")))
}

/// Finds the group in a line of our own programs: `group 0x11ec`.
pub(crate) fn in_group_line(text: &str) -> Option<String> {
    let hex = text.lines().find_map(|line| line.strip_prefix("group 0x"))?;
    Some(name_of(u16::from_str_radix(hex, 16).ok()?))
}

/// Finds the group in OpenSSL's trace, as Node prints it: `NamedGroup: UNKNOWN (4588)`, below the
/// last ServerHello.
pub(crate) fn in_node_trace(text: &str) -> Option<String> {
    let hello = text.rsplit_once("ServerHello, Length=")?.1;
    let line = hello.split_once("NamedGroup: ")?.1.lines().next()?;
    Some(name_of(line.rsplit_once('(')?.1.strip_suffix(')')?.parse().ok()?))
}

/// Finds the group in Java's log: `"named group": x25519`, below the last share of a server.
pub(crate) fn in_java_log(text: &str) -> Option<String> {
    let share = text.rsplit_once("\"server_share\": {")?.1;
    let name = share.split_once("\"named group\": ")?.1.split_whitespace().next()?;
    let mut names = kex::TLS_GROUPS.iter().map(|group| group.name).chain(["X25519"]);
    Some(names.find(|other| other.eq_ignore_ascii_case(name)).unwrap_or(name).to_owned())
}

/// Finds the group of the ServerHello in a dump. `hex` returns the hexadecimal digits of a line, if
/// it has any.
fn in_dump(text: &str, hex: impl Fn(&str) -> Option<&str>) -> Option<String> {
    let mut messages = vec![Vec::new()];
    for line in text.lines() {
        let Some(digits) = hex(line) else {
            messages.push(Vec::new());
            continue;
        };
        let bytes = digits.split([' ', '-']).map_while(|byte| u8::from_str_radix(byte, 16).ok());
        messages.last_mut()?.extend(bytes);
    }
    messages.iter().find_map(|message| {
        // Some dumps contain the message without its record header.
        let length = u16::try_from(message.len()).ok()?.to_be_bytes();
        let record = [&[22, 3, 3], &length[..], message].concat();
        let share =
            [message, &record].into_iter().find_map(|flight| wire::find_server_key_share(flight));
        Some(name_of(share?.group))
    })
}

#[test]
fn other_lines_may_stand_in_apaches_dumps() {
    // A ServerHello with a random of zeros, no session, TLS_AES_128_GCM_SHA256 and a key share of
    // X25519.
    let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[7; 32]].concat();
    let body = [&[3, 3][..], &[0; 32], &[0, 0x13, 1, 0, 0, share.len() as u8], &share].concat();
    let message = [&[2, 0, 0, body.len() as u8], &body[..]].concat();
    let mut log = "[pid 5] | 0000: 01 00 00 00   .... |\n".to_owned();
    for (row, bytes) in message.chunks(16).enumerate() {
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        log += &format!("[pid 5] | {:04x}: {:47}  ...... |\n", 16 * row, hex.join(" "));
        log += "[pid 4] AH00094: Command line: 'apache2'\n";
    }
    assert_eq!(in_apache_log(&log).as_deref(), Some("X25519"));
}
