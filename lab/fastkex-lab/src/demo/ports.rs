//! Free ports, and configurations with them.

use output::Failure;

/// Ports on loopback that replace the ports in the configurations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// The page without TLS, from nginx.
    pub(crate) page: u16,
    /// nginx with TLS.
    pub(crate) nginx: u16,
    /// stunnel in front of the page.
    pub(crate) stunnel: u16,
    /// stunnel as a client, without TLS.
    pub(crate) tunnel: u16,
}

const LOOPBACK: &str = "127.0.0.1:";

impl Ports {
    /// The ports in the configurations.
    const EXAMPLE: Self = Self { page: 10080, nginx: 10443, stunnel: 11443, tunnel: 12080 };

    /// Chooses ports that are free now.
    pub(crate) fn free() -> Result<Self, Failure> {
        let [page, nginx, stunnel, tunnel] = testbed::free_ports()?;
        Ok(Self { page, nginx, stunnel, tunnel })
    }

    /// Replaces the ports in a configuration.
    pub(crate) fn fill(&self, configuration: &str) -> String {
        let mut parts = configuration.split(LOOPBACK);
        let mut filled = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (port, rest) = part.split_at(digits);
            filled += LOOPBACK;
            match port.parse().ok().and_then(|port| self.in_place_of(port)) {
                Some(port) => filled += &port.to_string(),
                None => filled += port,
            }
            filled += rest;
        }
        filled
    }

    fn in_place_of(&self, example: u16) -> Option<u16> {
        let both = |ports: &Self| [ports.page, ports.nginx, ports.stunnel, ports.tunnel];
        let index = both(&Self::EXAMPLE).iter().position(|port| *port == example)?;
        Some(both(self)[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_of_the_configurations_is_replaced() {
        let ports = Ports { page: 1, nginx: 10080, stunnel: 3, tunnel: 4 };
        for (configuration, expected) in [
            (include_str!("../../../demo/nginx.conf"), &["10080", "1"][..]),
            (include_str!("../../../demo/stunnel.conf"), &["3", "1"]),
            (include_str!("../../../demo/stunnel-client.conf"), &["4", "4", "10080"]),
        ] {
            let filled = ports.fill(configuration);
            let found: Vec<_> = filled
                .split(LOOPBACK)
                .skip(1)
                .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default())
                .collect();
            assert_eq!(found, expected);
        }
        assert_eq!(ports.fill("127.0.0.1:99 127.0.0.1:"), "127.0.0.1:99 127.0.0.1:");
    }
}
