//! Synthetic runs for tests, realistic enough to draw.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use figures::Input;
use timer::Cost;
use timer::results::{
    CostRow, HandshakeCosts, MessageBytes, ModuleUse, Peak, PeakStep, Plan, Run, Sample, Scene,
    Series, Traffic, What,
};

fn traffic(hello: usize, answer: usize, requests: usize) -> Traffic {
    let messages = [
        ("ClientHello", true, hello),
        ("ServerHello", false, answer),
        ("EncryptedExtensions", false, 10),
        ("Certificate", false, 785),
        ("CertificateVerify", false, 264),
        ("Finished", false, 36),
        ("Finished", true, 36),
        ("NewSessionTicket", false, 250),
    ];
    let message =
        |(name, sent, bytes): (&str, bool, usize)| MessageBytes { name: name.into(), sent, bytes };
    Traffic {
        messages: messages.map(message).into(),
        handshake_sent: hello + 5 + 6 + 58,
        handshake_received: answer + 5 + 6 + 10 + 785 + 264 + 36 + 22,
        sent: hello + 69 + requests * 160,
        received: answer + 1130 + 500 + requests * 700,
        data_sent: requests * 138,
        data_received: requests * 678,
    }
}

/// Makes a series whose connections take about `micros` microseconds.
pub(crate) fn series(
    label: &str,
    group_id: u16,
    micros: f64,
    requests: Option<usize>,
    plan: Plan,
) -> Series {
    let mut random = artifacts::Numbers::new(micros.to_bits() ^ 0x5eed);
    let mut sample = || {
        let drift = 1.0 + 0.03 * (random.unit() - 0.5);
        let mut time = || {
            let tail = if random.unit() > 0.99 { 4.0 } else { 1.0 };
            (micros * drift * tail * (0.92 + 0.16 * random.unit() * random.unit())) as u32
        };
        let microseconds: Vec<u32> = (0..plan.connections).map(|_| time()).collect();
        let seconds = microseconds.iter().map(|&time| f64::from(time)).sum::<f64>() / 1e6;
        Sample {
            connections: plan.connections,
            failures: 0,
            seconds,
            user_seconds: 0.3 * seconds,
            kernel_seconds: 0.1 * seconds,
            server_seconds: Some(0.55 * seconds),
            microseconds,
        }
    };
    let samples = (0..plan.samples).map(|_| sample()).collect();
    let (hello, answer) = if label.starts_with('s') { (1400, 1129) } else { (274, 122) };
    Series {
        label: label.into(),
        requests,
        group: label.into(),
        group_id,
        hello_retry: false,
        certificate: "RSA-2048".into(),
        traffic: traffic(hello, answer, requests.unwrap_or(0)),
        samples,
        first_failure: None,
    }
}

fn run(what: What, plan: Plan, servers: &[&str]) -> Run {
    let scene = Scene {
        name: "handshake".into(),
        servers: servers.iter().map(|server| (*server).to_owned()).collect(),
        openssl: "3.0.22".into(),
        processors: ["0".into(), "1".into()],
        link: None,
    };
    Run {
        what,
        target: "localhost:4433".into(),
        client: "OpenSSL 3.0.22".into(),
        scene: Some(scene),
        machine: measure::machine(),
        load: Some(0.31),
        plan,
        complete: true,
        series: Vec::new(),
        peaks: Vec::new(),
    }
}

/// Makes a run with the groups of OpenSSLNTRU's figure 5, in its order.
pub(crate) fn handshakes() -> Run {
    let plan = Plan { samples: 60, connections: 64, warm_up: 10, concurrency: 1 };
    let groups = [
        ("X25519", 0x1d, 742.0),
        ("P-256", 0x17, 781.0),
        ("sntrup761", 0xfee1, 701.0),
        ("sntrup857", 0xfee2, 722.0),
        ("X25519SNTRUP761", 0xfee9, 799.0),
        ("X25519MLKEM768", 0x11ec, 815.0),
    ];
    let all = groups.map(|(label, id, micros)| series(label, id, micros, None, plan));
    Run { series: all.into(), ..run(What::Tls, plan, &["stunnel 5.68", "nginx 1.22.1"]) }
}

