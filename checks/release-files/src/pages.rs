//! Man pages and completions, made of the command line's definition.

use std::fs;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use output::Failure;
use time::OffsetDateTime;

/// The environment variable with the time of a release, in seconds since 1970:
/// <https://reproducible-builds.org/specs/source-date-epoch/>.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Writes a man page of the command and of each of its subcommands at any level, and completions
/// for shells.
///
/// # Errors
/// A file cannot be written, or the time of the release is not a number.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    let mut command = fastkex::command();
    command.build();
    let date = match std::env::var(EPOCH) {
        Ok(seconds) => date(&seconds)?,
        Err(_) => String::new(),
    };
    let release = format!("fastkex {}", command.get_version().unwrap_or_default());

    let pages = folder.join("man1");
    created(&pages)?;
    for described in with_subcommands(&command) {
        let page = Man::new(described.clone())
            .date(&date)
            .source(&release)
            .manual("User Commands")
            .generate_to(&pages);
        page.map_err(Failure::about(pages.display()))?;
    }
    for (name, shell) in [("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)] {
        let folder = folder.join(name);
        clap_complete::generate_to(shell, &mut command, "fastkex", created(&folder)?)
            .map_err(Failure::about(folder.display()))?;
    }
    Ok(())
}

/// Returns a command and all commands below it.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    std::iter::once(command).chain(shown.flat_map(with_subcommands)).collect()
}

/// Makes a folder and returns it.
fn created(folder: &Path) -> Result<&Path, Failure> {
    fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
    Ok(folder)
}

/// Returns the day of a time in seconds since 1970, in UTC: `2026-01-31`.
fn date(seconds: &str) -> Result<String, Failure> {
    let time = seconds.parse().ok().and_then(|it| OffsetDateTime::from_unix_timestamp(it).ok());
    let time = time.ok_or_else(|| {
        Failure::new(format!("{EPOCH}: '{seconds}': expected a number of seconds since 1970"))
    })?;
    Ok(time.date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(date("0").unwrap(), "1970-01-01");
        assert_eq!(date("951827696").unwrap(), "2000-02-29");
        for wrong in ["", "yesterday", "1.5", "99999999999999999"] {
            let failure = date(wrong).unwrap_err().to_string();
            assert!(failure.contains(EPOCH) && failure.contains(wrong), "{failure}");
        }
    }

    /// Each subcommand and each of its options is in a page and in each shell's completions.
    #[test]
    fn everything_is_described() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let completions = ["bash/fastkex.bash", "zsh/_fastkex", "fish/fastkex.fish"].map(read);
        let mut command = fastkex::command();
        command.build();
        let mut options = 0;
        for described in with_subcommands(&command) {
            // The command itself has none.
            let name = described.get_display_name().unwrap_or("fastkex");
            let page = read(&format!("man1/{name}.1"));
            assert!(page.contains(&format!("\n.TH {name} 1 ")), "{page}");
            for subcommand in described.get_subcommands() {
                let reference = format!("{name}-{}(1)", subcommand.get_name());
                assert!(page.contains(&reference.replace('-', "\\-")), "{reference}: {page}");
                for text in &completions {
                    assert!(text.contains(subcommand.get_name()), "{name}");
                }
            }
            for option in described.get_arguments().filter_map(|option| option.get_long()) {
                let in_page = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(page.contains(&in_page), "{name}: {option}: {page}");
                assert!(completions[..2].iter().all(|text| text.contains(&format!("--{option}"))));
                assert!(completions[2].contains(&format!("-l {option}")), "{name}: {option}");
                options += 1;
            }
        }
        assert!(options > 20, "{options}");
    }
}
