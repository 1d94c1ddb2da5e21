//! Pieces of the UPC test programs, damaged.
//!
//! A piece is a declaration of a program or one statement in its function, with as much of what stands before
//! it as its names need: undamaged, most pieces have little wrong with them, so that what is damaged gets
//! far.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::library::LIBRARY;
use crate::upc_random::Random;

/// Longest piece in bytes, and the longest of those that are drawn mostly.
const LONG: usize = 1200;
const SHORT: usize = 170;

/// Words and signs that replace others.
const WORDS: &[&str] = &[
    "shared",
    "strict",
    "relaxed",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ";",
    "*",
    "&",
    "THREADS",
    "MYTHREAD",
    "0",
    "-1",
    "1",
    "07",
    "0x1p3",
    "99999999999999999999",
    "1e400",
    "\"",
    "'",
    "'a'",
    "\"s\"",
    "L\"w\"",
    "\\",
    "#",
    "\n",
    "int",
    "char",
    "long",
    "unsigned",
    "double",
    "_Complex",
    "_Bool",
    "void",
    "struct",
    "union",
    "enum",
    "struct s",
    "typedef",
    "extern",
    "static",
    "register",
    "auto",
    "inline",
    "const",
    "volatile",
    "restrict",
    "_Atomic",
    "=",
    ",",
    ":",
    "...",
    "::",
    "?",
    "sizeof",
    "upc_localsizeof",
    "upc_blocksizeof",
    "upc_elemsizeof",
    "upc_forall",
    "upc_barrier",
    "upc_notify",
    "upc_wait",
    "upc_fence",
    "for",
    "while",
    "do",
    "if",
    "else",
    "switch",
    "case",
    "default",
    "goto",
    "break",
    "continue",
    "return",
    "__attribute__((packed))",
    "__attribute__",
    "((",
    "))",
    "asm",
    "__typeof__",
    "_Generic",
    "_Static_assert",
    "_Alignas",
    "_Alignof",
    "__builtin_va_arg",
    "__builtin_offsetof",
    "__extension__",
    "__label__",
    "->",
    ".",
    "++",
    "--",
    "+",
    "-",
    "/",
    "%",
    "<<",
    ">>",
    "<",
    ">=",
    "==",
    "&&",
    "||",
    "&&x",
    "^",
    "~",
    "!",
    "+=",
    "<<=",
    "({",
    "})",
    "[*]",
    "[]",
    "[0]",
    "[n]",
    "[THREADS]",
    "(shared void *)",
    "(int[]){1}",
    "(struct s){.a = 1}",
    ".a =",
    "[2] =",
    "1 ... 3",
    "x",
    "y",
    "a",
    "n",
    "q",
    "f",
    "d",
    "gs",
    "pts_t",
    "size_t",
    "x:",
    "\u{e9}",
    "\u{0}",
    "@",
    "$",
    "`",
    "\n#pragma upc strict\n",
    "\n#pragma upc c_code\n",
    "\n#pragma pack(1)\n",
    "\n# 3 \"z.h\" 1 3\n",
    "/*",
    "//",
    "int x[n]; x:",
    "case 1:",
    "typedef int x;",
];

/// A token of a piece, or another word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word {
    text: String,
    class: u8,
}

impl Word {
    fn new(text: String) -> Word {
        let class = class(&text);
        Word { text, class }
    }
}

/// The stock of pieces, each as its tokens.
#[derive(Debug)]
pub struct Pieces {
    short: Vec<Vec<Word>>,
    long: Vec<Vec<Word>>,
    /// [`WORDS`].
    words: Vec<Word>,
    /// Those of each class.
    classes: Vec<Vec<Word>>,
}

