//! OpenVPN, whose two ends are both OpenVPN: each reports by the module's counts, and the server by
//! its log.

use crate::counts::{Purpose, taken};
use crate::document::{block, replaced, without_groups};
use crate::peer::GROUP;
use crate::setup::{Setup, Way};

/// The blocks that are tested here.
pub(crate) const BLOCKS: [&str; 2] = ["openvpn-server", "openvpn-client"];

/// Lines of its log.
const WAITS: &str = "UDPv4 link remote: [AF_UNSPEC]";
const DONE: &str = "Initialization Sequence Completed";

#[test]
fn openvpn() {
    for (way, is_ours) in [(Way::Neither, false), (Way::Configuration, true), (Way::Line, true)] {
        let Some(setup) = Setup::new("openvpn", "openvpn") else { return };
        let stage = &setup.set.stage;
        let configuration = setup.configure(way);
        let [port] = testbed::free_ports().unwrap();
        // Neither end has a device, so that the test needs no right to make one. Without devices
        // there are no addresses to give, and both ends are on a par.
        let start = |name: &str, ready: &str, places: &[(&str, &str)]| {
            let block = block(name);
            let block = if way == Way::Line { block } else { without_groups(&block) };
            let places = places.iter().chain(&[("dev tun", "dev null")]);
            let places: Vec<_> = places.map(|(from, to)| (*from, (*to).to_owned())).collect();
            let text = replaced(&block, &places)
                .replace("/etc/ssl/example", setup.path("").trim_end_matches('/'))
                .replace("/etc/ssl/certs/ca-certificates.crt", &setup.path("cert.pem"))
                .replace("example.org", "localhost");
            stage.write(&format!("{name}.conf"), &text).unwrap();
            let mut command = setup.command("openvpn");
            command.args(["--config", &format!("{name}.conf"), "--verb", "3"]);
            command.env("OPENSSL_CONF", &configuration);
            stage.start(name, &mut command, |log| log.contains(ready)).unwrap()
        };
        let listen = format!("local 127.0.0.1\nport {port}");
        let places = [("port 1194", &listen[..]), ("server 10.8.0.0 255.255.255.0", "tls-server")];
        let server = start("openvpn-server", WAITS, &places);
        let remote = format!("127.0.0.1 {port}");
        let places = [("client\n", "tls-client\n"), ("example.org 1194", &remote)];
        let client = start("openvpn-client", DONE, &places);
        let is_done = testbed::wait_for(|| server.log().unwrap().contains(DONE).then_some(()));
        assert!(is_done.is_some(), "{way:?}: {}", server.log().unwrap());
        let log = server.log().unwrap();
        let expected = if is_ours { "9728 bits X25519MLKEM768" } else { "253 bits X25519" };
        assert!(log.contains(&format!("peer temporary key: {expected}")), "{way:?}: {log}");
        for (process, purpose) in [(&server, Purpose::Encapsulations), (&client, Purpose::KeyPairs)]
        {
            assert_eq!(taken(process.id(), GROUP, purpose) > 0, is_ours, "{way:?}");
        }
    }
}
