//! From the words of a command line to options.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::{CommandTable, Opt, Style, Takes};

/// An option on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundOption<K> {
    /// The key of its row.
    pub key: K,
    /// The spelling that the user chose, without the value.
    pub written: String,
    /// Its value. An option that needs one has one.
    pub value: Option<OsString>,
}

impl<K> FoundOption<K> {
    /// The value of an option that needs one.
    pub fn value(self) -> OsString {
        self.value.unwrap_or_default()
    }

    /// The value as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        self.value.as_deref().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A piece of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument<K> {
    /// An option of the table.
    Option(FoundOption<K>),
    /// A word that is no option.
    Operand(OsString),
    /// An option that the table does not have, as written.
    Unknown(OsString),
}

/// The words of a command line that are not parsed yet.
#[derive(Debug)]
pub struct Arguments<'t, K: 'static> {
    command: &'t CommandTable<K>,
    rest: VecDeque<OsString>,
    /// `--` has been read.
    operands: bool,
}

/// The text that follows the spelling of an option in the same word.
enum Rest<'w> {
    Nothing,
    /// Behind an `=`.
    Value(&'w OsStr),
    /// Directly behind a letter.
    Glued(&'w OsStr),
}

impl<'t, K: Copy + 'static> Arguments<'t, K> {
    /// Of a command line without the program's own name.
    pub fn new(command: &'t CommandTable<K>, words: impl IntoIterator<Item = OsString>) -> Arguments<'t, K> {
        Arguments { command, rest: words.into_iter().collect(), operands: false }
    }

    /// The next piece.
    ///
    /// # Errors
    /// A message for the user, about an option without its value, or with one that it does not take.
    pub fn next_argument(&mut self) -> Result<Option<Argument<K>>, String> {
        let Some(word) = self.rest.pop_front() else { return Ok(None) };
        if word == "--" && !self.operands {
            self.operands = true;
            return self.next_argument();
        }
        if self.operands || word == "-" || !word.as_bytes().starts_with(b"-") {
            return Ok(Some(Argument::Operand(word)));
        }
        let found = find(self.command, &word);
        let Some((key, row, written, rest)) = found.and_then(|(r, w, rest)| Some((r.key?, r, w, rest)))
        else {
            return Ok(Some(Argument::Unknown(word)));
        };
        let written = written.to_string();
        let value = match (row.takes(), rest) {
            (Takes::Nothing, Rest::Value(_)) => return Err(format!("option '{written}' takes no value")),
            // Several letters in one word.
            (Takes::Nothing, Rest::Glued(more)) => {
                self.rest.push_front(OsString::from_vec([b"-", more.as_bytes()].concat()));
                None
            }
            (Takes::Nothing | Takes::Perhaps, Rest::Nothing) => None,
            (Takes::Value, Rest::Nothing) => {
                let next = self.rest.pop_front();
                Some(next.ok_or_else(|| format!("option '{written}' needs an argument"))?)
            }
            (_, Rest::Value(value) | Rest::Glued(value)) => Some(value.to_os_string()),
        };
        Ok(Some(Argument::Option(FoundOption { key, written, value })))
    }

    /// The next word, if it is one of these.
    pub fn next_if(&mut self, wanted: impl FnOnce(&OsStr) -> bool) -> Option<OsString> {
        if self.rest.front().is_some_and(|word| wanted(word)) { self.rest.pop_front() } else { None }
    }

    /// All other words, unparsed.
    pub fn rest(self) -> Vec<OsString> {
        self.rest.into()
    }
}

/// The row whose spelling a word begins with, the spelling, and what follows it.
fn find<'t, 'w, K: Copy>(
    command: &'t CommandTable<K>,
    word: &'w OsStr,
) -> Option<(&'t Opt<K>, &'w str, Rest<'w>)> {
    let bytes = word.as_bytes();
    let row = |is: &dyn Fn(&str) -> bool| command.options.iter().find(|row| row.names().any(is));
    let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (&bytes[..at], Rest::Value(OsStr::from_bytes(&bytes[at + 1..]))),
        None => (bytes, Rest::Nothing),
    };
    if let Ok(name) = std::str::from_utf8(name) {
        let found = match command.style {
            Style::Gnu => row(&|known| known == name),
            Style::Berkeley | Style::Compiler => row(&|known| bare(known) == bare(name)),
        };
        if let Some(found) = found {
            return Some((found, name, value));
        }
    }
    if bytes.starts_with(b"--") || command.style == Style::Berkeley {
        return None;
    }
    let letter = std::str::from_utf8(bytes.get(..2)?).ok()?;
    let found = row(&|known| known == letter)?;
    let bundles = command.style == Style::Gnu;
    let more = Rest::Glued(OsStr::from_bytes(&bytes[2..]));
    (bundles || found.takes() != Takes::Nothing).then_some((found, letter, more))
}

impl<K: Copy + 'static> CommandTable<K> {
    /// For what passes words on to this command: whether the value of the option that the word is, if it
    /// needs one, is in the same word. `None` if the word is no option of the table.
    pub fn in_a_word(&self, word: &OsStr) -> Option<bool> {
        let (row, _, rest) = find(self, word)?;
        match (row.takes(), rest) {
            // Several letters in one word: the last decides.
            (Takes::Nothing, Rest::Glued(more)) => {
                self.in_a_word(&OsString::from_vec([b"-", more.as_bytes()].concat()))
            }
            (Takes::Value, Rest::Nothing) => Some(false),
            _ => Some(true),
        }
    }
}

/// A spelling without its one or two dashes.
fn bare(name: &str) -> &str {
    let shorter = name.strip_prefix("--").or_else(|| name.strip_prefix('-'));
    shorter.unwrap_or(name)
}
