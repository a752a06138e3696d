//! OpenVPN, whose two ends are both OpenVPN: each reports by the module's counts, and the server by
//! its log.

use crate::counts::{Purpose, taken};
use crate::document::{block, replaced, without_groups};
use crate::peer::GROUP;
use crate::setup::{Setup, Way};

/// The blocks that are tested here.
pub(crate) const BLOCKS: [&str; 2] = ["openvpn-server", "openvpn-client"];

const DONE: &str = "Initialization Sequence Completed";

#[test]
fn openvpn() {
    for (way, is_ours) in [(Way::Neither, false), (Way::Configuration, true), (Way::Line, true)] {
        let Some(setup) = Setup::new("openvpn", "openvpn") else { return };
        let stage = &setup.set.stage;
        let configuration = setup.configure(way);
        let [port] = testbed::free_ports().unwrap();
        let start = |name: &str, places: &[(&str, String)]| {
            let block = block(name);
            let block = if way == Way::Line { block } else { without_groups(&block) };
            let text = replaced(&block, places)
                .replace("/etc/ssl/example", setup.path("").trim_end_matches('/'))
                .replace("/etc/ssl/certs/ca-certificates.crt", &setup.path("cert.pem"))
                .replace("example.org", "localhost");
            stage.write(&format!("{name}.conf"), &text).unwrap();
            let mut command = setup.command("openvpn");
            // No device: the test needs no right to make one.
            command.args(["--config", &format!("{name}.conf"), "--verb", "3", "--dev-type", "tun"]);
            command
                .args(["--ifconfig-noexec", "--route-noexec"])
                .env("OPENSSL_CONF", &configuration);
            stage.start(name, &mut command, |log| log.contains(DONE)).unwrap()
        };
        let device = ("dev tun", "dev null".to_owned());
        let server = start(
            "openvpn-server",
            &[device.clone(), ("port 1194", format!("local 127.0.0.1\nport {port}"))],
        );
        let client =
            start("openvpn-client", &[device, ("example.org 1194", format!("127.0.0.1 {port}"))]);
        let log = server.log().unwrap();
        let expected = if is_ours { "9728 bits X25519MLKEM768" } else { "253 bits X25519" };
        assert!(log.contains(&format!("peer temporary key: {expected}")), "{way:?}: {log}");
        for (process, purpose) in [(&server, Purpose::Encapsulations), (&client, Purpose::KeyPairs)]
        {
            assert_eq!(taken(process.id(), GROUP, purpose) > 0, is_ours, "{way:?}");
        }
    }
}