impl Pieces {
    /// From the programs below a folder.
    pub fn new(programs: &Path) -> Result<Pieces, String> {
        let mut paths = Vec::new();
        collect(programs, &mut paths)?;
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let text = upcc::front::source::decode(bytes);
            let code: Vec<&str> =
                text.lines().filter(|l| !l.starts_with("//") && !l.trim_start().starts_with('#')).collect();
            cut(&tokens(&code.join("\n")), &mut all);
        }
        all.retain(|piece| piece.len() > 5);
        all.sort();
        all.dedup();
        let length = |piece: &[String]| piece.iter().map(String::len).sum::<usize>();
        all.retain(|piece| length(piece) <= LONG);
        let (short, long): (Vec<_>, Vec<_>) = all.into_iter().partition(|piece| length(piece) <= SHORT);
        if short.is_empty() || long.is_empty() {
            return Err(format!("no programs below {}", programs.display()));
        }
        let of_words = |pieces: Vec<Vec<String>>| -> Vec<Vec<Word>> {
            pieces.into_iter().map(|piece| piece.into_iter().map(Word::new).collect()).collect()
        };
        let words: Vec<Word> = WORDS.iter().map(|w| Word::new(format!(" {w} "))).collect();
        let classes =
            (0..=u8::MAX).map(|c| words.iter().filter(|w| w.class == c).cloned().collect()).collect();
        Ok(Pieces { short: of_words(short), long: of_words(long), words, classes })
    }

    fn pick(&self, random: &mut Random) -> &[Word] {
        let from = if random.one_in(24) { &self.long } else { &self.short };
        random.pick::<Vec<Word>>(from)
    }

    /// Writes a damaged piece; `words` is room for its tokens.
    pub fn write<'a>(&'a self, random: &mut Random, words: &mut Vec<&'a Word>, out: &mut String) {
        words.clear();
        words.extend(self.pick(random));
        for _ in 0..2 + random.below(4) {
            if words.is_empty() {
                break;
            }
            let len = words.len() as u64;
            let (i, j) = (random.below(len) as usize, random.below(len) as usize);
            match random.below(32) {
                0 => drop(words.remove(i)),
                1 => words.swap(i, j),
                2 => words[i] = words[j],
                3 => words.insert(i, random.pick::<Word>(&self.words)),
                4 => words[i] = random.pick::<Word>(&self.words),
                5 | 6 => {
                    let donor = self.pick(random);
                    let from = random.below(donor.len() as u64) as usize;
                    let to = (from + 1 + random.below(12) as usize).min(donor.len());
                    words.splice(i..i, &donor[from..to]);
                }
                7 => {
                    let to = (i + random.below(25) as usize).min(words.len());
                    let part = words[i..to].to_vec();
                    words.splice(j..j, part);
                }
                8 if random.one_in(4) => words.truncate(i),
                // Something of the same class, so that the syntax stays mostly good.
                9..20 => {
                    let same =
                        |k: &usize| words[*k].class == words[i].class && words[*k].text != words[i].text;
                    if let Some(k) = (j..words.len()).chain(0..j).find(same) {
                        words[i] = words[k];
                    }
                }
                _ => {
                    let like = &self.classes[usize::from(words[i].class)];
                    if !like.is_empty() {
                        words[i] = random.pick::<Word>(like);
                    }
                }
            }
        }
        words.iter().for_each(|word| out.push_str(&word.text));
    }

    /// Writes words in no order.
    pub fn noise(&self, random: &mut Random, out: &mut String) {
        for _ in 0..5 + random.below(20) {
            let word = if random.one_in(2) {
                random.pick::<Word>(&self.words)
            } else {
                let piece = self.pick(random);
                random.pick::<Word>(piece)
            };
            out.push_str(&word.text);
        }
    }

    /// Damages a text at some characters.
    pub fn damage(&self, random: &mut Random, text: &mut String) {
        for _ in 0..=random.below(2) {
            let mut i = random.below(text.len() as u64 + 1) as usize;
            while !text.is_char_boundary(i) {
                i -= 1;
            }
            match random.below(4) {
                0 if i < text.len() => drop(text.remove(i)),
                1 => text.truncate(i),
                _ => text.insert_str(i, &random.pick::<Word>(&self.words).text),
            }
        }
    }
}

