//! A client for stock servers: the system's libssl with the provider.

use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use openssl_runtime::{Libraries, LibraryContext, SslContext, TlsStream, TlsVersion};

use output::Failure;

use crate::groups::{self, Group};

/// A server that is silent for this time has failed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Loads the system's libssl with its default provider and the module.
pub(crate) fn context(module: &Path) -> Result<LibraryContext, Failure> {
    let libraries = Libraries::system().map_err(Failure::about("libssl"))?;
    let context = LibraryContext::new(&libraries).map_err(Failure::about("libssl"))?;
    context.load_provider("default").map_err(Failure::about("default"))?.keep();
    let all = [(settings::GROUPS.name, settings::ALL_GROUPS)];
    let ours = context.load_provider_with(module, &all);
    ours.map_err(Failure::about(module.display()))?.keep();
    Ok(context)
}

/// Opens a TCP connection to a server on loopback.
pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Closes a TLS connection, and waits until the server has closed it, too. nginx closes without
/// close_notify once it has checked this side's Finished.
pub(crate) fn finish(mut stream: TlsStream<TcpStream>) -> Result<(), Failure> {
    stream.close().map_err(Failure::about("closing"))?;
    io::copy(&mut stream.into_inner(), &mut io::sink()).map_err(Failure::about("closing"))?;
    Ok(())
}

/// A client that offers one group.
pub(crate) struct Client {
    pub(crate) group: Group,
    context: SslContext,
}

impl Client {
    /// Makes a client that accepts certificates of this authority.
    pub(crate) fn new(
        context: &LibraryContext,
        name: &str,
        authority: &str,
    ) -> Result<Self, Failure> {
        let group = groups::named(name).ok_or_else(|| Failure::new(format!("no group {name}")))?;
        let client = SslContext::client(context)
            .and_then(|client| client.trust_pem(authority)?.groups(name));
        Ok(Self { group, context: client.map_err(Failure::about(name))?.build() })
    }

    /// Performs a full TLS 1.3 handshake with a server on loopback. It must use the group, in one
    /// round trip.
    pub(crate) fn connect(&self, port: u16) -> Result<TlsStream<TcpStream>, Failure> {
        let stream = connect(port).map_err(Failure::about("connecting"))?;
        let stream = TlsStream::new(&self.context, stream, Some("localhost"));
        let stream = stream.map_err(Failure::new)?;
        let summary = stream.summary();
        let used = summary.group.as_ref().map(|group| group.id);
        if summary.version != Some(TlsVersion::Tls13) || summary.hello_retry {
            return Err(Failure::new("not TLS 1.3 in one round trip"));
        }
        if used != Some(self.group.code_point) {
            let used = used.map_or_else(|| "no group".into(), groups::name_of);
            return Err(Failure::new(format!("{used} was used")));
        }
        Ok(stream)
    }
}
