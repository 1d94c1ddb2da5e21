//! The lexer: preprocessed text to [`TokenBuf`].

use crate::front::token::{FileInfo, MacroLine, Punct, RESERVED, TokKind, Token, TokenBuf};
use std::collections::HashMap;
use std::path::Path;

/// A problem found while lexing: a token and what is wrong with it.
pub(crate) struct LexError {
    pub(crate) tok: u32,
    pub(crate) message: &'static str,
    /// The rest of the line belongs to it, with all the brackets and semicolons that stand there.
    pub(crate) open: bool,
}

/// Splits `text` into tokens. `dir` is where relative file names start.
pub(crate) fn lex(text: &str, dir: &Path, c23: bool, tokens: &mut TokenBuf) -> Vec<LexError> {
    // Few texts have more tokens: a vector that grows is copied each time.
    tokens.toks.reserve(text.len() / 4 + 16);
    let mut lx = Lexer {
        text,
        src: text.as_bytes(),
        pos: 0,
        line_start: 0,
        line: 1,
        file: 0,
        system: false,
        bol: true,
        space: false,
        files: HashMap::new(),
        dir,
        c23,
        out: tokens,
        errors: Vec::new(),
    };
    lx.set_file("<input>", false);
    lx.run();
    lx.out.text = text.to_owned();
    lx.errors
}

struct Lexer<'a> {
    text: &'a str,
    src: &'a [u8],
    pos: usize,
    line_start: usize,
    line: u32,
    file: u32,
    system: bool,
    bol: bool,
    space: bool,
    files: HashMap<String, u32>,
    dir: &'a Path,
    /// Digits may be separated, as in `1'000`.
    c23: bool,
    out: &'a mut TokenBuf,
    errors: Vec<LexError>,
}

fn ident_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_' || c == b'$' || c >= 0x80
}

fn ident_part(c: u8) -> bool {
    ident_start(c) || c.is_ascii_digit()
}

