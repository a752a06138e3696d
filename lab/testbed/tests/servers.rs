//! Every kind of server: handshakes with each group, and complete removal.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use openssl_runtime::{KeyType, Libraries, LibraryContext, SslContext, TlsStream, TlsVersion};
use output::Failure;
use testbed::{
    DNS_ADDRESS, DNS_ADDRESS_6, Listening, Offer, OwnStunnel, Set, Started, apache, haproxy,
    haproxy_before, minimal, nginx, own_stunnel, stunnel, unbound,
};

/// The type of NewSessionTicket (RFC 8446, appendix B.3).
const NEW_TICKET: u8 = 4;

/// A set, and a client context for its servers.
struct Scene {
    set: Set,
    context: LibraryContext,
}

fn offers() -> Vec<Offer> {
    ["X25519", "sntrup761", "X25519SNTRUP761"]
        .map(Offer::new)
        .into_iter()
        .chain([Offer::new("X25519").with_fastkex()])
        .collect()
}

impl Scene {
    /// Returns `None` without OpenSSL, and prints a line about it.
    fn new() -> Option<Self> {
        static MODULE: LazyLock<std::path::PathBuf> =
            LazyLock::new(|| artifacts::module().unwrap());
        let libraries = match Libraries::system() {
            Ok(libraries) => libraries,
            Err(error) => {
                artifacts::skipped(&error.to_string());
                return None;
            }
        };
        let set =
            Set::new(&libraries, &MODULE, env!("CARGO_BIN_EXE_testbed-tool").as_ref()).unwrap();
        let context = LibraryContext::new(&libraries).unwrap();
        context.load_provider("default").unwrap().keep();
        context.load_provider_with(&*MODULE, &[("groups", "all")]).unwrap().keep();
        Some(Self { set: set.on(testbed::processor::last()), context })
    }

    fn connect(&self, kind: KeyType, server: &Listening) -> TlsStream<TcpStream> {
        let authority = fs::read(self.set.certificate(kind).unwrap().certificate).unwrap();
        let settings = SslContext::client(&self.context)
            .and_then(|client| client.trust_pem(authority)?.groups(&server.offer.groups))
            .unwrap()
            .build();
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        TlsStream::new(&settings, stream, Some(testbed::SERVER_NAME)).unwrap()
    }

    /// Performs handshakes with every server, closes cleanly, and checks that the servers'
    /// processor time grows.
    fn handshake(&self, kind: KeyType, servers: &[Listening]) {
        assert_eq!(servers.len(), offers().len());
        for (server, offer) in servers.iter().zip(offers()) {
            assert_eq!(server.offer, offer);
            let before = server.seconds().unwrap();
            for _ in 0..10 {
                let mut stream = self.connect(kind, server);
                stream.close().unwrap();
                // nginx closes TCP without close_notify if there was no request.
                match stream.read(&mut [0]) {
                    Ok(read) => assert_eq!(read, 0),
                    Err(error) => assert!(error.to_string().contains("unexpected eof"), "{error}"),
                }
                let summary = stream.summary();
                assert_eq!(summary.version, Some(TlsVersion::Tls13));
                assert!(!summary.hello_retry, "{offer:?}");
                let known = self.context.tls_groups();
                let used = summary.group.unwrap().id;
                let named = |name: &str| name.eq_ignore_ascii_case(&offer.groups);
                assert!(known.iter().any(|group| group.id == used && named(&group.name)), "{used}");
                let tickets = summary.messages.iter().any(|message| message.kind == NEW_TICKET);
                assert!(!tickets, "{offer:?}: {:?}", summary.messages);
            }
            assert!(server.seconds().unwrap() > before, "{offer:?}");
            assert!(server.openssl.starts_with(|c: char| c.is_ascii_digit()), "{server:?}");
        }
    }

    /// Ends all servers and checks that nothing is left.
    fn end(self, servers: &[Listening]) {
        let folder = self.set.stage.folder().to_path_buf();
        let programs = servers.iter().flat_map(|one| [&one.tls].into_iter().chain(&one.others));
        let mut processes: Vec<u32> =
            programs.flat_map(|program| program.processes.clone()).collect();
        let workers: Vec<u32> = processes.iter().flat_map(|&id| testbed::children(id)).collect();
        processes.extend(workers);
        assert!(!processes.is_empty() && processes.iter().all(|id| testbed::is_running(*id)));
        let processor = testbed::processor::last().unwrap().to_string();
        assert!(processes.iter().all(|id| processors_of(*id) == processor));
        drop(self);
        assert!(!folder.exists());
        for process in processes {
            assert!(testbed::wait_for(|| (!testbed::is_running(process)).then_some(())).is_some());
        }
        assert!(servers.iter().all(|server| server.seconds().is_none()));
    }
}

fn libraries() -> Libraries {
    Libraries::system().unwrap()
}

