//! Tests of `fastkex time`: its counts, output and files, and its errors for servers that
//! misbehave.

mod common;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Tool, assert_refused, stderr, stdout};
use measure::quantile;
use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext, SslContext, TlsStream};
use timer::results::{Run, What};

/// A server's behaviour on its n-th connection.
type Manners = Box<dyn Fn(&SslContext, TcpStream, usize) + Send + Sync>;

/// A server in this process, for the duration of the test.
struct Server {
    port: u16,
    served: Arc<AtomicUsize>,
}

struct Setting {
    tool: Tool,
    certificate: Certificate,
    context: LibraryContext,
}

impl Setting {
    fn new() -> Option<Self> {
        let tool = Tool::with_openssl()?;
        let context = LibraryContext::new(&Libraries::system().unwrap()).unwrap();
        context.load_provider("default").unwrap().keep();
        context.load_provider_with(tool.module(), &[("groups", "all")]).unwrap().keep();
        let certificate =
            Certificate::self_signed(&context, KeyType::Ed25519, &["localhost"]).unwrap();
        tool.write("ca.pem", &certificate.to_pem().unwrap());
        Some(Self { tool, certificate, context })
    }

    /// Starts a server that accepts these groups.
    fn serve(&self, groups: &str, manners: Manners) -> Server {
        let settings = SslContext::server(&self.context, &self.certificate).unwrap();
        let settings = settings.groups(groups).unwrap().build();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        let manners = Arc::new(manners);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let (settings, manners) = (settings.clone(), Arc::clone(&manners));
                thread::spawn(move || manners(&settings, stream.unwrap(), number));
            }
        });
        Server { port, served }
    }

    /// Starts a server that does a handshake, waits for the client's end, and closes.
    fn plain(&self, groups: &str) -> Server {
        self.serve(groups, Box::new(|settings, stream, _| drop(handshake(settings, stream))))
    }

    fn time(&self, what: &str, server: &Server, arguments: &[&str]) -> Output {
        let place = match what {
            "http" => format!("https://localhost:{}/page", server.port),
            _ => format!("localhost:{}", server.port),
        };
        let ca = self.tool.path("ca.pem").display().to_string();
        let first = ["time", what, &place, "--ca", &ca];
        self.tool.output(&[&first[..], arguments].concat())
    }

    /// Returns the file and the output of a successful run.
    fn results(&self, what: &str, server: &Server, arguments: &[&str]) -> (Run, String) {
        let file = self.tool.path("run.json").display().to_string();
        let output = self.time(what, server, &[arguments, &["--json", &file]].concat());
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        assert_eq!(stderr(&output), "");
        let text = std::fs::read_to_string(file).unwrap();
        (serde_json::from_str(&text).unwrap(), stdout(&output))
    }
}

fn handshake(settings: &SslContext, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    stream.set_nodelay(true).unwrap();
    let mut stream = TlsStream::new(settings, stream, None).ok()?;
    let _ = stream.read(&mut [0]);
    Some(stream)
}

const SMALL: [&str; 6] = ["--samples", "3", "--connections", "20", "--warm-up", "1"];

