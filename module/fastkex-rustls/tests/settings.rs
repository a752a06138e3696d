//! Settings of the pools. In a process of its own, which has one set of pools.

mod common;

use std::time::Duration;

use common::{client, server, shake};
use fastkex_rustls::{Batch, Settings, SettingsError, configure};
use keypool::{MAX_AGES, MAX_BATCH, PAGE_NAME};

#[test]
fn settings_are_for_pools_that_are_not_in_use() {
    for size in [0, MAX_BATCH + 1] {
        let refused = configure(Settings { batch: Batch::Fixed(size), ..Settings::default() });
        assert_eq!(refused, Err(SettingsError::Batch(size)));
        let text = refused.unwrap_err().to_string();
        assert_eq!(text, format!("batch of {size} items: expected 1 to 1024"));
    }
    for max_age in [Duration::ZERO, *MAX_AGES.end() + Duration::from_secs(1)] {
        let refused = configure(Settings { max_age, ..Settings::default() });
        assert_eq!(refused, Err(SettingsError::MaxAge(max_age)));
        assert!(refused.unwrap_err().to_string().contains("expected 1s to 86400s"));
    }
    // Nothing to erase yet.
    fastkex_rustls::flush();

    let settings = Settings { batch: Batch::Fixed(7), statistics: true, ..Settings::default() };
    configure(settings).unwrap();
    let (client, server) = (client(&["X25519MLKEM768"]), server(&["X25519MLKEM768"]));
    shake(&client, &server).unwrap();
    if cfg!(target_os = "linux") {
        // Where `fastkex stats` looks for the counts.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains(&format!("/memfd:{PAGE_NAME}")), "{maps}");
    }
    assert_eq!(configure(settings), Ok(()));
    assert_eq!(configure(Settings::default()), Err(SettingsError::InUse));
    fastkex_rustls::flush();
    shake(&client, &server).unwrap();
}
