//! The browser's own automation (W3C's WebDriver), by way of curl.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use output::Failure;
use testbed::Stage;

/// The key of an element's reference (WebDriver, section 11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// A browser may take long to start.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a browser is started, if it does not come up.
const ATTEMPTS: u32 = 3;
/// For what is left of the last one to end.
const PAUSE: Duration = Duration::from_secs(1);

/// A browser that is told what to do.
pub(crate) struct Browser<'a> {
    stage: &'a Stage,
    /// Of the session.
    address: String,
    version: String,
}

impl<'a> Browser<'a> {
    /// Has the driver on a port start GNOME Web, which is to refuse certificates that it does not
    /// trust.
    pub(crate) fn start(stage: &'a Stage, port: u16) -> Result<Self, Failure> {
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "acceptInsecureCerts": false,
            "webkitgtk:browserOptions": {"binary": "epiphany-browser", "args": ["--automation-mode"]},
        }}});
        let mut browser =
            Self { stage, address: format!("http://127.0.0.1:{port}"), version: String::new() };
        let mut started = browser.call("POST", "/session", Some(&capabilities));
        // On a busy machine the driver may ask for a window before the browser can have one.
        for _ in 1..ATTEMPTS {
            if started.is_ok() {
                break;
            }
            thread::sleep(PAUSE);
            started = browser.call("POST", "/session", Some(&capabilities));
        }
        let started = started?;
        let text = |value: &Value| value.as_str().map(str::to_string);
        let session = text(&started["sessionId"]);
        let session = session.ok_or_else(|| Failure::new(format!("WebDriver: {started}")))?;
        browser.address += &format!("/session/{session}");
        browser.version = text(&started["capabilities"]["browserVersion"]).unwrap_or_default();
        Ok(browser)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Puts the window into a corner of the screen.
    pub(crate) fn place(&self, width: u32, height: u32) -> Result<(), Failure> {
        let place = json!({"x": 0, "y": 0, "width": width, "height": height});
        self.call("POST", "/window/rect", Some(&place)).map(drop)
    }

    /// Loads a page. A page about an error is one, too.
    pub(crate) fn open(&self, address: &str) -> Result<(), Failure> {
        self.call("POST", "/url", Some(&json!({"url": address}))).map(drop)
    }

    /// Ends the browser.
    pub(crate) fn quit(&self) -> Result<(), Failure> {
        self.call("DELETE", "", None).map(drop)
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> Result<String, Failure> {
        Ok(self.call("GET", "/url", None)?.as_str().unwrap_or_default().into())
    }

    /// Clicks on the element with an id.
    pub(crate) fn click(&self, id: &str) -> Result<(), Failure> {
        let path = format!("/element/{}/click", self.find(&format!("#{id}"))?);
        self.call("POST", &path, Some(&json!({}))).map(drop)
    }

    /// The text of the first element that a CSS selector finds, as it is shown.
    pub(crate) fn text(&self, selector: &str) -> Result<String, Failure> {
        let path = format!("/element/{}/text", self.find(selector)?);
        Ok(self.call("GET", &path, None)?.as_str().unwrap_or_default().into())
    }

    fn find(&self, selector: &str) -> Result<String, Failure> {
        let wanted = json!({"using": "css selector", "value": selector});
        let found = self.call("POST", "/element", Some(&wanted))?;
        let reference = found[ELEMENT].as_str().map(str::to_string);
        reference.ok_or_else(|| Failure::new(format!("WebDriver: no element {selector}")))
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let mut curl = self.stage.stock("curl");
        curl.args(["--disable", "--noproxy", "*", "--silent", "--show-error", "--max-time", "60"])
            .args(["--request", method, "--header", "Content-Type: application/json"]);
        if let Some(body) = body {
            curl.args(["--data", &body.to_string()]);
        }
        curl.arg(format!("{}{path}", self.address));
        value_in(&self.stage.run_within(TIMEOUT, &mut curl)?.output_of("curl")?)
    }
}

/// The value in an answer (WebDriver, section 6.3), or the error.
fn value_in(answer: &str) -> Result<Value, Failure> {
    let mut answer: Value = serde_json::from_str(answer).map_err(Failure::about("WebDriver"))?;
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(error) => {
            let message = value["message"].as_str().unwrap_or_default();
            Err(Failure::new(format!("WebDriver: {error} {message}")))
        }
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_values_or_errors() {
        assert_eq!(
            value_in(r#"{"value":"https://localhost:1/"}"#).unwrap(),
            "https://localhost:1/"
        );
        assert!(value_in(r#"{"value":null}"#).unwrap().is_null());
        let refused =
            r##"{"value":{"error":"no such element","message":"#group","stacktrace":""}}"##;
        assert_eq!(value_in(refused).unwrap_err().to_string(), "WebDriver: no such element #group");
        assert!(value_in("").is_err() && value_in("Not Found").is_err());
    }
}
