//! TLS 1.3 over sntrup761 without the ENGINE: with the reference implementation in libcrypto.

mod common;

use common::{Side, groups, has_server_share, reference, stage};

const ENGINE: Side = Side::Engine("");

#[test]
fn the_reference_shakes_hands_with_the_engine_and_the_provider() {
    if reference().is_none() {
        return;
    }
    let stage = stage();
    let group = groups()[0];
    let others = [ENGINE, Side::Provider, Side::ReferenceAndEngine, Side::Reference];
    let pairs =
        others.iter().flat_map(|&other| [(Side::Reference, other), (other, Side::Reference)]);
    for (server, client) in pairs {
        let (running, port) = server.server(&stage, group.name, &["-tls1_3"]).unwrap();
        for _ in 0..3 {
            let said = client.client(&stage, port, group.name, &["-tls1_3"]).unwrap();
            let case = format!("{server:?} and {client:?}: {said}");
            assert!(said.lines().any(|line| line == "xektsaf"), "{case}");
            assert!(has_server_share(&said, group), "{case}");
        }
        assert!(has_server_share(&running.log().unwrap(), group));
    }
}

#[test]
fn sntrup857_is_left_to_the_engine() {
    if reference().is_none() {
        return;
    }
    let stage = stage();
    let (_server, port) = ENGINE.server(&stage, "sntrup857:sntrup761", &["-tls1_3"]).unwrap();
    let said = Side::Reference.client(&stage, port, "sntrup857:sntrup761", &["-tls1_3"]).unwrap();
    assert!(said.contains("Server Temp Key: sntrup761, 9264 bits"), "{said}");
    let said = Side::ReferenceAndEngine.client(&stage, port, "sntrup857", &["-tls1_3"]).unwrap();
    assert!(said.contains("Server Temp Key: sntrup857"), "{said}");
}

#[test]
fn keys_in_files_are_those_of_the_engine_and_of_the_provider() {
    if reference().is_none() {
        return;
    }
    let stage = stage();
    let run = |side: Side, arguments: &[&str]| {
        let ran = stage.run(side.openssl(&stage).unwrap().args(arguments)).unwrap();
        ran.output_of(arguments[0]).unwrap()
    };
    for maker in [Side::Reference, Side::ReferenceAndEngine, Side::Provider] {
        run(maker, &["genpkey", "-algorithm", "sntrup761", "-out", "k.pem"]);
        for more in [&["-pubout"][..], &["-text", "-noout"], &[]] {
            let arguments = [&["pkey", "-in", "k.pem"], more].concat();
            let said = run(Side::Reference, &arguments);
            for other in [Side::ReferenceAndEngine, Side::Provider] {
                assert_eq!(run(other, &arguments), said, "made by {maker:?}, {other:?}, {more:?}");
            }
        }
        stage.write("p.pem", &run(maker, &["pkey", "-in", "k.pem", "-pubout"])).unwrap();
        let public = ["pkey", "-pubin", "-in", "p.pem", "-text_pub", "-noout"];
        assert_eq!(run(Side::Reference, &public), run(Side::Provider, &public));
    }
}