#[test]
fn groups_take_turns_and_all_is_counted() {
    let Some(setting) = Setting::new() else { return };
    let server = setting.plain("sntrup761:X25519");
    let groups = ["--groups", "sntrup761,X25519@fastkex,sntrup761:X25519"];
    let (run, text) = setting.results("tls", &server, &[&SMALL[..], &groups].concat());
    assert_eq!((run.what, run.complete, run.failures()), (What::Tls, true, 0));
    assert!(run.client.starts_with("OpenSSL "));
    let found: Vec<_> = run.series.iter().map(|one| (one.label.as_str(), one.group_id)).collect();
    let id = |name| kex::TLS_GROUPS.iter().find(|group| group.name == name).unwrap().code_point;
    let sntrup761 = id("sntrup761");
    let expected =
        [("sntrup761", sntrup761), ("X25519@fastkex", 0x1D), ("sntrup761:X25519", sntrup761)];
    assert_eq!(found, expected);
    for series in &run.series {
        assert_eq!((series.certificate.as_str(), series.hello_retry), ("Ed25519", false));
        assert_eq!((series.samples.len(), series.connections()), (3, 60));
        for sample in &series.samples {
            let slowest = sample.microseconds.iter().max().unwrap();
            let sum: u64 = sample.microseconds.iter().map(|&time| u64::from(time)).sum();
            assert_eq!((sample.connections, sample.microseconds.len()), (20, 20));
            // One connection follows the other, with little time between them.
            assert!(sum as f64 <= 1e6 * sample.seconds, "{sum} {}", sample.seconds);
            assert!(f64::from(*slowest) / 1e6 <= sample.seconds);
            let spent = sample.user_seconds + sample.kernel_seconds;
            assert!(spent > 0.0 && spent < 3.0 * sample.seconds, "{spent}");
        }
        let [rate, time] = [series.rates(), series.microseconds()];
        assert!(text.contains(&measure::grouped(quantile(&rate, 0.5).unwrap())), "{text}");
        assert!(text.contains(&measure::grouped(quantile(&time, 0.999).unwrap())), "{text}");
    }
    // One connection of each group is for inspection, and one before each sample is not counted.
    assert_eq!(server.served.load(Ordering::Relaxed), 1 + 3 * (1 + 3 * 21));

    let traffic = &run.series[0].traffic;
    let bytes = |name| traffic.messages.iter().find(|message| message.name == name).unwrap().bytes;
    let (sizes, group) = (["ClientHello", "ServerHello"].map(bytes), "sntrup761");
    let group = kex::TLS_GROUPS.iter().find(|one| one.name == group).unwrap();
    assert!(sizes[0] > group.public_key_bytes && sizes[0] < group.public_key_bytes + 300);
    assert!(sizes[1] > group.ciphertext_bytes && sizes[1] < group.ciphertext_bytes + 200);
    let messages: usize = traffic.handshake_messages().map(|message| message.bytes).sum();
    let socket = traffic.handshake_sent + traffic.handshake_received;
    assert_eq!(messages + traffic.handshake_other(), socket);
    // A record header and tag for each of a few records, and ChangeCipherSpec.
    assert!((50..200).contains(&traffic.handshake_other()), "{traffic:?}");
    assert!(traffic.sent >= traffic.handshake_sent && traffic.data_sent == 0);
}

#[test]
fn without_groups_those_that_the_server_takes_are_timed() {
    let Some(setting) = Setting::new() else { return };
    let server = setting.plain("X25519SNTRUP761:X25519");
    let (run, _) = setting.results(
        "tls",
        &server,
        &["--samples", "1", "--connections", "2", "--warm-up", "0"],
    );
    let labels: Vec<_> = run.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["X25519SNTRUP761", "X25519"]);
}

#[test]
fn many_at_a_time_are_as_many() {
    let Some(setting) = Setting::new() else { return };
    let server = setting.plain("X25519");
    let arguments = ["--groups", "X25519", "--concurrency", "4"];
    let (run, _) = setting.results("tls", &server, &[&SMALL[..], &arguments].concat());
    assert_eq!(run.series[0].connections(), 60);
    assert_eq!(run.series[0].microseconds().len(), 60);
}

/// Starts a name server with one name. Any other name does not exist.
fn name_server(setting: &Setting) -> Server {
    setting.serve(
        "X25519",
        Box::new(|settings, stream, _| {
            let Ok(mut stream) = TlsStream::new(settings, stream, None) else { return };
            let mut length = [0; 2];
            if stream.read_exact(&mut length).is_err() {
                return;
            }
            let mut message = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut message).unwrap();
            let known = message[12..].starts_with(b"\x07example\x04test\0\0\x01\0\x01");
            // An answer, with one record or the error NXDOMAIN.
            message[2] |= 0x80;
            message[3] = if known { 0x80 } else { 0x83 };
            if known {
                message[7] = 1;
                message.extend(b"\xC0\x0C\0\x01\0\x01\0\0\0\x3C\0\x04\xC0\0\x02\x01");
            }
            let length = u16::try_from(message.len()).unwrap().to_be_bytes();
            stream.write_all(&[&length[..], &message].concat()).unwrap();
            let _ = stream.read(&mut [0]);
        }),
    )
}