impl Lexer<'_> {
    fn at(&self, i: usize) -> u8 {
        self.src.get(self.pos + i).copied().unwrap_or(0)
    }

    fn set_file(&mut self, name: &str, system: bool) {
        self.system = system;
        if let Some(&f) = self.files.get(name) {
            self.file = f;
            return;
        }
        self.file = self.out.files.len() as u32;
        self.out.files.push(FileInfo { name: name.to_owned(), path: self.dir.join(name), system });
        self.files.insert(name.to_owned(), self.file);
    }

    /// Whether a file lies beside the main source: the preprocessor finds such files as it finds system
    /// headers.
    fn beside_source(&self, name: &str) -> bool {
        let Some(main) = self.out.files.get(1) else { return false };
        let folder = main.name.rfind('/').map_or("./", |i| &main.name[..=i]);
        name.starts_with(folder)
    }

    fn newline(&mut self) {
        self.pos += 1;
        self.line = self.line.saturating_add(1);
        self.line_start = self.pos;
        self.bol = true;
        self.space = true;
    }

    fn push(&mut self, kind: TokKind, start: usize) {
        self.out.toks.push(Token {
            kind,
            offset: start as u32,
            len: (self.pos - start) as u32,
            line: self.line,
            col: (start - self.line_start) as u32 + 1,
            file: self.file,
            space: self.space,
            bol: self.bol,
            system: self.system,
        });
        self.bol = false;
        self.space = false;
    }

    fn error(&mut self, message: &'static str) {
        self.errors.push(LexError { tok: self.out.toks.len() as u32, message, open: false });
    }

    fn run(&mut self) {
        while self.pos < self.src.len() {
            let c = self.src[self.pos];
            match c {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                    self.pos += 1;
                    self.space = true;
                }
                b'\\' if self.at(1) == b'\n' => {
                    self.pos += 1;
                    let bol = self.bol;
                    self.newline();
                    self.bol = bol;
                }
                b'#' if self.bol => self.directive(),
                b'/' if self.at(1) == b'/' => {
                    while self.pos < self.src.len() && self.src[self.pos] != b'\n' {
                        self.pos += 1;
                    }
                }
                b'/' if self.at(1) == b'*' => self.comment(),
                _ if ident_start(c) => self.ident(),
                b'0'..=b'9' => self.number(),
                b'.' if self.at(1).is_ascii_digit() => self.number(),
                b'"' => self.quoted(self.pos, b'"'),
                b'\'' => self.quoted(self.pos, b'\''),
                b'\\' if matches!(self.at(1), b'u' | b'U') => self.ident(),
                _ => self.punct(),
            }
        }
        self.pos = self.src.len();
        self.space = true;
        self.bol = true;
        self.push(TokKind::Eof, self.pos);
    }

    fn comment(&mut self) {
        self.pos += 2;
        self.space = true;
        while self.pos < self.src.len() {
            if self.src[self.pos] == b'*' && self.at(1) == b'/' {
                self.pos += 2;
                return;
            }
            if self.src[self.pos] == b'\n' {
                let bol = self.bol;
                self.newline();
                self.bol = bol;
            } else {
                self.pos += 1;
            }
        }
        self.error("this comment has no end; write `*/`");
    }

    /// A line that begins with `#`: a line marker, a pragma, the definition of a macro, or something of no
    /// interest.
    fn directive(&mut self) {
        let start = self.pos;
        let end = self.src[start..].iter().position(|&c| c == b'\n').map_or(self.src.len(), |n| start + n);
        self.pos = end;
        let body = self.text[start + 1..end].trim();
        let (word, rest) = body.split_once(|c: char| c.is_whitespace()).unwrap_or((body, ""));
        match word {
            "pragma" => {
                let line = self.text[start..end].trim_end_matches([' ', '\t', '\r']);
                self.pos = start + line.len();
                self.push(TokKind::Pragma, start);
                self.pos = end;
                return;
            }
            "define" | "undef" => return self.macro_line(word == "undef", rest.trim_start()),
            _ => {}
        }
        let body = body.strip_prefix("line").map_or(body, str::trim_start);
        let digits = body.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let number: u32 = body[..digits].parse().unwrap_or(u32::MAX - 1);
            let rest = body[digits..].trim_start();
            if let Some((name, flags)) = marker_name(rest) {
                let system = flags.split_whitespace().any(|f| f == "3") && !self.beside_source(&name);
                self.set_file(&name, system);
            }
            if self.pos < self.src.len() {
                self.newline();
            }
            self.line = number;
        }
    }

    /// `#define` or `#undef` and what follows.
    fn macro_line(&mut self, undef: bool, rest: &str) {
        let name = &rest[..rest.bytes().take_while(|&c| ident_part(c)).count()];
        if self.system {
            return;
        }
        if let Some(name) = RESERVED.into_iter().find(|&r| r == name) {
            let (body, before) = (rest[name.len()..].trim().to_owned(), self.out.toks.len() as u32);
            self.out.macros.push(MacroLine { undef, name, body, file: self.file, line: self.line, before });
        }
    }

    fn ident(&mut self) {
        let start = self.pos;
        while self.pos < self.src.len() {
            let c = self.src[self.pos];
            if ident_part(c) || (c == b'\\' && matches!(self.at(1), b'u' | b'U')) {
                self.pos += 1;
            } else {
                break;
            }
        }
        let text = &self.src[start..self.pos];
        if matches!(text, b"L" | b"u" | b"U" | b"u8") && matches!(self.at(0), b'"' | b'\'') {
            self.quoted(start, self.at(0));
            return;
        }
        // The text came as a str and identifiers end at an ASCII byte.
        let sym = self.out.syms.intern(&String::from_utf8_lossy(text));
        self.push(TokKind::Ident(sym), start);
    }

    fn number(&mut self) {
        let start = self.pos;
        self.pos += 1;
        while self.pos < self.src.len() {
            let c = self.src[self.pos];
            let exp = matches!(c, b'+' | b'-')
                && matches!(self.src[self.pos - 1], b'e' | b'E' | b'p' | b'P')
                && (matches!(self.src[self.pos - 1], b'p' | b'P') || !is_hex(&self.src[start..self.pos]));
            let separator =
                self.c23 && c == b'\'' && self.src.get(self.pos + 1).is_some_and(|c| ident_part(*c));
            if ident_part(c) || c == b'.' || exp || separator {
                self.pos += 1;
            } else {
                break;
            }
        }
        self.push(TokKind::Number, start);
    }

    fn quoted(&mut self, start: usize, quote: u8) {
        while self.src[self.pos] != quote {
            self.pos += 1;
        }
        self.pos += 1;
        loop {
            match self.src.get(self.pos) {
                None | Some(b'\n') => {
                    self.error(if quote == b'"' {
                        "this string has no end on its line; write the closing `\"`"
                    } else {
                        "this character constant has no end on its line; write the closing `'`"
                    });
                    if let Some(e) = self.errors.last_mut() {
                        e.open = true;
                    }
                    break;
                }
                Some(b'\\') if self.pos + 1 < self.src.len() && self.src[self.pos + 1] != b'\n' => {
                    self.pos += 2
                }
                Some(&c) => {
                    self.pos += 1;
                    if c == quote {
                        break;
                    }
                }
            }
        }
        // A backslash may have skipped into the middle of a multi-byte character.
        while self.pos < self.src.len() && self.src[self.pos] & 0xc0 == 0x80 {
            self.pos += 1;
        }
        self.push(if quote == b'"' { TokKind::Str } else { TokKind::Char }, start);
    }

    fn punct(&mut self) {
        use Punct::*;
        let (a, b, c) = (self.at(0), self.at(1), self.at(2));
        let (p, n) = match (a, b, c) {
            (b'.', b'.', b'.') => (Ellipsis, 3),
            (b'<', b'<', b'=') => (ShlEq, 3),
            (b'>', b'>', b'=') => (ShrEq, 3),
            (b'-', b'>', _) => (Arrow, 2),
            (b'+', b'+', _) => (PlusPlus, 2),
            (b'-', b'-', _) => (MinusMinus, 2),
            (b'<', b'<', _) => (Shl, 2),
            (b'>', b'>', _) => (Shr, 2),
            (b'<', b'=', _) => (Le, 2),
            (b'>', b'=', _) => (Ge, 2),
            (b'=', b'=', _) => (EqEq, 2),
            (b'!', b'=', _) => (Ne, 2),
            (b'&', b'&', _) => (AmpAmp, 2),
            (b'|', b'|', _) => (PipePipe, 2),
            (b'*', b'=', _) => (StarEq, 2),
            (b'/', b'=', _) => (SlashEq, 2),
            (b'%', b'=', _) => (PercentEq, 2),
            (b'+', b'=', _) => (PlusEq, 2),
            (b'-', b'=', _) => (MinusEq, 2),
            (b'&', b'=', _) => (AmpEq, 2),
            (b'^', b'=', _) => (CaretEq, 2),
            (b'|', b'=', _) => (PipeEq, 2),
            (b'#', b'#', _) => (HashHash, 2),
            (b':', b':', _) => (ColonColon, 2),
            (b'<', b':', _) => (LBracket, 2),
            (b':', b'>', _) => (RBracket, 2),
            (b'<', b'%', _) => (LBrace, 2),
            (b'%', b'>', _) => (RBrace, 2),
            (b'%', b':', _) => (Hash, 2),
            (b'[', ..) => (LBracket, 1),
            (b']', ..) => (RBracket, 1),
            (b'(', ..) => (LParen, 1),
            (b')', ..) => (RParen, 1),
            (b'{', ..) => (LBrace, 1),
            (b'}', ..) => (RBrace, 1),
            (b'.', ..) => (Dot, 1),
            (b'&', ..) => (Amp, 1),
            (b'*', ..) => (Star, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', ..) => (Minus, 1),
            (b'~', ..) => (Tilde, 1),
            (b'!', ..) => (Bang, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'<', ..) => (Lt, 1),
            (b'>', ..) => (Gt, 1),
            (b'^', ..) => (Caret, 1),
            (b'|', ..) => (Pipe, 1),
            (b'?', ..) => (Question, 1),
            (b':', ..) => (Colon, 1),
            (b';', ..) => (Semi, 1),
            (b'=', ..) => (Eq, 1),
            (b',', ..) => (Comma, 1),
            (b'#', ..) => (Hash, 1),
            _ => {
                let start = self.pos;
                self.pos += 1;
                self.push(TokKind::Unknown, start);
                return;
            }
        };
        let start = self.pos;
        self.pos += n;
        self.push(TokKind::Punct(p), start);
    }
}

