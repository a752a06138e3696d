//! Numbers published in papers. No other file has them.

/// A publication and its set-up.
pub(crate) struct Source {
    /// The citation.
    pub(crate) cited: &'static str,
    /// The set-up of its measurements.
    pub(crate) setup: &'static str,
}

pub(crate) const FIGURE_5: Source = Source {
    cited: "OpenSSLNTRU (USENIX Security 2022), figure 5",
    setup: "two machines on Gigabit Ethernet (client Intel Core i7-6700, server AMD Ryzen 7 2700X), frequency scaling and Turbo Boost \
        off, a core for each process; OpenSSL 1.1.1k with an ENGINE; stunnel in front of Apache; RSA-2048; 100 samples of 8192 \
        connections. The curves come without numbers: sntrup761 and sntrup857 have more connections per second than X25519 and P-256",
};

pub(crate) const HANDSHAKES: Source = Source {
    cited: "ENG25519 (USENIX Security 2024), section 4.3",
    setup: "two machines on 10 Gbit/s; OpenSSL 1.1.1q with an ENGINE; openssl s_server; Ed25519 certificates; averages of 100 samples \
        of 10,000 connections",
};

pub(crate) const PEAKS: Source = Source {
    cited: "ENG25519 (USENIX Security 2024), section 4.4",
    setup: "two machines on 10 Gbit/s; OpenSSL 1.1.1q with an ENGINE; unbound; Ed25519 certificates; queries completed in 60 seconds",
};

pub(crate) const AWS: Source = Source {
    cited: "AWS, Round 2 hybrid post-quantum TLS benchmarks, tables 1 to 3",
    setup: "TLS 1.2, where the key exchange has messages of its own; two EC2 hosts (i3en.6xlarge, i3en.12xlarge) in different \
        availability zones, through a TCP load balancer; s2n and a Java client; RSA-2048, secp256r1; medians of 60 minutes; requests of 878 bytes \
        and responses of 698",
};

/// Connections per second (ENG25519, section 4.3).
pub(crate) const RATES: [(&str, f64); 3] =
    [("ENG25519 (X25519)", 1707.0), ("X25519", 1366.0), ("P-256", 1260.0)];

/// Queries per minute (ENG25519, section 4.4).
pub(crate) const QUERIES: [(&str, f64); 3] =
    [("ENG25519 (X25519)", 290_315.0), ("X25519", 234_875.0), ("P-256", 206_275.0)];

/// Numbers of requests of AWS tables 1 and 3.
pub(crate) const REQUESTS: [usize; 4] = [1, 2, 10, 25];

/// Milliseconds by [`REQUESTS`] (AWS table 1).
pub(crate) const LATENCY: [(&str, [f64; 4]); 4] = [
    ("ECDHE only", [10.8, 15.1, 52.6, 124.2]),
    ("ECDHE + BIKE1-CCA-L1-R2, C", [19.9, 24.4, 61.4, 133.2]),
    ("ECDHE + SIKE-P434-R2, C", [169.6, 180.3, 219.1, 288.1]),
    ("ECDHE + SIKE-P434-R2, assembly", [20.1, 24.5, 62.0, 133.3]),
];

/// Bytes of ClientHello, ServerKeyExchange, ClientKeyExchange, all other messages, and the whole
/// handshake (AWS table 2).
pub(crate) const MESSAGES: [(&str, [u32; 5]); 3] = [
    ("ECDHE only", [218, 338, 75, 2430, 3061]),
    ("ECDHE + BIKE1-CCA-L1-R2", [220, 3288, 3023, 2430, 8961]),
    ("ECDHE + SIKE-P434-R2", [214, 672, 423, 2430, 3739]),
];

/// Bytes of HTTP requests and responses, by [`REQUESTS`] (AWS table 3).
pub(crate) const HTTP: [[u32; 2]; 4] = [[878, 698], [1761, 1377], [8825, 6809], [22_070, 16_994]];

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the papers' statements about their own numbers.
    #[test]
    fn numbers_agree_with_the_text_about_them() {
        let above =
            |of: [(&str, f64); 3], other: usize| (100.0 * (of[0].1 / of[other].1 - 1.0)).round();
        assert_eq!((above(RATES, 1), above(RATES, 2)), (25.0, 35.0));
        assert_eq!((above(QUERIES, 1), above(QUERIES, 2)), (24.0, 41.0));
        for (name, bytes) in MESSAGES {
            assert_eq!(bytes[..4].iter().sum::<u32>(), bytes[4], "{name}");
        }
        let total = |name: usize| MESSAGES[name].1[4];
        assert_eq!((total(1) - total(0), total(2) - total(0)), (5900, 678));
        let more = |row: usize, column: usize| {
            (100.0 * (LATENCY[row].1[column] / LATENCY[0].1[column] - 1.0)).round()
        };
        assert_eq!((more(1, 0), more(3, 0), more(1, 3), more(3, 3)), (84.0, 86.0, 7.0, 7.0));
        assert_eq!(
            HTTP.map(|[request, response]| request + response),
            [1576, 3138, 15_634, 39_064]
        );
    }
}
