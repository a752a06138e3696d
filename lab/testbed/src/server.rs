//! TLS servers with a port for each offer.

use std::process::Command;

use output::Failure;

use crate::version::Version;
use crate::{Listening, Offer, Program, Server, Set, Started, answers, free_port_list};

/// A process to start, with a port for each of its offers.
pub(crate) struct Process<'a> {
    /// Its name in the set, for its files.
    pub(crate) name: String,
    pub(crate) ports: Vec<(&'a Offer, u16)>,
}

impl<'a> Process<'a> {
    /// Chooses free ports.
    pub(crate) fn new(
        set: &Set,
        program: &str,
        offers: impl Iterator<Item = &'a Offer>,
    ) -> Result<Self, Failure> {
        let offers: Vec<_> = offers.collect();
        let ports = free_port_list(offers.len())?;
        Ok(Self { name: set.name(program), ports: offers.into_iter().zip(ports).collect() })
    }

    /// Returns what `service` returns for each port.
    pub(crate) fn services(&self, mut service: impl FnMut(&Offer, u16) -> String) -> String {
        self.ports.iter().map(|(offer, port)| service(offer, *port)).collect()
    }

    /// Writes its configuration and returns the name of the file.
    pub(crate) fn write(&self, set: &Set, text: &str) -> Result<String, Failure> {
        let file = format!("{}.conf", self.name);
        set.stage.write(&file, text)?;
        Ok(file)
    }

    /// Starts it and waits until all ports answer.
    pub(crate) fn start(
        &self,
        set: &Set,
        command: &mut Command,
        version: &Version,
        others: &[Program],
    ) -> Result<Vec<Listening>, Failure> {
        let ready = |_: &str| self.ports.iter().all(|&(_, port)| answers(port));
        let server: Server = set.start(&self.name, command, ready)?;
        let listening = self.ports.iter().map(|(offer, port)| Listening {
            offer: (*offer).clone(),
            port: *port,
            tls: Program { name: version.name.clone(), processes: vec![server.id()] },
            openssl: version.openssl.clone(),
            log: server.log_file().to_path_buf(),
            others: others.to_vec(),
        });
        Ok(listening.collect())
    }
}

/// Starts a server. Offers with fastkex share one process and the others share a second one, as the
/// choice of the X25519 implementation holds for a whole process. `command` writes the
/// configuration of a process and returns its command. `others` are the programs behind it.
pub(crate) fn start(
    set: &Set,
    program: &str,
    version: &Version,
    offers: &[Offer],
    others: &[Program],
    command: impl Fn(&Process<'_>) -> Result<Command, Failure>,
) -> Result<Started, Failure> {
    let mut listening: Vec<Option<Listening>> = vec![None; offers.len()];
    for uses_fastkex in [false, true] {
        let selected =
            || offers.iter().enumerate().filter(|(_, offer)| offer.uses_fastkex == uses_fastkex);
        let selected_offers: Vec<&Offer> = selected().map(|(_, offer)| offer).collect();
        if selected_offers.is_empty() {
            continue;
        }
        let process = Process::new(set, program, selected_offers.iter().copied())?;
        let openssl = set.configure(&process.name, &selected_offers, false)?;
        let mut command = command(&process)?;
        command.env("OPENSSL_CONF", openssl);
        let started = process.start(set, &mut command, version, others)?;
        for ((index, _), one) in selected().zip(started) {
            listening[index] = Some(one);
        }
    }
    Ok(Started::Listening(listening.into_iter().flatten().collect()))
}