/// Returns the processors that a process may use, as the system writes them.
fn processors_of(process: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap().trim().into()
}

/// Returns `None`, and prints a line about it, if the program is not installed.
fn present(started: Started) -> Option<Vec<Listening>> {
    match started {
        Started::Listening(servers) => Some(servers),
        Started::Absent(why) => {
            artifacts::skipped(&why);
            None
        }
    }
}

fn has_version(name: &str, program: &str) -> bool {
    let version = name.strip_prefix(program).and_then(|rest| rest.strip_prefix(' '));
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn nginx_shakes_hands() {
    let Some(scene) = Scene::new() else { return };
    let started = nginx(&scene.set, KeyType::Rsa2048, &offers()).unwrap();
    let Some(servers) = present(started) else { return };
    assert!(has_version(&servers[0].tls.name, "nginx"), "{servers:?}");
    // The choice of the X25519 implementation holds for a process.
    assert_eq!(servers[0].tls, servers[1].tls);
    assert_ne!(servers[0].tls, servers[3].tls);
    scene.handshake(KeyType::Rsa2048, &servers);
    scene.end(&servers);
}

/// A way to start a server.
type Start = fn(&Set, KeyType, &[Offer]) -> Result<Started, Failure>;

/// Performs handshakes with servers that forward to another one.
fn shakes_hands_before_another(program: &str, start: Start) {
    let Some(scene) = Scene::new() else { return };
    let kind = KeyType::Rsa2048;
    let Some(servers) = present(start(&scene.set, kind, &offers()).unwrap()) else { return };
    assert!(has_version(&servers[0].tls.name, program), "{servers:?}");
    scene.handshake(kind, &servers);
    // The server behind it answers, too.
    let mut stream = scene.connect(kind, &servers[1]);
    if servers[1].others[0].name.starts_with("nginx") {
        write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(response(&mut stream).0, "HTTP/1.1 200 OK");
    }
    scene.end(&servers);
}

#[test]
fn stunnel_shakes_hands() {
    shakes_hands_before_another("stunnel", stunnel);
}

#[test]
fn apache_shakes_hands() {
    shakes_hands_before_another("apache2", apache);
}

#[test]
fn haproxy_shakes_hands() {
    shakes_hands_before_another("haproxy", haproxy);
}

/// Without the module servers have OpenSSL's own groups only.
#[test]
fn servers_start_without_the_module() {
    let Some(scene) = Scene::new() else { return };
    let scene = Scene { set: scene.set.without_module(), ..scene };
    let offer = |groups: &str| [Offer::new(groups)];
    let failure = nginx(&scene.set, KeyType::EcP256, &offer("sntrup761")).err().unwrap();
    assert!(failure.to_string().contains("does not know sntrup761"), "{failure}");
    let started = nginx(&scene.set, KeyType::EcP256, &offer("X25519")).unwrap();
    let Some(servers) = present(started) else { return };
    let mut stream = scene.connect(KeyType::EcP256, &servers[0]);
    stream.close().unwrap();
    let loaded = |process: u32| fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let processes = servers[0].tls.all_processes();
    assert!(processes.iter().all(|id| !loaded(*id).contains("fastkex.so")));
}

#[test]
fn a_stunnel_reads_what_it_is_given() {
    let Some(scene) = Scene::new() else { return };
    let Some(program) = ["/usr/bin/stunnel"].map(Path::new).into_iter().find(|path| path.exists())
    else {
        return artifacts::skipped("no stunnel program (apt-get install stunnel4)");
    };
    let (kind, libraries) = (KeyType::EcP256, libraries());
    let folder = libraries.libssl_path().parent().unwrap();
    let configuration = scene.set.stage.folder().join("own.cnf");
    let module = artifacts::module().unwrap().canonicalize().unwrap();
    let text = format!(
        "openssl_conf = init\n[init]\nproviders = list\nssl_conf = tls\n[list]\ndefault = on\nfastkex = ours\n\
         [on]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\ngroups = all\n[tls]\nsystem_default = all\n[all]\nNumTickets = 0\n",
        module.display()
    );
    fs::write(&configuration, text).unwrap();
    let own = OwnStunnel { program, libraries: folder, configuration: &configuration };
    let servers = own_stunnel(&scene.set, own, kind, &offers()).unwrap();
    assert!(has_version(&servers[0].tls.name, "stunnel"), "{servers:?}");
    assert_eq!(servers[0].openssl, libraries.version().to_string());
    scene.handshake(kind, &servers);

    let absent = OwnStunnel { program: Path::new("/no/such"), ..own };
    let failure = own_stunnel(&scene.set, absent, kind, &offers()).unwrap_err().to_string();
    assert_eq!(failure, "/no/such: cannot be run");
    fs::write(&configuration, "").unwrap();
    let failure = own_stunnel(&scene.set, own, kind, &offers()).unwrap_err().to_string();
    assert!(failure.starts_with("stunnel-") && failure.contains(" ended "), "{failure}");
    scene.end(&servers);
}

#[test]
fn the_minimal_server_shakes_hands() {
    let Some(scene) = Scene::new() else { return };
    let kind = KeyType::Ed25519;
    let servers = present(minimal::start(&scene.set, kind, &offers(), None).unwrap()).unwrap();
    scene.handshake(kind, &servers);
    scene.end(&servers);
}

/// Returns a query with one question, preceded by its length as over TCP (RFC 1035, sections 4.1
/// and 4.2.2).
fn query(kind: u8) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in testbed::DNS_NAME.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, kind, 0, 1]);
    [&[0, message.len() as u8][..], &message].concat()
}

