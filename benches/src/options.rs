//! The options on the command line.

use std::path::PathBuf;

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
