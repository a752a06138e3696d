//! Firefox by Marionette, its own automation: commands in JSON over TCP.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};

use serde_json::{Value, json};

use output::Failure;

use super::messages::{Framing, Messages, TIMEOUT};
use super::{Automation, BrowserKind, Launched, Loaded};
use crate::Stage;

/// Access to the browser's own scripts, where the group is, has to be allowed.
const ARGUMENTS: [&str; 5] =
    ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile"];
/// Settings: a free port, no cache, no test of the network.
const SETTINGS: &str = "user_pref(\"marionette.port\", 0);
user_pref(\"browser.cache.disk.enable\", false);
user_pref(\"browser.cache.memory.enable\", false);
user_pref(\"network.captive-portal-service.enabled\", false);
user_pref(\"network.connectivity-service.enabled\", false);
user_pref(\"network.proxy.type\", 0);
";
/// The file in the profile in which Firefox writes the port.
const PORT: &str = "MarionetteActivePort";
/// Returns status and text of the page.
const PAGE: &str = "return [performance.getEntriesByType('navigation')[0].responseStatus,
    document.body.textContent];";
/// Returns the address of the page, and the group of its connection (nsITransportSecurityInfo).
const GROUP: &str = "const page = window.gBrowser.selectedBrowser;
    return [page.currentURI.spec, page.securityUI.secInfo.keaGroupName];";

/// A connection to Firefox.
struct Firefox {
    messages: Messages<TcpStream>,
    /// The number of the last command.
    last: u64,
    version: String,
}

/// Starts Firefox with an empty page.
pub(super) fn start(stage: &Stage, kind: BrowserKind) -> Result<Launched, Failure> {
    let mut command = stage.stock(kind.program());
    let home = stage.at_home(kind.program(), &mut command)?;
    let profile = home.join("profile");
    fs::create_dir_all(&profile)
        .and_then(|()| fs::write(profile.join("user.js"), SETTINGS))
        .map_err(Failure::about(profile.display()))?;
    command.args(ARGUMENTS).arg(&profile).env("MOZ_CRASHREPORTER_DISABLE", "1");
    let port = || fs::read_to_string(profile.join(PORT)).ok()?.trim().parse::<u16>().ok();
    let server = stage.start(kind.program(), &mut command, |_| port().is_some())?;
    let firefox = port().ok_or_else(|| Failure::new(format!("no port in {PORT}")));
    let firefox = firefox.and_then(Firefox::new);
    Ok((server, firefox.map(|firefox| Box::new(firefox) as _)))
}

impl Firefox {
    fn new(port: u16) -> Result<Self, Failure> {
        let connect = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(stream)
        };
        let stream = connect().map_err(|error: std::io::Error| {
            Failure::new(format!("Marionette, port {port}: {error}"))
        })?;
        let messages = Messages::new(stream, Framing::Length);
        let mut firefox = Self { messages, last: 0, version: String::new() };
        let greeting = firefox.messages.wait_for("greeting of Marionette", Some)?;
        if greeting["marionetteProtocol"] != 3 {
            return Err(Failure::new(format!("expected Marionette's protocol 3, got {greeting}")));
        }
        let session = firefox.call("WebDriver:NewSession", json!({"acceptInsecureCerts": true}))?;
        let version = session["capabilities"]["browserVersion"].as_str();
        firefox.version = version.unwrap_or_default().into();
        Ok(firefox)
    }

    /// Sends a command and returns its result: `[1, number, error, result]`.
    fn call(&mut self, command: &str, parameters: Value) -> Result<Value, Failure> {
        self.last += 1;
        let number = self.last;
        self.messages.send(&json!([0, number, command, parameters]))?;
        let mut answer = self.messages.wait_for(&format!("answer to {command}"), |message| {
            (message[0] == 1 && message[1] == number).then_some(message)
        })?;
        if answer[2].is_null() {
            return Ok(answer[3].take());
        }
        let [error, message] =
            ["error", "message"].map(|key| answer[2][key].as_str().unwrap_or_default());
        Err(Failure::new(format!("{command}: {error} {message}").trim_end()))
    }

    /// Runs a script in the page (`content`) or in the browser (`chrome`), and returns the two
    /// values that it returns.
    fn run(&mut self, context: &str, script: &str) -> Result<[Value; 2], Failure> {
        self.call("Marionette:SetContext", json!({"value": context}))?;
        let mut result =
            self.call("WebDriver:ExecuteScript", json!({"script": script, "args": []}))?;
        Ok([0, 1].map(|index| result["value"][index].take()))
    }
}

impl Automation for Firefox {
    fn version(&self) -> &str {
        &self.version
    }

    fn load(&mut self, address: &str) -> Result<Loaded, Failure> {
        let about = |failure| Failure::about(address)(failure);
        self.call("Marionette:SetContext", json!({"value": "content"}))?;
        self.call("WebDriver:Navigate", json!({"url": address})).map_err(about)?;
        let [status, page] = self.run("content", PAGE).map_err(about)?;
        let [shown, group] = self.run("chrome", GROUP).map_err(about)?;
        match (page.as_str(), group.as_str()) {
            (Some(page), Some(group)) if status == 200 && shown == *address => {
                Ok(Loaded { page: page.into(), group: group.into() })
            }
            _ => Err(about(Failure::new(format!(
                "the browser shows {shown} with status {status} and group {group}"
            )))),
        }
    }
}
