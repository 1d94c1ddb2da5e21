//! The options of programs that print figures.

use std::path::{Path, PathBuf};

/// The options on the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The sets of figures.
    pub sets: Vec<String>,
    /// One JSON object a line instead of tables.
    pub json: bool,
    /// Where the tools are installed.
    pub prefix: PathBuf,
    /// Where programs are built.
    pub scratch: PathBuf,
    /// Runs of each program.
    pub rounds: usize,
    /// Only figures with one of these in their names, if there are any.
    pub filters: Vec<String>,
    /// Small arrays and fewer rounds: to see that everything runs.
    pub quick: bool,
    /// Only the names.
    pub list: bool,
}

/// Reads the command line: sets out of `sets`, of which `usual` are meant if there is none. `--help` prints
/// `help` and ends the program.
///
/// # Errors
/// An option or a set that there is not, or a wrong value.
pub fn read(sets: &[&str], usual: &[&str], help: &str) -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    // This program runs from the folder `release` of cargo's build output, wherever that is.
    let own = std::env::current_exe().ok();
    let target = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target");
    let target = target.map_or(built, Path::to_path_buf);
    let mut options =
        Options { prefix: target.join("stage"), scratch: target.join("bench"), ..Options::default() };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("json") => options.json = true,
            Long("prefix") => options.prefix = parser.value()?.into(),
            Long("scratch") => options.scratch = parser.value()?.into(),
            Long("rounds") => {
                let value = parser.value()?.string()?;
                options.rounds =
                    value.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(|| {
                        format!("--rounds: '{value}' is not a number of rounds; use 1 or more")
                    })?;
            }
            Long("filter") => options.filters.push(parser.value()?.string()?),
            Long("quick") => options.quick = true,
            Long("list") => options.list = true,
            Long("help") | Short('h') => {
                print!("{help}");
                std::process::exit(0);
            }
            Value(set) if sets.iter().any(|known| set == *known) => options.sets.push(set.string()?),
            Value(set) => return Err(format!("there is no set '{}'", set.to_string_lossy()).into()),
            other => return Err(other.unexpected()),
        }
    }
    if options.sets.is_empty() {
        options.sets = usual.iter().map(|set| set.to_string()).collect();
    }
    if options.rounds == 0 {
        options.rounds = if options.quick { 1 } else { 5 };
    }
    Ok(options)
}
