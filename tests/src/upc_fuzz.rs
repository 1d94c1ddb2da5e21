//! Damaged sources for the compiler's front end.
//!
//! The stock is pieces of the UPC test programs, small enough that lexer, parser and checker read tens of thousands a second.
//! An input is such a piece with some of its tokens lost, doubled, exchanged, replaced, taken from another piece, or with odd
//! characters in it. The front end must return: no panic, no endless loop, no more memory than a small unit needs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use upcc::ast::{FrontOptions, check_here};

use crate::upc_random::Random;

/// Longest piece in bytes.
const PIECE: usize = 350;

/// Names that most pieces use.
const PROLOGUE: &str = "# 1 \"f.upc\"\ntypedef unsigned long size_t; typedef shared [4] int *pts_t; struct s { int a : 3; union { float f; char b[4]; }; \
shared int *p; }; shared [*] int a[10*THREADS][3]; shared struct s gs[THREADS]; shared int x, y; int n, *q, f(int); double d;\n";

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

/// The stock of pieces.
#[derive(Debug)]
pub struct Stock {
    pieces: Vec<Vec<String>>,
}

impl Stock {
    /// From the programs below a folder.
    pub fn new(programs: &Path) -> Result<Stock, String> {
        let mut paths = Vec::new();
        collect(programs, &mut paths)?;
        paths.sort();
        let mut pieces = Vec::new();
        for path in paths {
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let text = upcc::source::decode(bytes);
            let code: Vec<&str> =
                text.lines().filter(|l| !l.starts_with("//") && !l.starts_with("#")).collect();
            let mut piece = String::new();
            for line in code {
                piece += line;
                piece.push('\n');
                // A piece ends where a declaration at file scope ends, or where it is long enough.
                if piece.len() > PIECE || line.starts_with('}') && piece.len() > 80 {
                    pieces.push(tokens(&piece));
                    piece.clear();
                }
            }
            pieces.push(tokens(&piece));
        }
        pieces.retain(|piece| piece.len() > 5);
        if pieces.is_empty() {
            Err(format!("no programs below {}", programs.display()))
        } else {
            Ok(Stock { pieces })
        }
    }

    /// The input that a number stands for.
    pub fn input(&self, number: u64) -> String {
        let mut random = Random::new(number);
        let mut piece = random.pick(&self.pieces).clone();
        for _ in 0..=random.below(5) {
            if piece.is_empty() {
                break;
            }
            let len = piece.len() as u64;
            let (i, j) = (random.below(len) as usize, random.below(len) as usize);
            match random.below(9) {
                0 => drop(piece.remove(i)),
                1 => piece.swap(i, j),
                2 => piece[i] = piece[j].clone(),
                3 | 4 => piece.insert(i, format!(" {} ", random.pick(WORDS))),
                5 => piece[i] = format!(" {} ", random.pick(WORDS)),
                6 => {
                    let donor = random.pick(&self.pieces);
                    let from = random.below(donor.len() as u64) as usize;
                    let to = (from + 1 + random.below(12) as usize).min(donor.len());
                    piece.splice(i..i, donor[from..to].iter().cloned());
                }
                7 => {
                    let to = (i + random.below(25) as usize).min(piece.len());
                    let part = piece[i..to].to_vec();
                    piece.splice(j..j, part);
                }
                _ => piece.truncate(i),
            }
        }
        let prologue = if random.one_in(8) { "" } else { PROLOGUE };
        let mut text = prologue.to_string();
        // Statements need a function around them.
        let inside = random.one_in(3);
        if inside {
            text += "int test(int n) {\n";
        }
        text += &piece.concat();
        if inside {
            text += "}\n";
        }
        text
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

/// Words with the spaces after them, other characters alone.
fn tokens(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let in_word = c.is_alphanumeric() || c == '_';
        match all.last_mut() {
            Some(last) if in_word && word || c.is_whitespace() => last.push(c),
            _ => all.push(c.to_string()),
        }
        word = in_word;
    }
    all
}

/// Reads one input; an error is what the front end did wrong. To be called on a large stack.
pub fn attempt(text: &str, number: u64) -> Result<(), String> {
    let mut options =
        FrontOptions { static_threads: number.is_multiple_of(3).then_some(4), ..FrontOptions::default() };
    options.warn.all = number.is_multiple_of(2);
    options.warn.upc = options.warn.all;
    options.gnu_void = number.is_multiple_of(16);
    let read = || {
        let result = check_here(text, &options);
        if result.failed() && result.diagnostics.is_empty() {
            return Err("rejected without a word".to_string());
        }
        for diagnostic in &result.diagnostics {
            if diagnostic.message.is_empty() {
                return Err("a diagnostic without text".to_string());
            }
        }
        Ok(())
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("a panic".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_to_the_end() {
        let stock = Stock::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("upc")).unwrap();
        assert_eq!(stock.input(5), stock.input(5));
        upcc::ast::on_big_stack(|| {
            for number in 0..3000 {
                let text = stock.input(number);
                attempt(&text, number).unwrap_or_else(|why| panic!("{why}, input {number}:\n{text}"));
            }
        });
    }

    #[test]
    fn tokens_keep_the_text() {
        let text = "shared [2] int *p;\n x+=y_1;\n";
        assert_eq!(tokens(text).concat(), text);
    }
}