/// Makes the same run with slower sntrup, incomplete, and with failures.
pub(crate) fn ended_early() -> Run {
    let mut run = handshakes();
    run.complete = false;
    run.series.truncate(4);
    run.series[2] = series("sntrup761", 0xfee1, 760.0, None, run.plan);
    run.series[3].samples.truncate(20);
    run.series[1].samples[0].failures = 3;
    run.series[1].first_failure = Some("connection reset <by peer>".into());
    run
}

/// Makes a run with queries and peaks.
pub(crate) fn dot() -> Run {
    let plan = Plan { samples: 20, connections: 30, warm_up: 5, concurrency: 1 };
    let groups = [("X25519", 0x1d, 900.0), ("P-256", 0x17, 950.0), ("sntrup761", 0xfee1, 870.0)];
    let all = groups.map(|(label, id, micros)| series(label, id, micros, None, plan));
    let peak = |(label, _, micros): (&str, u16, f64)| {
        let step = |clients: usize| {
            let served = (1e7 / micros * (1.0 - 0.6f64.powi(clients as i32))) as usize;
            PeakStep { clients, served, failures: 0, seconds: 10.0, server_seconds: Some(9.0) }
        };
        Peak {
            label: label.into(),
            group: label.into(),
            certificate: "RSA-2048".into(),
            steps: [1, 2, 4, 8, 16].map(step).into(),
            first_failure: None,
        }
    };
    let peaks = groups.map(peak).into();
    Run { series: all.into(), peaks, ..run(What::Dot, plan, &["unbound 1.17.1"]) }
}

/// Makes a run with three candidates by number of requests.
pub(crate) fn http() -> Run {
    let plan = Plan { samples: 5, connections: 20, warm_up: 2, concurrency: 1 };
    let groups = [
        ("P-256", 0x17, 1500.0),
        ("X25519SNTRUP761", 0xfee9, 1800.0),
        ("X25519MLKEM768", 0x11ec, 1750.0),
    ];
    let mut run = run(What::Http, plan, &["nginx 1.22.1", "HAProxy 2.6.12"]);
    for (label, id, micros) in groups {
        for requests in [1, 2, 10, 25] {
            let micros = micros + 300.0 * requests as f64;
            run.series.push(series(label, id, micros, Some(requests), plan));
        }
    }
    if let Some(scene) = &mut run.scene {
        scene.link = Some("20 ms, 10 Mbit/s".into());
    }
    run
}

/// Wraps runs as if they had been read from files.
pub(crate) fn input(runs: impl IntoIterator<Item = Run>) -> Input {
    let named = |(i, run)| (format!("{i}.json"), run);
    Input { runs: runs.into_iter().enumerate().map(named).collect(), ..Input::default() }
}

/// Returns processor times of handshakes with two certificates.
pub(crate) fn costs() -> Input {
    let row = |certificate: &str, group: &str, module, microseconds: f64| CostRow {
        certificate: certificate.into(),
        group: group.into(),
        module,
        cost: Cost {
            microseconds,
            client_microseconds: 0.6 * microseconds,
            server_microseconds: 0.4 * microseconds,
            spread: 0.03,
            ratio: microseconds / 559.0,
            handshakes: 1000,
        },
    };
    let of = |certificate: &str| {
        [
            row(certificate, "X25519", ModuleUse::NotLoaded, 559.0),
            row(certificate, "X25519", ModuleUse::Unused, 561.5),
            row(certificate, "X25519", ModuleUse::Used, 473.0),
            row(certificate, "X25519SNTRUP761", ModuleUse::Used, 502.0),
        ]
    };
    let costs = HandshakeCosts {
        openssl: "3.0.22".into(),
        machine: measure::machine(),
        method: "processor time of turns".into(),
        rows: [of("ecdsa-p-256"), of("rsa-2048")].concat(),
    };
    Input { costs: vec![("c.json".into(), costs)], ..Input::default() }
}

/// Returns a folder for output that can be looked at after the test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