/// The syntactic class of a word, roughly. Words of the same class can replace each other.
fn class(word: &str) -> u8 {
    let word = word.trim();
    match word.as_bytes().first() {
        None => 0,
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => match word {
            "int" | "char" | "long" | "short" | "unsigned" | "double" | "float" | "void" | "_Bool"
            | "size_t" => 2,
            "const" | "volatile" | "restrict" | "shared" | "strict" | "relaxed" | "static" | "extern" => 3,
            "sizeof" | "upc_localsizeof" | "upc_blocksizeof" | "upc_elemsizeof" | "_Alignof" => 4,
            "break" | "continue" | "return" | "upc_fence" | "upc_barrier" | "upc_notify" | "upc_wait" => 5,
            "while" | "if" | "switch" => 6,
            "struct" | "union" | "enum" => 7,
            "for" | "upc_forall" | "do" | "else" | "case" | "default" | "goto" | "typedef" | "asm" => 8,
            _ => 1,
        },
        Some(b'0'..=b'9' | b'"' | b'\'') => 1,
        // These stay what they are.
        Some(&c @ (b'(' | b'[' | b'{' | b')' | b']' | b'}' | b';' | b',')) => c,
        Some(b'*' | b'&' | b'-' | b'+') => 13,
        Some(b'/' | b'%' | b'<' | b'>' | b'=' | b'^' | b'|') => 14,
        _ => 15,
    }
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "upc" || e == "c" || e == "uph") {
            into.push(path);
        }
    }
    Ok(())
}

/// Something between the braces and semicolons of one level: its tokens, and where its own braces begin.
struct Chunk<'a> {
    tokens: &'a [String],
    body: Option<usize>,
}

/// Cuts a text into what ends with a semicolon or a closing brace outside of all brackets.
fn chunks(tokens: &[String]) -> Vec<Chunk<'_>> {
    let (mut all, mut depth, mut start, mut body) = (Vec::new(), 0, 0, None);
    for (i, token) in tokens.iter().enumerate() {
        match token.as_bytes()[0] {
            b'(' | b'[' => depth += 1,
            b'{' => {
                if depth == 0 && body.is_none() {
                    body = Some(i - start);
                }
                depth += 1;
            }
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        // A brace that begins after a parenthesis is that of a function or a statement, any other one needs a
        // semicolon.
        let closes =
            token.starts_with('}') && body.is_some_and(|b| b == 0 || tokens[start + b - 1].trim_end() == ")");
        if depth <= 0 && (token.starts_with(';') || closes) {
            all.push(Chunk { tokens: &tokens[start..=i], body });
            (depth, start, body) = (0, i + 1, None);
        }
    }
    all
}