#[test]
fn names_are_asked_for() {
    let Some(setting) = Setting::new() else { return };
    let server = name_server(&setting);
    let name = ["--name", "example.test"];
    let (run, _) = setting.results("dot", &server, &[&SMALL[..], &name].concat());
    assert_eq!((run.what, run.series.len(), run.failures()), (What::Dot, 1, 0));
    let traffic = &run.series[0].traffic;
    let query = 2 + 12 + 14 + 4;
    assert_eq!((traffic.data_sent, traffic.data_received), (query, query + 16));

    let output = setting.time("dot", &server, &["--groups", "X25519", "--name", "other.test"]);
    assert_refused(&output, "other.test: the server answered NXDOMAIN");
    let output = setting.time("dot", &server, &["--name", "a..b"]);
    assert_refused(&output, "expected a domain name");
}

#[test]
fn a_peak_is_searched_for() {
    let Some(setting) = Setting::new() else { return };
    let server = name_server(&setting);
    let arguments = ["--name", "example.test", "--peak", "--step", "0.1", "--clients", "4"];
    let (run, text) = setting.results("dot", &server, &arguments);
    let [peak] = &run.peaks[..] else { panic!("{:?}", run.peaks) };
    let clients: Vec<_> = peak.steps.iter().map(|step| step.clients).collect();
    assert_eq!(clients, [1, 2, 4]);
    let served: usize = peak.steps.iter().map(|step| step.served).sum();
    assert!(served > 10 && server.served.load(Ordering::Relaxed) >= served);
    for step in &peak.steps {
        assert!(step.seconds >= 0.1 && step.failures == 0, "{step:?}");
    }
    let best = peak.steps.iter().map(|step| step.per_minute()).fold(0.0, f64::max);
    assert!(text.contains(&measure::grouped(best)), "{best}: {text}");
}

/// Starts a web server with one page, which it sends in chunks.
fn web_server(setting: &Setting, most: usize) -> Server {
    setting.serve(
        "X25519",
        Box::new(move |settings, stream, _| {
            let Ok(stream) = TlsStream::new(settings, stream, None) else { return };
            let mut stream = BufReader::new(stream);
            for number in 1.. {
                let (mut head, mut line) = (String::new(), String::from("-"));
                while !line.trim().is_empty() {
                    line.clear();
                    if stream.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    head += &line;
                }
                let answer = if head.starts_with("GET /page HTTP/1.1\r\nHost: localhost:") {
                    let last = if number == most { "Connection: close\r\n" } else { "" };
                    format!("HTTP/1.1 200 OK\r\n{last}Transfer-Encoding: chunked\r\n\r\n4\r\nwell\r\n0\r\n\r\n")
                } else {
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into()
                };
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                if number == most {
                    return;
                }
            }
        }),
    )
}

#[test]
fn requests_are_made() {
    let Some(setting) = Setting::new() else { return };
    let server = web_server(&setting, usize::MAX);
    let arguments = ["--groups", "X25519", "--requests", "1,5"];
    let (run, _) = setting.results("http", &server, &[&SMALL[..], &arguments].concat());
    let counts: Vec<_> = run.series.iter().map(|series| series.requests).collect();
    assert_eq!((run.what, counts), (What::Http, vec![Some(1), Some(5)]));
    let [one, five] = [0, 1].map(|index: usize| &run.series[index].traffic);
    assert_eq!(five.data_sent, 5 * one.data_sent);
    assert_eq!(five.data_received, 5 * one.data_received);
    assert!(one.data_received > 50 && one.received > one.handshake_received + one.data_received);

    let server = web_server(&setting, 2);
    let output = setting.time("http", &server, &["--groups", "X25519", "--requests", "3"]);
    assert_refused(&output, "the server ended the connection after 2 of 3 requests");
    let output = setting.tool.output(&["time", "http", "http://localhost/"]);
    assert_refused(&output, "expected https://HOST");
}

