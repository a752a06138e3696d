//! The browser's automation (W3C's WebDriver), by way of curl.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use output::Failure;
use testbed::Stage;

/// The key of an element reference (WebDriver, section 11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Time limit for a request. A browser may take long to start.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts to start a browser.
const ATTEMPTS: u32 = 3;
/// Time for the processes of the last attempt to end.
const PAUSE: Duration = Duration::from_secs(1);

/// A browser under automation.
pub(crate) struct Browser<'a> {
    stage: &'a Stage,
    /// The address of the session.
    address: String,
    version: String,
}

impl<'a> Browser<'a> {
    /// Lets the driver on this port start GNOME Web, which must refuse untrusted certificates.
    pub(crate) fn start(stage: &'a Stage, port: u16) -> Result<Self, Failure> {
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "acceptInsecureCerts": false,
            "webkitgtk:browserOptions": {"binary": "epiphany-browser", "args": ["--automation-mode"]},
        }}});
        let mut browser =
            Self { stage, address: format!("http://127.0.0.1:{port}"), version: String::new() };
        let mut started = browser.call("POST", "/session", Some(&capabilities));
        // On a busy machine the driver may ask for a window before the browser can open one.
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

    /// Places the window in the corner of the screen.
    pub(crate) fn place(&self, width: u32, height: u32) -> Result<(), Failure> {
        let place = json!({"x": 0, "y": 0, "width": width, "height": height});
        self.call("POST", "/window/rect", Some(&place)).map(drop)
    }

    /// Loads a page. An error page counts, too.
    pub(crate) fn open(&self, address: &str) -> Result<(), Failure> {
        self.call("POST", "/url", Some(&json!({"url": address}))).map(drop)
    }

    /// Ends the browser.
    pub(crate) fn quit(&self) -> Result<(), Failure> {
        self.call("DELETE", "", None).map(drop)
    }

    /// Returns the address of the page.
    pub(crate) fn address(&self) -> Result<String, Failure> {
        Ok(self.call("GET", "/url", None)?.as_str().unwrap_or_default().into())
    }

    /// Clicks the element with this id.
    pub(crate) fn click(&self, id: &str) -> Result<(), Failure> {
        let path = format!("/element/{}/click", self.find(&format!("#{id}"))?);
        self.call("POST", &path, Some(&json!({}))).map(drop)
    }

    /// Returns the visible text of the first element that matches a CSS selector.
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

/// Returns the value in an answer (WebDriver, section 6.3), or its error.
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