fn is_hex(s: &[u8]) -> bool {
    s.len() > 1 && s[0] == b'0' && matches!(s[1], b'x' | b'X')
}

/// File name and flags of a line marker.
fn marker_name(s: &str) -> Option<(String, &str)> {
    let s = s.strip_prefix('"')?;
    let mut name = String::new();
    let mut chars = s.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((name, &s[i + 1..])),
            '\\' => match chars.next() {
                Some((_, d @ '0'..='7')) => {
                    // cpp writes unprintable bytes as three octal digits.
                    let mut v = d as u32 - '0' as u32;
                    for _ in 0..2 {
                        if let Some((_, d)) = chars.next() {
                            v = (v * 8).wrapping_add((d as u32).wrapping_sub('0' as u32)) & 0xff;
                        }
                    }
                    name.push(char::from_u32(v).unwrap_or('?'));
                }
                Some((_, 'n')) => name.push('\n'),
                Some((_, d)) => name.push(d),
                None => return None,
            },
            c => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(s: &str) -> (TokenBuf, usize) {
        let mut tb = TokenBuf::default();
        let e = lex(s, Path::new(""), false, &mut tb);
        (tb, e.len())
    }

    #[test]
    fn markers_set_file_and_line() {
        let (tb, e) = toks(
            "# 1 \"a.upc\"\n# 7 \"/x/y.h\" 1 3 4\nint\nx;\n# 3 \"a.upc\" 2\n  z\n#pragma upc strict\nw\n",
        );
        assert_eq!(e, 0);
        let at: Vec<_> = tb.toks.iter().map(|t| (t.file, t.line, t.col, t.system)).collect();
        assert_eq!(
            at[..6],
            [
                (2, 7, 1, true),
                (2, 8, 1, true),
                (2, 8, 2, true),
                (1, 3, 3, false),
                (1, 4, 1, false),
                (1, 5, 1, false)
            ]
        );
        assert_eq!(tb.toks[4].kind, TokKind::Pragma);
        assert_eq!(tb.spelling(4), "#pragma upc strict");
    }

    #[test]
    fn macros_are_told_of() {
        let (tb, e) = toks(
            "# 1 \"a.upc\"\n#define A 'x\n#define THREADS 1 + 1\nint\n# 5 \"s.h\" 1 3\n#undef THREADS\n# 9 \"a.upc\" 2\n# undef MYTHREAD\n",
        );
        assert_eq!((e, tb.toks.len()), (0, 2));
        let said: Vec<_> =
            tb.macros.iter().map(|m| (m.undef, m.name, m.body.as_str(), m.file, m.line, m.before)).collect();
        assert_eq!(said, [(false, "THREADS", "1 + 1", 1, 2, 0), (true, "MYTHREAD", "", 1, 9, 1)]);
    }

    #[test]
    fn numbers_and_strings() {
        let (tb, e) = toks("0x1.8p+3 1e-5f 0xe+1 L\"a\\\"b\" u8\"\" 'x' a...b <: :>");
        assert_eq!(e, 0);
        let s: Vec<_> = (0..tb.toks.len() as u32 - 1).map(|i| tb.spelling(i)).collect();
        assert_eq!(
            s,
            [
                "0x1.8p+3",
                "1e-5f",
                "0xe",
                "+",
                "1",
                "L\"a\\\"b\"",
                "u8\"\"",
                "'x'",
                "a",
                "...",
                "b",
                "<:",
                ":>"
            ]
        );
    }

    #[test]
    fn unterminated_things_are_errors() {
        assert_eq!(toks("\"abc\nx").1, 1);
        assert_eq!(toks("'\\").1, 1);
        assert_eq!(toks("/* x").1, 1);
        assert_eq!(toks("L\"\u{e9}\\").1, 1);
    }
}
