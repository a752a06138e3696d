//! Certificates for servers on loopback.

use output::Failure;
use testbed::Stage;

use crate::programs::Programs;

/// The authority's certificate.
pub(crate) const AUTHORITY: &str = "ca.crt";

/// Makes an authority, a certificate for localhost, and one for localhost that the authority did
/// not sign.
pub(crate) fn make(stage: &Stage, programs: &Programs) -> Result<(), Failure> {
    const CONFIGURATION: &str = "certificates.cnf";
    stage.write(CONFIGURATION, include_str!("../../demo/certificates.cnf"))?;
    let make = |name: &str, section: &str, subject: &str, issuer: &[&str]| {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
        let mut command = programs.stock(stage, "openssl");
        command
            // Replaces the system's configuration.
            .env("OPENSSL_CONF", CONFIGURATION)
            .args(["req", "-config", CONFIGURATION, "-x509", "-extensions", section])
            .args(["-subj", subject, "-days", "2", "-nodes"])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-keyout", &key, "-out", &certificate])
            .args(issuer);
        let finished = stage.run(&mut command)?;
        if finished.status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("openssl req: {}", finished.complaint())))
    };
    make("ca", "authority", "/CN=Throw-away authority", &[])?;
    make("server", "server", "/CN=localhost", &["-CA", AUTHORITY, "-CAkey", "ca.key"])?;
    make("untrusted", "server", "/CN=localhost", &[])
}
