//! Running the system's C compiler.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The C compiler and whether to show or only show what is run.
#[derive(Clone, Debug)]
pub struct Cc {
    /// Its path.
    pub program: PathBuf,
    /// `-v`: print commands before running them.
    pub verbose: bool,
    /// `-###`: print commands, run nothing.
    pub dry_run: bool,
}

impl Cc {
    /// The C compiler: `wanted`, or the first of cc, gcc, clang on the search path.
    pub fn find(wanted: Option<&str>) -> Result<Cc, String> {
        let names: &[&str] = match wanted {
            Some(w) => &[w],
            None => &["cc", "gcc", "clang"],
        };
        let own = std::env::current_exe().ok().and_then(|e| e.canonicalize().ok());
        for n in names {
            if let Some(program) = which(n).filter(|p| p.canonicalize().ok() != own) {
                return Ok(Cc { program, verbose: false, dry_run: false });
            }
        }
        Err(match wanted {
            Some(w) => format!("the C compiler '{w}' was not found"),
            None => "no C compiler found: one of cc, gcc, clang must be on the search path".into(),
        })
    }

    /// Runs it. Standard output and error are captured as asked. `None` on a dry run.
    pub fn run(&self, args: &[OsString], out: Stdio, err: Stdio) -> Result<Option<Output>, String> {
        self.run_as(args, |c| c.stdout(out).stderr(err))
    }

    /// The same with what it prints captured, and in English whatever the locale, to be read by a program.
    pub fn run_in_english(&self, args: &[OsString]) -> Result<Option<Output>, String> {
        self.run_as(args, |c| c.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    fn run_as(
        &self,
        args: &[OsString],
        how: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Option<Output>, String> {
        if self.verbose || self.dry_run {
            let mut line = quote(self.program.as_os_str().to_string_lossy().as_ref());
            for a in args {
                line.push(' ');
                line.push_str(&quote(&a.to_string_lossy()));
            }
            eprintln!("{line}");
        }
        if self.dry_run {
            return Ok(None);
        }
        let mut command = Command::new(&self.program);
        how(command.args(args).stdin(Stdio::inherit()));
        let o = command
            .spawn()
            .and_then(|c| c.wait_with_output())
            .map_err(|e| format!("cannot run '{}': {e}", self.program.display()))?;
        Ok(Some(o))
    }
}

/// A program on the search path (or a path to one).
pub fn which(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).is_file().then(|| name.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file())
}

/// A word as a shell would need it.
pub(crate) fn quote(s: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !s.is_empty() && s.chars().all(plain) { s.into() } else { format!("'{}'", s.replace('\'', "'\\''")) }
}
