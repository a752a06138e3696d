//! A server that shakes hands and does no more.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use clap::Args;
use openssl_runtime::{Certificate, SslContext, TlsStream};

use cli::{Failure, Outcome};
use stage::{Stage, processor};

use super::plan::{self, Listener, Plan, Ready};
use super::{Answering, ServerKind, role};

/// The server of `ceiling`
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct CeilingServer {
    plan: PathBuf,
}

/// Starts it with the plan's OpenSSL.
pub(crate) fn start(stage: &Stage, plan: &Plan) -> Result<Answering, Failure> {
    let ready = |log: &str| -> Option<Ready> { serde_json::from_str(log.lines().last()?).ok() };
    let mut command = role(stage, "ceiling-server", plan)?;
    let server = stage.start("minimal server", &mut command, |log| ready(log).is_some())?;
    let Some(Ready { openssl, listeners }) = ready(&server.log()?) else {
        return Err(Failure::new("the minimal server is not ready"));
    };
    let (kind, name) = (ServerKind::Minimal, "minimal server".into());
    Ok(Answering { kind, name, openssl, process: server.id(), listeners })
}

impl CeilingServer {
    /// A port and a thread for each certificate and group; does not return.
    pub(crate) fn run(&self) -> Outcome {
        let plan: Plan = plan::read(&self.plan)?;
        processor::stay_on(plan.core)?;
        let contexts = plan.contexts().map_err(Failure::new)?;
        let groups = plan::known(&contexts.stock);
        let mut listeners = Vec::new();
        for files in &plan.certificates {
            for contestant in &groups {
                let context = contexts.of(contestant);
                let certificate =
                    Certificate::from_pem_files(context, &files.certificate, &files.key, None);
                let certificate = certificate.map_err(Failure::about(&files.name))?;
                let settings = SslContext::server(context, &certificate)
                    .and_then(|settings| settings.groups(contestant.group.name))
                    .map_err(Failure::about(contestant.group.name))?
                    .build();
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
                let listener = listener.map_err(Failure::about("a port"))?;
                let address = listener.local_addr().map_err(Failure::about("a port"))?;
                listeners.push(Listener {
                    certificate: files.name.clone(),
                    label: contestant.label.into(),
                    port: address.port(),
                });
                thread::spawn(move || {
                    for stream in listener.incoming().flatten() {
                        serve(&settings, stream);
                    }
                });
            }
        }
        let ready = Ready { openssl: contexts.stock.libraries().version().to_string(), listeners };
        println!("{}", serde_json::to_string(&ready).map_err(Failure::new)?);
        loop {
            thread::park();
        }
    }
}

/// Shakes hands, waits for the client's end, and closes. If anything is wrong the client sees it, too.
fn serve(settings: &SslContext, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    if let Ok(mut stream) = TlsStream::new(settings, stream, None) {
        let _ = stream.read(&mut [0]);
    }
}
