//! The options of a task: a table, and how the command line is read by it.

use std::ffi::OsString;

use gasnet_options::{Argument, Arguments, CommandTable, Style};

/// A task and its options. `--help` belongs to all and has no row.
pub type Task<K> = CommandTable<K>;

/// A task, `name` being what is written on a command line. Its options follow.
pub const fn task<K>(
    name: &'static str,
    about: &'static str,
    usage: &'static [&'static str],
    options: &'static [gasnet_options::Opt<K>],
    notes: &'static str,
) -> Task<K> {
    CommandTable { name, brief: "", about, usage, options, notes, style: Style::Gnu }
}

/// Reads the command line of a task: `take` gets each option and operand, and may take the words behind it.
/// Returns whether to go on: not after `--help`.
///
/// # Errors
/// A message for the user, with the help.
pub fn read<K: Copy>(
    task: &'static Task<K>,
    words: Vec<OsString>,
    mut take: impl FnMut(Argument<K>, &mut Arguments<'static, K>) -> Result<(), String>,
) -> Result<bool, String> {
    let mut words = Arguments::new(task, words);
    while let Some(word) = words.next_argument()? {
        match word {
            Argument::Unknown(word) if word == "--help" || word == "-h" => {
                print!("{}", task.help());
                return Ok(false);
            }
            Argument::Unknown(word) => return Err(task.unknown(&word.to_string_lossy())),
            word => take(word, &mut words)?,
        }
    }
    Ok(true)
}

/// The message about an operand of a task that has none.
pub fn surplus(word: &OsString) -> String {
    format!("unexpected argument '{}'", word.to_string_lossy())
}

/// A message with the help of the task below it.
pub fn with_help<K: Copy>(message: &str, task: &Task<K>) -> String {
    format!("{message}\n\n{}", task.help())
}
