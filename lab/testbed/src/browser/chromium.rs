//! Chromium by its DevTools protocol. A pipe carries it, so no port is open to others, and Chromium
//! ends when this process does.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use output::Failure;

use super::messages::{Framing, Messages, TIMEOUT};
use super::{Automation, BrowserKind, Launched, Loaded};
use crate::Stage;

/// Gives a program the protocol's two files, 3 and 4, both of which are this socket.
const SHELL: &str = "exec \"$@\" 3<&0 4>&0 </dev/null";
/// Root and some containers cannot have Chromium's sandbox. It is not needed for pages of servers
/// on loopback. The rest keeps Chromium from the network.
const ARGUMENTS: [&str; 11] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--ignore-certificate-errors",
    "--no-first-run",
    "--no-proxy-server",
];

/// A connection to Chromium.
struct Chromium {
    messages: Messages<UnixStream>,
    /// The number of the last command.
    last: u64,
    /// The session of the one page, once there is one.
    session: Option<String>,
    /// Events that came before the answer to a command.
    events: VecDeque<Value>,
    version: String,
}

/// Starts Chromium with an empty page.
pub(super) fn start(stage: &Stage, kind: BrowserKind) -> Result<Launched, Failure> {
    let (ours, theirs) = UnixStream::pair().map_err(Failure::about("socket"))?;
    let mut command = stage.stock("sh");
    let home = stage.at_home(kind.program(), &mut command)?;
    command
        .args(["-c", SHELL, "sh", kind.program()])
        .args(ARGUMENTS)
        .arg(format!("--user-data-dir={}", home.join("profile").display()))
        .arg("about:blank")
        .stdin(OwnedFd::from(theirs));
    let server = stage.start(kind.program(), &mut command, |_| true)?;
    // It holds the other end of the socket, which must be closed when Chromium ends.
    drop(command);
    Ok((server, Chromium::new(ours).map(|chromium| Box::new(chromium) as _)))
}

impl Chromium {
    fn new(stream: UnixStream) -> Result<Self, Failure> {
        stream
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)))
            .map_err(Failure::about("socket"))?;
        let mut chromium = Self {
            messages: Messages::new(stream, Framing::Zero),
            last: 0,
            session: None,
            events: VecDeque::new(),
            version: String::new(),
        };
        let version = chromium.call("Browser.getVersion", json!({}))?;
        // `Chrome/156.0.8078.79`
        let product = text_in(&version, "/product")?;
        chromium.version = product.rsplit('/').next().unwrap_or_default().into();
        let page = chromium.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let page = json!({"targetId": page["targetId"], "flatten": true});
        let session = chromium.call("Target.attachToTarget", page)?;
        chromium.session = Some(text_in(&session, "/sessionId")?);
        chromium.call("Network.enable", json!({}))?;
        chromium.call("Network.setCacheDisabled", json!({"cacheDisabled": true}))?;
        Ok(chromium)
    }

    /// Sends a command and returns its result.
    fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Failure> {
        self.last += 1;
        let id = self.last;
        let mut command = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.messages.send(&command)?;
        let events = &mut self.events;
        let mut answer = self.messages.wait_for(&format!("answer to {method}"), |message| {
            if message["id"] == id {
                return Some(message);
            }
            events.push_back(message);
            None
        })?;
        match answer["error"]["message"].as_str() {
            Some(error) => Err(Failure::new(format!("{method}: {error}"))),
            None => Ok(answer["result"].take()),
        }
    }

    /// Returns the response with a page, once the page is complete.
    fn response(&mut self, request: &Value) -> Result<Value, Failure> {
        let mut response = Value::Null;
        let mut choose = |mut event: Value| {
            let parameters = &mut event["params"];
            if parameters["requestId"] != *request {
                return None;
            }
            let error = parameters["errorText"].as_str().unwrap_or_default().to_owned();
            let received = parameters["response"].take();
            match event["method"].as_str()? {
                "Network.responseReceived" => response = received,
                "Network.loadingFailed" => return Some(Err(Failure::new(error))),
                "Network.loadingFinished" => return Some(Ok(response.take())),
                _ => {}
            }
            None
        };
        for event in self.events.drain(..) {
            if let Some(response) = choose(event) {
                return response;
            }
        }
        self.messages.wait_for("end of the page", choose)?
    }
}

impl Automation for Chromium {
    fn version(&self) -> &str {
        &self.version
    }

    fn load(&mut self, address: &str) -> Result<Loaded, Failure> {
        self.events.clear();
        let about = |failure| Failure::about(address)(failure);
        let started = self.call("Page.navigate", json!({"url": address}))?;
        if let Ok(error) = text_in(&started, "/errorText") {
            return Err(about(Failure::new(error)));
        }
        // The request of a page has the name of its loader.
        let request = started["loaderId"].clone();
        let response = self.response(&request).map_err(about)?;
        if response["status"] != 200 {
            return Err(about(Failure::new(format!("status {}", response["status"]))));
        }
        let group = text_in(&response, "/securityDetails/keyExchangeGroup").map_err(about)?;
        let body = self.call("Network.getResponseBody", json!({"requestId": request}))?;
        Ok(Loaded { page: text_in(&body, "/body")?, group })
    }
}

/// Returns the text at a place in a message.
fn text_in(message: &Value, place: &str) -> Result<String, Failure> {
    let text = message.pointer(place).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("no {place} in {message}")))
}
