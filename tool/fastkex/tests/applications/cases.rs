//! The tested applications: values for the placeholders in each block, and the rest of the
//! configuration on Debian.

use crate::protocol::{Content, SERVED};
use crate::setup::Way;
use crate::words::*;
use crate::{Case, Role, Source};

const NGINX: &str = "daemon off;
pid nginx.pid;
error_log stderr;
%root user www-data;
events {}
http {
    access_log off;
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
{block}
}
";

pub(crate) const NGINX_SERVER: Case = Case {
    program: "nginx",
    package: "nginx",
    block: "nginx-server",
    places: &[("listen 443 ssl", "listen 127.0.0.1:{port} ssl")],
    frame: NGINX,
    command: &["nginx", "-e", "stderr", "-p", ".", "-c", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: "group ",
    word: Some((Source::Page, in_nginx_page)),
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

pub(crate) const NGINX_CLIENT: Case = Case {
    block: "nginx-client",
    places: &[
        ("listen 80", "listen 127.0.0.1:{port}"),
        ("https://example.org", "https://localhost:{peer}"),
    ],
    role: Role::Proxy,
    served: SERVED,
    word: None,
    ..NGINX_SERVER
};

/// The other directive of nginx that sets groups.
pub(crate) const NGINX_COMMAND: Case = Case {
    places: &[
        ("listen 443 ssl", "listen 127.0.0.1:{port} ssl"),
        ("ssl_ecdh_curve", "ssl_conf_command Groups"),
    ],
    ..NGINX_SERVER
};

/// Apache's configuration. It answers denied requests with a text.
const APACHE: &str = "{apache}
Listen 127.0.0.1:{port}
LogLevel ssl:trace7
ErrorDocument 403 served
{block}
";

pub(crate) const APACHE_SERVER: Case = Case {
    program: "apache2",
    package: "apache2",
    block: "apache-server",
    places: &[("*:443", "*:{port}")],
    frame: APACHE,
    command: &["apache2", "-D", "FOREGROUND", "-d", ".", "-f", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: Some((Source::Log, in_apache_log)),
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

pub(crate) const APACHE_CLIENT: Case = Case {
    block: "apache-client",
    places: &[("*:80", "*:{port}"), ("https://example.org/", "https://localhost:{peer}/")],
    role: Role::Proxy,
    line: None,
    ..APACHE_SERVER
};

pub(crate) const STUNNEL_SERVER: Case = Case {
    program: "stunnel",
    package: "stunnel4",
    block: "stunnel-server",
    places: &[
        ("accept = 443", "accept = 127.0.0.1:{port}"),
        ("connect = 80", "connect = 127.0.0.1:{plain}"),
    ],
    frame: "syslog = no\n%root setuid = nobody\n%root setgid = nogroup\n{block}",
    command: &["stunnel", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: Some((Source::Log, in_stunnel_log)),
    alone: false,
    line: Some(Way::Line),
    properties: false,
    prepare: |_| {},
};

pub(crate) const STUNNEL_CLIENT: Case = Case {
    block: "stunnel-client",
    places: &[("127.0.0.1:8080", "127.0.0.1:{port}"), ("example.org:443", "127.0.0.1:{peer}")],
    role: Role::Proxy,
    word: None,
    ..STUNNEL_SERVER
};

/// HAProxy's configuration, which begins like Debian's.
const HAPROXY: &str = "global
%root     user haproxy
%root     group haproxy
%root     chroot /var/lib/haproxy
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
{block}
";

pub(crate) const HAPROXY_SERVER: Case = Case {
    program: "haproxy",
    package: "haproxy",
    block: "haproxy-server",
    places: &[
        ("bind :443", "bind 127.0.0.1:{port}"),
        (
            "    default_backend pages",
            "    http-request return status 200 content-type text/plain string served",
        ),
    ],
    frame: HAPROXY,
    command: &["haproxy", "-W", "-f", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: None,
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

pub(crate) const HAPROXY_CLIENT: Case = Case {
    block: "haproxy-client",
    places: &[
        ("backend pages", "listen plain\n    bind 127.0.0.1:{port}"),
        ("example.org:443", "127.0.0.1:{peer}"),
    ],
    role: Role::Proxy,
    line: None,
    ..HAPROXY_SERVER
};

pub(crate) const HAPROXY_BY_ITSELF: &str = "{block}
%root     user haproxy
%root     group haproxy
%root     chroot /var/lib/haproxy
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend https
    bind 127.0.0.1:{port} ssl crt /etc/ssl/example/both.pem
    http-request return status 200 content-type text/plain string served
";

/// Unbound's configuration. Debian's has no chroot; the test uses one, because that is the more
/// difficult case.
const UNBOUND: &str = "{block}
server:
    port: {port}
    do-not-query-localhost: no
    do-ip6: no
    module-config: \"iterator\"
    local-zone: \"test.\" transparent
    access-control: 127.0.0.0/8 allow
    num-threads: 1
    use-syslog: no
    logfile: \"\"
    directory: \"/etc/ssl/example\"
    pidfile: \"\"
    chroot: \"\"
    username: \"\"
%root     username: unbound
%root     chroot: \"/etc/ssl/example\"
remote-control:
    control-enable: no
";

pub(crate) const UNBOUND_SERVER: Case = Case {
    program: "unbound",
    package: "unbound",
    block: "unbound-server",
    places: &[
        ("/etc/unbound", "/etc/ssl/example"),
        (
            "0.0.0.0@853",
            "127.0.0.1@{port}\n    tls-port: {port}\n    local-data: \"example.test. 3600 IN A 192.0.2.1\"",
        ),
    ],
    frame: UNBOUND,
    command: &["unbound", "-d", "-c", "{file}"],
    role: Role::Server,
    content: Content::Dns,
    served: SERVED,
    word: None,
    alone: true,
    line: None,
    properties: true,
    prepare: |_| {},
};

pub(crate) const UNBOUND_CLIENT: Case = Case {
    block: "unbound-client",
    places: &[
        ("server:\n", "server:\n    interface: 127.0.0.1@{port}\n"),
        ("192.0.2.53@853#example.org", "127.0.0.1@{peer}#localhost"),
    ],
    role: Role::Proxy,
    ..UNBOUND_SERVER
};

pub(crate) const CURL: Case = Case {
    program: "curl",
    package: "curl",
    block: "curl-client",
    places: &[(
        "https://example.org/",
        "--disable --noproxy '*' --no-progress-meter --cacert cert.pem --trace trace https://localhost:{peer}/",
    )],
    frame: "{block}",
    command: &["sh", "-e", "{file}"],
    role: Role::Client,
    content: Content::Http,
    served: SERVED,
    word: Some((Source::File("trace"), in_curl_trace)),
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

/// curl with the configuration file of its user.
pub(crate) const CURLRC: Case = Case {
    places: &[
        ("curl --curves X25519MLKEM768:X25519:P-256", "CURL_HOME=. curl"),
        (
            "https://example.org/",
            "--noproxy '*' --no-progress-meter --cacert cert.pem --trace trace https://localhost:{peer}/",
        ),
    ],
    frame: "echo 'curves = X25519MLKEM768:X25519:P-256' >.curlrc\n{block}",
    ..CURL
};

pub(crate) const PYTHON_SERVER: Case = Case {
    program: "python3",
    package: "python3",
    block: "python-server",
    places: &[(
        "with socket.create_server((\"0.0.0.0\", 443))",
        "context._msg_callback = lambda *message: print(\"message\", message[-1].hex(\" \"), flush=True)
with socket.create_server((\"127.0.0.1\", {port}))",
    )],
    frame: "{block}",
    command: &["python3", "-I", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: Some((Source::Log, in_python_messages)),
    alone: true,
    line: None,
    properties: true,
    prepare: |_| {},
};

/// A client in Python. It uses the test's certificate authority and no proxy.
pub(crate) const PYTHON_CLIENT: Case = Case {
    block: "python-client",
    places: &[("https://example.org/", "https://localhost:{peer}/")],
    frame: "import os, ssl

def context():
    context = ssl.create_default_context(cafile=\"cert.pem\")
    context._msg_callback = lambda *message: print(\"message\", message[-1].hex(\" \"))
    return context

ssl._create_default_https_context = context
os.environ[\"no_proxy\"] = \"*\"
{block}",
    role: Role::Client,
    ..PYTHON_SERVER
};

pub(crate) const OPENSSL_SERVER: Case = Case {
    program: "openssl",
    package: "openssl",
    block: "openssl-server",
    places: &[("-accept 443", "-accept 127.0.0.1:{port} -msg")],
    frame: "exec {block}",
    command: &["sh", "-e", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: "HTTP/1.0 200 ok",
    word: Some((Source::Log, in_openssl_messages)),
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

pub(crate) const OPENSSL_CLIENT: Case = Case {
    block: "openssl-client",
    places: &[(
        "example.org:443",
        "localhost:{peer} -CAfile cert.pem -verify_return_error -verify_hostname localhost -msg -ign_eof",
    )],
    frame: "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | {block}",
    role: Role::Client,
    served: SERVED,
    ..OPENSSL_SERVER
};

const LIGHTTPD: &str = "server.modules = ( \"mod_openssl\" )
server.document-root = \"{folder}\"
index-file.names = ( \"page\" )
server.bind = \"127.0.0.1\"
server.port = {port}
%root server.username = \"www-data\"
%root server.groupname = \"www-data\"
{block}
";

pub(crate) const LIGHTTPD_SERVER: Case = Case {
    program: "lighttpd",
    package: "lighttpd",
    block: "lighttpd-server",
    places: &[("$SERVER[\"socket\"] == \":443\"", "$SERVER[\"socket\"] == \"127.0.0.1:{port}\"")],
    frame: LIGHTTPD,
    command: &["lighttpd", "-D", "-f", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: None,
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |setup| {
        setup.set.stage.write("page", SERVED).unwrap();
        setup.open();
    },
};

pub(crate) const NODE_SERVER: Case = Case {
    program: "node",
    package: "nodejs",
    block: "node-server",
    places: &[("listen(443)", "listen({port}, '127.0.0.1')"), ("{\n", "{\n  enableTrace: true,\n")],
    frame: "{block}",
    command: &["node", "--openssl-shared-config", "{file}"],
    role: Role::Server,
    content: Content::Http,
    served: SERVED,
    word: Some((Source::Log, in_node_trace)),
    alone: true,
    line: Some(Way::Line),
    properties: true,
    prepare: |_| {},
};

pub(crate) const NODE_CLIENT: Case = Case {
    block: "node-client",
    places: &[
        ("https://example.org/", "https://localhost:{peer}/"),
        ("{\n", "{\n  ca: require('fs').readFileSync('cert.pem'),\n  enableTrace: true,\n"),
    ],
    role: Role::Client,
    ..NODE_SERVER
};

/// The cases in this file.
pub(crate) const ALL: &[Case] = &[
    NGINX_SERVER,
    NGINX_CLIENT,
    APACHE_SERVER,
    APACHE_CLIENT,
    STUNNEL_SERVER,
    STUNNEL_CLIENT,
    HAPROXY_SERVER,
    HAPROXY_CLIENT,
    UNBOUND_SERVER,
    UNBOUND_CLIENT,
    CURL,
    PYTHON_SERVER,
    PYTHON_CLIENT,
    OPENSSL_SERVER,
    OPENSSL_CLIENT,
    LIGHTTPD_SERVER,
    NODE_SERVER,
    NODE_CLIENT,
];
