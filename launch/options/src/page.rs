//! The help of a command, and its manual page.

use crate::{CommandTable, Opt};
use std::fmt::Write;

/// Columns of a terminal.
const COLUMNS: usize = 80;
/// Longest form of an option whose description begins beside it.
const BESIDE: usize = 22;

/// Words in lines that are no longer than `width`, each with its indent, the first without.
fn fill(text: &str, width: usize, indent: usize) -> String {
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

/// The paragraphs of a text. One that begins with a blank keeps its lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty())
}

impl<K: Copy + 'static> CommandTable<K> {
    /// The rows that the help tells of.
    fn described(&self) -> impl Iterator<Item = &Opt<K>> {
        self.options.iter().filter(|row| !row.about.is_empty())
    }

    /// The text of `--help`, at most 80 columns wide.
    pub fn help(&self) -> String {
        let mut text = String::new();
        for paragraph in paragraphs(self.about) {
            text += &filled(paragraph);
            text.push('\n');
        }
        for (number, line) in self.usage.iter().enumerate() {
            let head = if number == 0 { "usage: " } else { "       " };
            let _ = writeln!(text, "{head}{}", fill(line, COLUMNS - head.len(), head.len() + 4));
        }
        if self.described().next().is_some() {
            text.push('\n');
        }
        let letters = self.described().any(|row| is_letter(row.form));
        let form = |row: &Opt<K>| {
            let indent = if letters && row.form.starts_with("--") { "      " } else { "  " };
            format!("{indent}{}", row.form)
        };
        let longest = self.described().map(|row| form(row).len()).filter(|length| *length <= BESIDE);
        let column = longest.max().unwrap_or(BESIDE) + 2;
        for row in self.described() {
            let form = form(row);
            let about = fill(row.about, COLUMNS - column, column);
            if form.len() + 2 <= column {
                let _ = writeln!(text, "{form:column$}{about}");
            } else {
                let _ = writeln!(text, "{form}\n{:column$}{about}", "");
            }
        }
        for paragraph in paragraphs(self.notes) {
            text.push('\n');
            text += &filled(paragraph);
        }
        text
    }

    /// The manual page, of section 1, in the language of `man`.
    pub fn manual(&self, version: &str) -> String {
        let mut page = format!(
            ".TH {} 1 \"\" \"gasnet\\-rs {version}\"\n.SH NAME\n{0} \\- {}\n.SH SYNOPSIS\n",
            plain(self.name),
            plain(self.brief)
        );
        let lines: Vec<&str> = self.usage.to_vec();
        page += &verbatim(&lines);
        page += ".SH DESCRIPTION\n";
        page += &described(self.about);
        page += ".SH OPTIONS\n";
        for row in self.described() {
            let _ = write!(page, ".TP\n.B {}\n{}\n", plain(row.form), plain(row.about));
        }
        page += ".SH NOTES\n";
        page += &described(self.notes);
        page
    }
}

/// Whether the first spelling is a letter.
fn is_letter(form: &str) -> bool {
    form.as_bytes().get(1).is_some_and(|byte| *byte != b'-')
}

/// A paragraph of the help.
fn filled(paragraph: &str) -> String {
    if paragraph.trim_start_matches('\n').starts_with(' ') {
        return format!("{}\n", paragraph.trim_matches('\n'));
    }
    fill(paragraph, COLUMNS, 0) + "\n"
}

/// Text with nothing in it that roff takes for its own.
fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn verbatim(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| plain(line) + "\n").collect();
    format!(".nf\n{lines}.fi\n")
}

/// Paragraphs of the manual page.
fn described(text: &str) -> String {
    let mut page = String::new();
    for paragraph in paragraphs(text) {
        if !page.is_empty() {
            page += ".PP\n";
        }
        if paragraph.trim_start_matches('\n').starts_with(' ') {
            page += &verbatim(&paragraph.trim_matches('\n').lines().collect::<Vec<_>>());
        } else {
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            let _ = writeln!(page, "{}", plain(&words.join(" ")));
        }
    }
    page
}
