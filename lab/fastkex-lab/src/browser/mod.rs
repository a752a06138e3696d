//! `fastkex-lab demo-browser`: stock GNOME Web with the provider, and a page that shows the group
//! of its connection.

mod backend;
pub(crate) mod page;
mod picture;
mod prerequisites;
mod screen;
mod session;
mod site;
mod webdriver;

use std::path::{Path, PathBuf};

use clap::Args;

use output::{Failure, Outcome};
use testbed::Stage;

use screen::{Screen, SocketFolder};
use session::Session;
use site::Site;

use crate::programs::Programs;
use crate::say;

/// The groups of the demonstration, each with a port (`lab/demo/browser-stunnel.conf`) and the
/// colour of its page.
pub(crate) const SHOWN: [Shown; 3] = [
    Shown { group: "sntrup761", colour: [0x1a, 0x5f, 0xb4] },
    Shown { group: "sntrup857", colour: [0x61, 0x35, 0x83] },
    Shown { group: "X25519SNTRUP761", colour: [0x26, 0x5c, 0x3b] },
];

/// A group, and the colour that identifies its page in a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) group: &'static str,
    colour: [u8; 3],
}

/// Show stock GNOME Web with post-quantum key exchange
///
/// Starts stunnel in front of Apache on loopback, and GNOME Web on a display in memory, with a home
/// folder of its own. Loads a page, follows its links to other ports, and reads from each page the
/// group that stunnel logged for the page's own connection. The module in the browser's TLS process
/// counts the key pairs. The browser must refuse a port with an untrusted certificate. Leaves only
/// a picture of each page. The first time, glib-networking's OpenSSL backend is built from its
/// source, which is downloaded. Exits with 0 if all pages came with the right group, with 1 if one
/// did not, with 2 if the demonstration could not run.
#[derive(Args, Debug)]
pub(crate) struct DemoBrowser {
    /// Folder for pictures [default: demo-browser in cargo's target folder]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The source of glib-networking, if it is not to be fetched
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
}

/// The result of one page.
struct PageResult {
    shown: Shown,
    /// The group in the page.
    page_group: String,
    /// The number of the group's key pairs that the browser made for the page.
    made: u64,
    /// The file of the picture.
    picture: PathBuf,
}

impl DemoBrowser {
    pub(crate) fn run(&self) -> Outcome {
        prerequisites::check(&backend::folder())?;
        let programs = Programs::build()?;
        // Dropped last, after the X server.
        let _sockets = SocketFolder::before();
        // Apache may run as another user, which needs access to the servers' folder. The browser's
        // folder stays private.
        let (servers, stage) = (Stage::new()?, Stage::new()?);
        let backend = backend::provide(&stage, self.source.as_deref())?;
        let output = match &self.output {
            Some(folder) => folder.clone(),
            None => artifacts::target_folder().join("demo-browser"),
        };
        std::fs::create_dir_all(&output).map_err(Failure::about(output.display()))?;

        let site = Site::start(&servers, &programs)?;
        let screen = Screen::start(&stage)?;
        let session = Session::start(&stage, &programs, &screen, &backend, &site.authority())?;
        say(format_args!(
            "Post-quantum key exchange in a browser that knows nothing of it\n\n\
             GNOME Web {}, stunnel {} and Apache {} are as installed. The browser and stunnel are\n\
             started by 'fastkex run'; GNOME's TLS is glib-networking {}'s OpenSSL backend, unmodified.\n",
            session.version(),
            site.stunnel_version(),
            site.apache_version(),
            backend::VERSION
        ))?;
        let results = load_pages(&site, &session, &screen, &output)?;
        say("\n\
             The page is made by a program that Apache runs. It looks for Apache's REMOTE_PORT in stunnel's log\n\
             and finds there the size of the client's key share on this very connection, which differs from\n\
             group to group.\n\
             What the browser's TLS process has loaded:")?;
        for file in session.loaded()? {
            say(format_args!("    {}", file.display()))?;
        }
        let address = site.untrusted();
        session.open(&address)?;
        let refused = site.got_nothing() && session.group_now().is_none();
        session.end();
        conclude(&results, refused)
    }
}

/// Loads the first page by its address and the others by links, and prints a line for each.
fn load_pages(
    site: &Site,
    session: &Session,
    screen: &Screen,
    output: &Path,
) -> Result<Vec<PageResult>, Failure> {
    say(format_args!(
        "{:17}{:17}{:11}{:26}picture",
        "port for", "page says", "key pairs", "address"
    ))?;
    let mut results = Vec::new();
    for (index, shown) in SHOWN.into_iter().enumerate() {
        let address = site.address(shown.group)?;
        let before = session.made(shown.group);
        if index == 0 {
            session.open(&address)?;
        } else {
            session.follow(&page::link_id(shown.group))?;
        }
        let page_group = session.group_on_page(&address)?;
        let made = session.made(shown.group).saturating_sub(before);
        let picture = output.join(format!("{}.png", shown.group));
        screen.picture_with(shown.colour)?.save(&picture)?;
        let (group, file) = (shown.group, picture.display());
        say(format_args!("{group:17}{page_group:17}{made:<11}{address:26}{file}"))?;
        results.push(PageResult { shown, page_group, made, picture });
    }
    Ok(results)
}

/// Prints the conclusion and returns true if there was no error.
fn conclude(results: &[PageResult], refused: bool) -> Outcome {
    say("")?;
    let mut all_well = results.len() == SHOWN.len() && refused;
    for PageResult { shown, page_group, made, picture } in results {
        let (group, picture) = (shown.group, picture.display());
        if page_group != group {
            all_well = false;
            say(format_args!("WRONG: the page for {group} came with {page_group} ({picture})"))?;
        } else if *made == 0 {
            all_well = false;
            say(format_args!("WRONG: the browser made no key pair of {group} for its page"))?;
        }
    }
    if !refused {
        say("WRONG: the browser did not refuse a certificate that it has no reason to trust")?;
    }
    if all_well {
        say(
            "All pages came with the group they should, by the server's word and the browser's;\n\
             the one with an untrusted certificate did not come.",
        )?;
    }
    Ok(all_well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_a_port_and_a_colour_of_its_own() {
        let configuration = include_str!("../../../demo/browser-stunnel.conf");
        for (index, shown) in SHOWN.iter().enumerate() {
            assert!(configuration.contains(&format!("\ncurves = {}\n", shown.group)));
            assert!(configuration.contains(&format!("127.0.0.1:@{}@\n", shown.group)));
            assert!(SHOWN[..index].iter().all(|other| other.colour != shown.colour));
        }
    }

    #[test]
    fn a_page_with_another_group_is_not_well() {
        let results = |last: &str, made: u64| {
            SHOWN.map(|shown| PageResult {
                shown,
                page_group: if shown.group == SHOWN[2].group { last } else { shown.group }.into(),
                made,
                picture: PathBuf::new(),
            })
        };
        let well = results(SHOWN[2].group, 1);
        assert!(conclude(&well, true).unwrap());
        assert!(!conclude(&well, false).unwrap());
        assert!(!conclude(&well[1..], true).unwrap());
        assert!(!conclude(&results("X25519", 1), true).unwrap());
        assert!(!conclude(&results(SHOWN[2].group, 0), true).unwrap());
    }
}