fn names(tokens: &[String]) -> impl Iterator<Item = &str> {
    tokens.iter().map(|t| t.trim_end()).filter(|t| t.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// The chunks of `before` that declare names in `wanted`. Names that they use themselves are added to
/// `wanted`.
fn needed<'a>(before: &[Chunk<'a>], wanted: &mut BTreeSet<&'a str>) -> Vec<&'a [String]> {
    let mut list = Vec::new();
    for chunk in before.iter().rev() {
        // Of a function the prototype will do.
        let is_function = chunk.body.is_some_and(|b| b > 0 && chunk.tokens[b - 1].trim_end() == ")");
        let head = if is_function { &chunk.tokens[..chunk.body.unwrap_or(0)] } else { chunk.tokens };
        if names(head).any(|name| wanted.contains(name) && !is_common(name)) {
            wanted.extend(names(head));
            list.push(head);
        }
    }
    list.reverse();
    list
}

/// Words that say nothing about what is needed.
fn is_common(name: &str) -> bool {
    let named = ["x", "y", "a", "n", "q", "f", "d", "gs", "pts_t", "size_t"].contains(&name);
    WORDS.contains(&name) && !named
        || LIBRARY.iter().any(|(n, _)| *n == name)
        || ["short", "float", "signed", "main"].contains(&name)
}

/// Makes pieces of a program's tokens.
fn cut(program: &[String], all: &mut Vec<Vec<String>>) {
    let outer = chunks(program);
    for (i, chunk) in outer.iter().enumerate() {
        let Some(body) = chunk.body.filter(|&b| b > 0 && chunk.tokens[b - 1].trim_end() == ")") else {
            all.push(piece(&outer[..i], &[], &[], chunk.tokens));
            continue;
        };
        let head = &chunk.tokens[..=body];
        let inner = chunks(&chunk.tokens[body + 1..]);
        for (j, statement) in inner.iter().enumerate() {
            all.push(piece(&outer[..i], head, &inner[..j], statement.tokens));
        }
        if chunk.tokens.len() < 150 {
            all.push(piece(&outer[..i], &[], &[], chunk.tokens));
        }
    }
}

/// A declaration, or a statement in the function that `head` begins, after what it needs.
fn piece(outer: &[Chunk<'_>], head: &[String], inner: &[Chunk<'_>], last: &[String]) -> Vec<String> {
    let mut wanted: BTreeSet<&str> = names(last).collect();
    // Only declarations among the statements.
    let begins_a_type = |chunk: &&Chunk<'_>| {
        chunk.body.is_none() && !chunk.tokens.iter().any(|t| t.starts_with('('))
            || names(chunk.tokens).next().is_some_and(|n| {
                ["int", "shared", "static", "struct", "char", "double", "unsigned", "long", "const", "size_t"]
                    .contains(&n)
            })
    };
    let declarations: Vec<Chunk<'_>> =
        inner.iter().filter(begins_a_type).map(|c| Chunk { tokens: c.tokens, body: c.body }).collect();
    let local = needed(&declarations, &mut wanted);
    wanted.extend(names(head));
    let global = needed(outer, &mut wanted);
    let mut text: Vec<String> = Vec::new();
    for (name, declaration) in LIBRARY {
        if wanted.contains(name) {
            text.extend(tokens(&format!("{declaration}\n")));
        }
    }
    for part in global {
        text.extend(part.iter().cloned());
        if !part.last().is_some_and(|t| t.starts_with([';', '}'])) {
            text.push(";\n".to_string());
        }
    }
    text.extend(head.iter().cloned());
    for part in local {
        text.extend(part.iter().cloned());
    }
    text.extend(last.iter().cloned());
    if !head.is_empty() {
        text.push("}\n".to_string());
    }
    text
}

/// Words, numbers, strings, comments and other signs, with the spaces after them.
fn tokens(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut take = |ok: &mut dyn FnMut(char) -> bool| {
            while chars.next_if(|&(_, c)| ok(c)).is_some() {}
        };
        if c.is_alphanumeric() || c == '_' {
            take(&mut |c| c.is_alphanumeric() || c == '_');
        } else if c == '"' || c == '\'' {
            let (mut escaped, mut open) = (false, true);
            take(&mut |d| {
                let go = open;
                open &= d != '\n' && (d != c || escaped);
                escaped = d == '\\' && !escaped;
                go
            });
        } else if c == '/' && text[start..].starts_with("//") {
            take(&mut |c| c != '\n');
        }
        take(&mut char::is_whitespace);
        let end = chars.peek().map_or(text.len(), |&(at, _)| at);
        let token = &text[start..end];
        match all.last_mut() {
            // White space and comments go with what stands before them.
            Some(last) if token.trim_start().is_empty() || token.starts_with("//") => {
                if token.contains('\n') {
                    last.push('\n');
                }
            }
            _ if token.trim_start().is_empty() || token.starts_with("//") => {}
            _ => all.push(token.to_string()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keep_the_text() {
        let text = "shared [2] int *p;\n x+=y_1 \"a;\\\"b\" ';';\n";
        assert_eq!(tokens(text).concat(), text);
        assert_eq!(tokens("a // b\nc").concat(), "a \nc");
    }

    #[test]
    fn a_piece_brings_what_it_needs() {
        let text = "int unused; struct s { int m; }; typedef int t; int f(t n) { return n; }\n\
                    int main(void) { struct s v; int w; v.m = f(2); w++; return 0; }";
        let mut all = Vec::new();
        cut(&tokens(text), &mut all);
        let texts: Vec<String> = all.iter().map(|piece| piece.concat()).collect();
        assert!(
            texts.contains(
                &"struct s { int m; }; typedef int t; int f(t n) ;\nint main(void) { struct s v; v.m = f(2); }\n".to_string()
            ),
            "{texts:#?}"
        );
    }
}