#[test]
fn servers_that_misbehave_are_named() {
    let Some(setting) = Setting::new() else { return };
    let hang: Manners = Box::new(|_, stream, _| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    let trickle: Manners = Box::new(|_, mut stream, _| {
        // A record of handshake messages, slowly.
        for byte in [0x16, 3, 3, 0x40, 0].into_iter().chain(std::iter::repeat(2)) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    // The kernel sends a reset if a socket is closed with unread data.
    let reset: Manners = Box::new(|_, stream, _| {
        while stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {}
    });
    let deaf: Manners = Box::new(|settings, stream, _| {
        let stream = TlsStream::new(settings, stream, None);
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    });
    let babble: Manners = Box::new(|_, mut stream, _| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        let _ = stream.read(&mut [0; 1000]);
    });
    let cases = [
        (hang, "no answer within 0.3 s"),
        (trickle, "no answer within 0.3 s"),
        (reset, "reset"),
        (deaf, "no answer within 0.3 s"),
        (babble, "wrong version number"),
    ];
    for (manners, expected) in cases {
        let server = setting.serve("X25519", manners);
        let start = Instant::now();
        let output = setting.time("tls", &server, &["--groups", "X25519", "--timeout", "0.3"]);
        assert_refused(&output, expected);
        assert!(stderr(&output).contains(&format!("localhost:{}: ", server.port)));
        assert!(start.elapsed() < Duration::from_secs(10), "{expected}");
    }
    let server = setting.plain("X25519");
    let output = setting.time("tls", &server, &["--groups", "sntrup761"]);
    assert_refused(&output, "handshake failure");
    let output = setting.time("tls", &server, &["--groups", "X25519,nonsense"]);
    assert_refused(&output, "groups 'nonsense'");
    let output = setting.time("tls", &server, &["--sigalgs", "RSA-PSS+SHA256"]);
    assert_refused(&output, "handshake failure");
    let output = setting.time("tls", &server, &["--sigalgs", "nonsense"]);
    assert_refused(&output, "signature algorithms 'nonsense'");
    let output = setting.time("tls", &server, &["--libssl", "/no/such/folder"]);
    assert_refused(&output, "/no/such/folder");
    let output = setting.time("tls", &server, &["--server-name", "example.org"]);
    assert_refused(&output, "hostname mismatch");
    let place = format!("localhost:{}", server.port);
    let output = setting.tool.output(&["time", "tls", &place]);
    assert_refused(&output, "certificate");
    let output = setting.tool.output(&[
        "time",
        "tls",
        &place,
        "--insecure",
        "--samples",
        "1",
        "--connections",
        "1",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = setting.tool.output(&["time", "tls", "localhost"]);
    assert_refused(&output, "expected HOST:PORT");
}

#[test]
fn failures_are_counted_and_nothing_is_made_of_them() {
    let Some(setting) = Setting::new() else { return };
    let manners: Manners = Box::new(|settings, stream, number| {
        // The first connection is for inspection, the second comes before the sample.
        if number > 2 && number % 4 == 0 {
            thread::sleep(Duration::from_millis(100));
        } else {
            handshake(settings, stream);
        }
    });
    let server = setting.serve("X25519", manners);
    let file = setting.tool.path("run.json").display().to_string();
    let arguments = ["--samples", "1", "--groups", "X25519", "--json", &file];
    let output = setting.time(
        "tls",
        &server,
        &[&["--connections", "20", "--warm-up", "1"], &arguments[..]].concat(),
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("X25519: 5 connections failed; the first: localhost:"));
    let run: Run = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let sample = &run.series[0].samples[0];
    assert_eq!((sample.connections, sample.failures, sample.microseconds.len()), (15, 5, 15));
    assert!(run.complete && sample.microseconds.iter().all(|&time| time < 100_000), "{sample:?}");
}

#[test]
fn a_server_that_goes_away_leaves_what_was_measured() {
    let Some(setting) = Setting::new() else { return };
    let manners: Manners = Box::new(|settings, stream, number| {
        if number < 30 {
            handshake(settings, stream);
        }
    });
    let server = setting.serve("X25519", manners);
    let output = setting.time("tls", &server, &[&SMALL[..], &["--groups", "X25519"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("INCOMPLETE"), "{}", stdout(&output));
    let error = stderr(&output);
    assert!(error.starts_with("fastkex: incomplete: 10 connections in a row failed"), "{error}");
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn an_interrupt_leaves_what_was_measured() {
    let Some(setting) = Setting::new() else { return };
    let server = setting.plain("X25519");
    let place = format!("localhost:{}", server.port);
    let arguments =
        ["time", "tls", &place, "--insecure", "--groups", "X25519", "--samples", "1000"];
    let mut command = setting.tool.command(&arguments);
    command.args(["--connections", "100"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while server.served.load(Ordering::Relaxed) < 300 {
        thread::sleep(Duration::from_millis(5));
    }
    let process = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{}", stderr(&output));
    assert_eq!(stderr(&output), "fastkex: incomplete: interrupted\n");
    let text = stdout(&output);
    assert!(text.contains("INCOMPLETE") && text.contains("| X25519 "), "{text}");
}

/// OpenSSL 1.1.1 with the ENGINE and these control commands.
struct Legacy {
    folder: String,
    configuration: std::path::PathBuf,
}

impl Legacy {
    fn new(setting: &Setting, commands: &str) -> Option<Self> {
        let Some(prefix) = artifacts::legacy_openssl(true) else {
            artifacts::skipped("no patched OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build)");
            return None;
        };
        let engine = artifacts::engine().unwrap();
        let text = format!(
            "openssl_conf = init\n[init]\nengines = engines\n[engines]\nengntru = engntru\n[engntru]\n\
             dynamic_path = {}\n{commands}\ndefault_algorithms = ALL\n",
            engine.canonicalize().unwrap().display()
        );
        let configuration = setting.tool.write("engine.cnf", &text);
        Some(Self { folder: prefix.join("lib").display().to_string(), configuration })
    }

    fn time(&self, setting: &Setting, server: &Server, arguments: &[&str]) -> Output {
        let ca = setting.tool.path("ca.pem").display().to_string();
        let place = format!("localhost:{}", server.port);
        let first = ["time", "tls", &place, "--ca", &ca, "--libssl", &self.folder];
        let mut command = setting.tool.command(&[&first[..], &SMALL, arguments].concat());
        command.env("OPENSSL_CONF", &self.configuration).output().unwrap()
    }
}

#[test]
fn clients_on_openssl_1_1_1_take_engines() {
    let Some(setting) = Setting::new() else { return };
    for commands in ["BATCH = on", "BATCH = off"] {
        let Some(legacy) = Legacy::new(&setting, commands) else { return };
        let server = setting.plain("sntrup761:sntrup857:X25519");
        let file = setting.tool.path("run.json").display().to_string();
        let groups = ["--groups", "sntrup761,sntrup857,X25519,X25519:sntrup761", "--json", &file];
        let output = legacy.time(&setting, &server, &groups);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        assert_eq!(stderr(&output), "");
        let run: Run = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(
            (run.client.as_str(), run.complete, run.failures()),
            ("OpenSSL 1.1.1w", true, 0)
        );
        let names: Vec<_> = run.series.iter().map(|one| one.group.as_str()).collect();
        assert_eq!(names, ["sntrup761", "sntrup857", "X25519", "X25519"]);
        for series in &run.series {
            assert_eq!((series.certificate.as_str(), series.connections()), ("Ed25519", 60));
            let group = kex::group_named(&series.group);
            let hello =
                series.traffic.messages.iter().find(|one| one.name == "ClientHello").unwrap();
            assert!(hello.bytes > group.map_or(32, |group| group.public_key_bytes));
        }
    }
}

#[test]
fn what_openssl_1_1_1_cannot_do_is_said() {
    let Some(setting) = Setting::new() else { return };
    let Some(legacy) = Legacy::new(&setting, "BATCH = on") else { return };
    let server = setting.plain("sntrup761:X25519");
    let refused = |arguments: &[&str], expected: &str| {
        assert_refused(&legacy.time(&setting, &server, arguments), expected);
    };
    refused(&["--groups", "X25519@fastkex"], "OpenSSL 1.1.1w has not loaded fastkex");
    refused(
        &["--groups", "X25519SNTRUP761"],
        "OpenSSL 1.1.1w with these ENGINEs does not know them",
    );
    let module = setting.tool.module().display().to_string();
    refused(&["--module", &module], "OpenSSL 1.1.1 takes no modules");
    assert_eq!(server.served.load(Ordering::Relaxed), 3);

    std::fs::write(&legacy.configuration, "openssl_conf = init\n[init]\nengines = none\n").unwrap();
    refused(&["--groups", "X25519"], "load the configuration");
    let Some(legacy) = Legacy::new(&setting, "BATCH = perhaps") else { return };
    let output = legacy.time(&setting, &server, &["--groups", "sntrup761"]);
    assert_refused(&output, "load the configuration");
}
