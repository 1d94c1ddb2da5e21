//! Tables of the options of commands.
//!
//! A command describes each of its options by one row, an [`Opt`]. How the option is parsed, what `--help`
//! and the manual page say about it, and which option a misspelled word is compared with all come from that
//! row. The key of a row is a variant of an enum of the command, so an option that is not handled does not
//! compile, and one that has no row is a variant that nobody constructs.
//!
//! ```
//! use gasnet_options::{CommandTable, Opt, Style, Argument, Arguments, opt};
//!
//! #[derive(Clone, Copy, PartialEq, Debug)]
//! enum Key {
//!     Ranks,
//!     Help,
//! }
//! const COMMAND: CommandTable<Key> = CommandTable {
//!     name: "run",
//!     brief: "runs a program",
//!     about: "Runs a program on N ranks.",
//!     usage: &["run -n N PROGRAM"],
//!     options: &[
//!         opt(Key::Ranks, "-n, --ranks N", "number of ranks"),
//!         opt(Key::Help, "-h, --help", "print this text"),
//!     ],
//!     notes: "",
//!     style: Style::Gnu,
//! };
//! let mut words = Arguments::new(&COMMAND, ["--ranks=4".into(), "prog".into()]);
//! let Ok(Some(Argument::Option(found))) = words.next_argument() else { panic!() };
//! assert_eq!((found.key, found.value), (Key::Ranks, Some("4".into())));
//! assert!(COMMAND.help().contains("\n  -n, --ranks N  number of ranks\n"));
//! assert_eq!(COMMAND.unknown("--rnaks"), "unknown option '--rnaks'; did you mean '--ranks'?");
//! ```

mod page;
mod words;

pub use words::{Argument, Arguments, FoundOption};

/// The spelling of a command's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Letters after one dash, several in one word; names after two dashes.
    Gnu,
    /// Letters and names after one or two dashes, each a word of its own.
    Berkeley,
    /// The same, and a letter's value may follow it directly: `-T4`.
    Compiler,
}

/// One option, or several that the help describes together.
#[derive(Debug)]
pub struct Opt<K> {
    /// The key that the parser reports; `None` for what another parser handles, and only the help mentions.
    pub key: Option<K>,
    /// The form in the help: spellings, divided by commas or blanks, each with its value. `-n N` and
    /// `--name=V` need a value, `--name[=V]` may have one.
    pub form: &'static str,
    /// Other spellings, of which the help does not tell.
    pub also: &'static [&'static str],
    /// The description; an empty one keeps the option out of the help.
    pub about: &'static str,
}

/// A row of the table.
pub const fn opt<K: Copy>(key: K, form: &'static str, about: &'static str) -> Opt<K> {
    Opt { key: Some(key), form, also: &[], about }
}

/// A row of an option that is accepted, and that the help does not tell of.
pub const fn hidden<K: Copy>(key: K, form: &'static str) -> Opt<K> {
    opt(key, form, "")
}

/// A row of the help for what this table does not parse.
pub const fn shown<K: Copy>(form: &'static str, about: &'static str) -> Opt<K> {
    Opt { key: None, form, also: &[], about }
}

impl<K: Copy> Opt<K> {
    /// The same row with further spellings.
    pub const fn or(self, also: &'static [&'static str]) -> Opt<K> {
        Opt { key: self.key, form: self.form, also, about: self.about }
    }

    /// Whether the option has a value.
    fn takes(&self) -> Takes {
        let mut words = self.form.split([' ', ',']).filter(|word| !word.is_empty());
        if self.form.contains("[=") {
            Takes::Perhaps
        } else if self.form.contains('=') || words.any(|word| !word.starts_with('-')) {
            Takes::Value
        } else {
            Takes::Nothing
        }
    }

    /// The spellings, with their dashes.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<K> {
        let form = self.form.split([' ', ',']).filter(|word| word.starts_with('-'));
        let form = form.map(|word| word.split(['=', '[']).next().unwrap_or(word));
        form.chain(self.also.iter().copied())
    }
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// Behind `=` or the letter only.
    Perhaps,
    /// There, or the next word.
    Value,
}

/// A command and its options.
#[derive(Debug)]
pub struct CommandTable<K: 'static> {
    /// The name by which users call it.
    pub name: &'static str,
    /// A few words for lists of commands.
    pub brief: &'static str,
    /// Paragraphs at the head of the help, divided by empty lines.
    pub about: &'static str,
    /// The forms of its command line.
    pub usage: &'static [&'static str],
    /// The options, in the order of the help.
    pub options: &'static [Opt<K>],
    /// Paragraphs at the end of the help.
    pub notes: &'static str,
    /// The spelling of options.
    pub style: Style,
}

impl<K: Copy + 'static> CommandTable<K> {
    /// The spellings that two rows have, of which the second would never be found, and the lines of the help
    /// that are wider than a terminal: none, in a table without mistakes. For the tests of commands.
    pub fn mistakes(&self) -> Vec<String> {
        let mut names: Vec<&str> = self.options.iter().flat_map(Opt::names).collect();
        names.sort_unstable();
        let twice = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_string());
        let help = self.help();
        let wide = help.lines().filter(|line| line.chars().count() > 80).map(str::to_string);
        twice.chain(wide).collect()
    }

    /// The message about an option that there is not.
    pub fn unknown(&self, word: &str) -> String {
        match self.nearest(word) {
            Some(meant) => format!("unknown option '{word}'; did you mean '{meant}'?"),
            None => format!("unknown option '{word}'; see {} --help", self.name),
        }
    }

    /// The option whose spelling is similar to this word. Options that the help does not tell of count, too.
    pub fn nearest(&self, word: &str) -> Option<&'static str> {
        let bare = |name: &'static str| name.trim_start_matches('-');
        let name = word.split('=').next().unwrap_or(word).trim_start_matches('-');
        let rows = self.options.iter().filter(|row| row.key.is_some());
        let known: Vec<_> = rows.flat_map(Opt::names).filter(|known| bare(known).len() > 3).collect();
        let names: Vec<_> = known.iter().map(|known| bare(known)).collect();
        let found = nearest(name, &names)?;
        names.iter().position(|name| *name == found).map(|at| known[at])
    }
}

/// The known word that is most similar to `word`, if one is similar enough.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > 3
        && let Some(longer) = known.iter().find(|k| k.starts_with(word))
    {
        return Some(longer);
    }
    let (distance, best) = known.iter().map(|&k| (strsim::osa_distance(word, k), k)).min()?;
    (distance <= if word.len() < 6 { 1 } else { 2 }).then_some(best)
}

#[cfg(test)]
mod tests;