#[test]
fn unbound_shakes_hands_and_answers() {
    let Some(scene) = Scene::new() else { return };
    let kind = KeyType::EcP256;
    let Some(servers) = present(unbound(&scene.set, kind, &offers()).unwrap()) else { return };
    assert!(has_version(&servers[0].tls.name, "unbound"), "{servers:?}");
    scene.handshake(kind, &servers);
    for (kind_of_record, data) in
        [(1, DNS_ADDRESS.octets().to_vec()), (28, DNS_ADDRESS_6.octets().to_vec())]
    {
        let mut stream = scene.connect(kind, &servers[1]);
        stream.write_all(&query(kind_of_record)).unwrap();
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..2], [0x12, 0x34]);
        // No error, and one answer, which ends with the address as nothing follows it.
        assert_eq!((answer[3] & 15, answer[7]), (0, 1));
        assert!(answer.ends_with(&data), "{answer:?}");
    }
    scene.end(&servers);
}

/// Reads a response: its status line, and as many bytes as its header announces.
fn response(stream: &mut impl Read) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head.lines().next().unwrap().into(), body)
}

#[test]
fn pages_come_through_haproxy() {
    let Some(scene) = Scene::new() else { return };
    let kind = KeyType::Rsa2048;
    let Some(behind) = present(nginx(&scene.set, kind, &offers()).unwrap()) else { return };
    let page = scene.set.page(1024).unwrap();
    assert_eq!((page.as_str(), scene.set.page(100).unwrap().as_str()), ("/1k", "/100"));
    let Some(servers) = present(haproxy_before(&scene.set, &behind).unwrap()) else { return };
    assert!(has_version(&servers[0].others[0].name, "haproxy"), "{servers:?}");
    assert!(servers.iter().zip(&behind).all(|(one, behind)| one.port != behind.port));
    let balancer = servers[0].others[0].seconds().unwrap();
    scene.handshake(kind, &servers);
    for server in &servers {
        let mut stream = scene.connect(kind, server);
        for _ in 0..2 {
            write!(stream, "GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            let (status, body) = response(&mut stream);
            assert_eq!((status.as_str(), body.len()), ("HTTP/1.1 200 OK", 1024));
        }
    }
    assert!(servers[0].others[0].seconds().unwrap() > balancer);
    scene.end(&servers);
}

#[test]
fn unknown_groups_are_named() {
    let Some(scene) = Scene::new() else { return };
    let offers = [Offer::new("X25519"), Offer::new("X25519:sntrup999")];
    let kind = KeyType::EcP256;
    for started in [
        nginx(&scene.set, kind, &offers),
        stunnel(&scene.set, kind, &offers),
        unbound(&scene.set, kind, &offers),
        minimal::start(&scene.set, kind, &offers, None),
    ] {
        match started {
            Err(failure) => {
                let text = failure.to_string();
                assert!(text.contains("does not know sntrup999; it knows "), "{text}");
                assert!(text.contains("X25519SNTRUP761"), "{text}");
            }
            Ok(started) => assert!(present(started).is_none()),
        }
    }
    assert!(scene.set.knows("X25519:sntrup761").unwrap());
    assert!(!scene.set.knows("sntrup999").unwrap());
}

#[test]
fn files_that_are_not_there_are_named() {
    let Some(scene) = Scene::new() else { return };
    let tool = Path::new(env!("CARGO_BIN_EXE_testbed-tool"));
    let absent = Path::new("/no/such.so");
    let failure = Set::new(&libraries(), absent, tool).err().unwrap();
    assert!(failure.to_string().starts_with("/no/such.so: "), "{failure}");
    let offers = [Offer::new("X25519")];
    let failure = minimal::start(&scene.set, KeyType::EcP256, &offers, Some(absent)).err().unwrap();
    assert!(failure.to_string().starts_with("/no/such.so: "), "{failure}");
    // A file that is no module is reported before a server is started with it.
    let failure =
        Set::new(&libraries(), tool, tool).and_then(|set| nginx(&set, KeyType::EcP256, &offers));
    match failure {
        Err(failure) => assert!(failure.to_string().contains("testbed-tool"), "{failure}"),
        Ok(started) => assert!(present(started).is_none()),
    }
}
