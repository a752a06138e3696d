//! Apache as it is installed.

use output::Failure;

use openssl_runtime::KeyType;

use crate::backend::Backend;
use crate::set::certificate_names;
use crate::user::for_this_user;
use crate::version::{self, Version};
use crate::{Offer, Set, Started, server};

/// The configuration before ports and virtual hosts, with `{folder}` for Apache's folder. Some
/// lines are [only for root](crate::for_this_user). Nothing in the file system is served.
pub const BASE: &str = "ServerRoot {folder}
DefaultRuntimeDir {folder}
PidFile apache.pid
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule socache_shmcb_module /usr/lib/apache2/modules/mod_socache_shmcb.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
%root User www-data
%root Group www-data
ServerName localhost
StartServers 1
ErrorLog /dev/stderr
<Directory />
    Require all denied
</Directory>
";

/// Starts Apache with TLS 1.3 and full handshakes only, as a proxy to a server without TLS. Offers
/// with fastkex share one process and the others share a second one, like for [`crate::nginx`].
///
/// # Errors
/// A group is unknown, or Apache or the server behind it does not start.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match version::ask(set, "apache2", "apache2-bin", "-v", "Apache/") {
        // Apache does not print the version of the OpenSSL that mod_ssl loads, which is the set's.
        Ok(version) => Version { openssl: set.libraries.version().to_string(), ..version },
        Err(absent) => return Ok(absent),
    };
    set.certificate(kind)?;
    let backend = Backend::start(set)?;
    let (certificate, key) = certificate_names(kind);
    server::start(set, "apache2", &version, offers, &[backend.program], |process| {
        let base = for_this_user(BASE)
            .replace("{folder}", &set.stage.folder().display().to_string())
            .replace("apache.pid", &format!("{}.pid", process.name));
        let hosts = process.services(|Offer { groups, .. }, port| {
            format!(
                "Listen 127.0.0.1:{port}
<VirtualHost 127.0.0.1:{port}>
    SSLEngine on
    SSLProtocol TLSv1.3
    SSLSessionTickets off
    SSLCertificateFile {certificate}
    SSLCertificateKeyFile {key}
    SSLOpenSSLConfCmd Groups {groups}
    ProxyPass / http://127.0.0.1:{}/
</VirtualHost>
",
                backend.port
            )
        });
        let file = process.write(set, &(base + &hosts))?;
        let mut command = set.stock("apache2");
        command.args(["-D", "FOREGROUND", "-d", ".", "-f", &file]);
        Ok(command)
    })
}
