//! Mail servers: Dovecot, Postfix, and Exim, which uses another library.

use std::fs;
use std::path::PathBuf;

use crate::protocol::{Content, SERVED};
use crate::setup::Way;
use crate::{Case, Role};

/// Dovecot's configuration. Its login process drops its rights and changes its root folder. It
/// serves more than one connection, so that it is there when its counts are read.
const DOVECOT: &str = "{block}
protocols = imap
base_dir = {folder}/run
state_dir = {folder}/state
log_path = /dev/stderr
ssl = required
service imap-login {
  service_count = 0
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    address = 127.0.0.1
    port = {port}
  }
}
passdb {
  driver = static
  args = password=secret
}
";

pub(crate) const DOVECOT_SERVER: Case = Case {
    program: "dovecot",
    package: "dovecot-imapd",
    block: "dovecot-server",
    places: &[],
    frame: DOVECOT,
    command: &["dovecot", "-F", "-c", "{file}"],
    role: Role::Server,
    content: Content::Imap,
    served: "a OK",
    word: None,
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

/// Dovecot as a client of another server's mailboxes. Its command for administrators stands for the
/// processes that read mail: both use the same code.
pub(crate) const DOVECOT_CLIENT: Case = Case {
    block: "dovecot-client",
    places: &[
        ("imapc_host = example.org", "imapc_host = 127.0.0.1"),
        ("imapc_port = 993", "imapc_port = {peer}"),
    ],
    frame: "{block}
base_dir = {folder}/run
state_dir = {folder}/state
log_path = /dev/stderr
imapc_user = user
imapc_password = secret
mail_uid = nobody
mail_gid = nogroup
mail_home = {folder}/home
",
    command: &["env", "HOME=/", "USER=user", "doveadm", "-c", "{file}", "mailbox", "list"],
    role: Role::Client,
    served: SERVED,
    prepare: |setup| {
        setup.share_module();
        setup.folder_of("home", Some("nobody"));
    },
    ..DOVECOT_SERVER
};

/// Postfix's configuration, which its programs read in a folder, and its spool, as its own scripts
/// make it. Both programs that use TLS change their root folder, as on Debian. With `-d` the master
/// process stays in the process group in which it is started, and ends with it.
const POSTFIX: &str = "mkdir -p conf data spool/etc
chmod 755 .
cp /etc/hosts spool/etc/
cd spool
mkdir pid active bounce corrupt defer deferred flush hold incoming private trace saved
mkdir -m 710 public
mkdir -m 730 maildrop
chown postfix ../data [a-o]* private trace saved public maildrop
chown root etc
chgrp postdrop public maildrop
cd ..
cat >conf/main.cf <<'END'
compatibility_level = 3.6
queue_directory = {folder}/spool
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = localhost.test
mydestination =
alias_maps =
alias_database =
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
disable_dns_lookups = yes
smtp_host_lookup = native
smtpd_peername_lookup = no
{block}
END
cat >conf/master.cf <<'END'
127.0.0.1:{port} inet n - y - - smtpd
cleanup unix n - y - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - y 1000? 1 tlsmgr
rewrite unix - - y - - trivial-rewrite
bounce unix - - y - 0 bounce
defer unix - - y - 0 bounce
trace unix - - y - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - y - - smtp
relay unix - - y - - smtp
error unix - - y - - error
retry unix - - y - - error
anvil unix - - y - 1 anvil
scache unix - - y - 1 scache
END
exec /usr/lib/postfix/sbin/master -c {folder}/conf -d
";

pub(crate) const POSTFIX_SERVER: Case = Case {
    program: "postfix",
    package: "postfix",
    block: "postfix-server",
    places: &[],
    frame: POSTFIX,
    command: &["sh", "-e", "{file}"],
    role: Role::Server,
    content: Content::Smtp,
    served: "250 ",
    word: None,
    alone: false,
    line: Some(Way::Both),
    properties: true,
    prepare: |_| {},
};

pub(crate) const POSTFIX_CLIENT: Case = Case {
    block: "postfix-client",
    places: &[("[example.org]:587", "[localhost]:{peer}")],
    role: Role::Proxy,
    ..POSTFIX_SERVER
};

/// All cases of mail servers.
pub(crate) const ALL: &[Case] = &[DOVECOT_SERVER, DOVECOT_CLIENT, POSTFIX_SERVER, POSTFIX_CLIENT];

#[test]
fn dovecot() {
    if !testbed::is_root() {
        return artifacts::skipped("Dovecot changes its users (run as root)");
    }
    DOVECOT_SERVER.run();
    DOVECOT_CLIENT.run();
}

#[test]
fn postfix() {
    if !testbed::is_root() {
        return artifacts::skipped("Postfix changes its users (run as root)");
    }
    POSTFIX_SERVER.run();
    POSTFIX_CLIENT.run();
}

/// Postfix takes no group of ours in a list with others, and no empty list. So its line in the
/// document has to be as it is.
#[test]
fn postfix_knows_no_groups_of_providers() {
    if !testbed::is_root() {
        return artifacts::skipped("Postfix changes its users (run as root)");
    }
    let mixed = Case {
        places: &[("= X25519MLKEM768", "= X25519MLKEM768 X25519 prime256v1")],
        ..POSTFIX_SERVER
    };
    mixed.run_way(Way::Both, "X25519");
}

/// These programs do not use OpenSSL, so the module cannot serve them. `scripts/unpack` unpacks
/// packages that cannot be installed beside others.
#[test]
fn others_use_gnutls() {
    for (package, file) in [
        ("exim4-daemon-light", "usr/sbin/exim4"),
        ("libldap-2.5-0", "usr/lib/x86_64-linux-gnu/libldap-2.5.so.0"),
        ("wget", "usr/bin/wget"),
    ] {
        let unpacked = artifacts::root().join("target/packages").join(package).join(file);
        let Some(bytes) =
            [unpacked, PathBuf::from("/").join(file)].iter().find_map(|path| fs::read(path).ok())
        else {
            artifacts::absent(&format!("no {file} (scripts/unpack {package})"));
            continue;
        };
        let names = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
        assert!(names(b"libgnutls.so.") && !names(b"libssl.so."), "{file}");
    }
}
