//! Where options come from besides the command line: configuration files, environment variables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options that the user keeps in an environment variable; they come before those of the command line.
pub fn from_environment(name: &str) -> Vec<OsString> {
    let text = std::env::var(name).unwrap_or_default();
    split_words(&text).into_iter().map(OsString::from).collect()
}

/// The words of `default_options` in the configuration files of a tool: those of the installation (or `conf`
/// instead), then the user's.
pub fn from_files(tool: &str, etc: &Path, conf: Option<&Path>, norc: bool) -> Result<Vec<OsString>, String> {
    let mut words = Vec::new();
    for (path, must) in conf_files(tool, etc, conf, norc) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if must => return Err(format!("cannot read '{}': {e}", path.display())),
            Err(_) => continue,
        };
        // A backslash at the end joins lines. Other settings are of compilers that are installed otherwise.
        for line in text.replace("\\\n", " ").lines() {
            if let Some((name, value)) = line.split_once('=')
                && name.trim() == "default_options"
            {
                words.extend(split_words(value.trim()).into_iter().map(OsString::from));
            }
        }
    }
    Ok(words)
}

/// Configuration files of a tool, and whether they must be there.
pub fn conf_files(tool: &str, etc: &Path, conf: Option<&Path>, norc: bool) -> Vec<(PathBuf, bool)> {
    let mut files =
        vec![conf.map_or_else(|| (etc.join(format!("{tool}.conf")), false), |c| (c.to_path_buf(), true))];
    let off = std::env::var_os(format!("{}_NORC", tool.to_uppercase())).is_some_and(|v| !v.is_empty());
    if let Some(home) = std::env::var_os("HOME").filter(|h| !h.is_empty())
        && !norc
        && !off
    {
        files.push((PathBuf::from(home).join(format!(".{tool}rc")), false));
    }
    files
}

/// Words of a response file: blanks separate, quotes and backslashes as in a shell.
pub fn split_words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut cur: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (q, '\\') if q != Some('\'') => cur.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => cur.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                cur.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => out.extend(cur.take()),
            (None, c) => cur.get_or_insert_default().push(c),
        }
    }
    out.extend(cur);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_files_split_like_a_shell() {
        assert_eq!(split_words("-c 'a b' \"c\\\"d\" e\\ f\n"), ["-c", "a b", "c\"d", "e f"]);
    }

    #[test]
    fn files_are_read_in_order() {
        let dir = std::env::temp_dir().join(format!("upcc-conf-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (etc, mine) = (dir.join("upcx.conf"), dir.join("mine.conf"));
        std::fs::write(&etc, "# a comment\nconduits = smp udp\ndefault_options = -O3 \\\n  '-DX=a b'\n")
            .unwrap();
        std::fs::write(&mine, "default_options=-T4").unwrap();
        let read = |conf| from_files("upcx", &dir, conf, true).map(|w| format!("{w:?}"));
        assert_eq!(read(None).unwrap(), r#"["-O3", "-DX=a b"]"#);
        assert_eq!(read(Some(&mine)).unwrap(), r#"["-T4"]"#);
        assert!(read(Some(&dir.join("none"))).unwrap_err().contains("none"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
