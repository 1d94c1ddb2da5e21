//! Tokens of one preprocessed translation unit.
//!
//! A [`TokenBuf`] owns the preprocessed text; tokens are kept in one vector, and everything else refers to
//! them by index ([`TokIdx`]) or by half-open range ([`TokRange`]). Line markers and white space are not
//! tokens; a whole `#pragma` line is one token of kind [`TokKind::Pragma`].

use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// Index of a token in [`TokenBuf::toks`].
pub type TokIdx = u32;

/// A half-open range of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TokRange {
    /// First token.
    pub start: TokIdx,
    /// One past the last token.
    pub end: TokIdx,
}

impl TokRange {
    /// The range `start..end`.
    pub fn new(start: TokIdx, end: TokIdx) -> Self {
        Self { start, end }
    }
    /// Whether the range holds no token (nodes made by the compiler).
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
    /// The smallest range that covers both; an empty range counts for nothing.
    pub fn to(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// An interned identifier or keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sym(pub u32);

/// Names, interned. Those of the base come first: every interner has them, and none has a copy.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    base: Option<&'static Interner>,
    map: FxHashMap<Box<str>, Sym>,
    names: Vec<Box<str>>,
}

impl Interner {
    /// An interner of the names of `base` and more.
    pub(crate) fn on(base: &'static Interner) -> Interner {
        Interner { base: Some(base), ..Interner::default() }
    }
    fn below(&self) -> usize {
        self.base.map_or(0, |base| base.names.len())
    }
    /// The symbol of `name`.
    pub fn intern(&mut self, name: &str) -> Sym {
        if let Some(s) = self.get(name) {
            return s;
        }
        let s = Sym((self.below() + self.names.len()) as u32);
        self.names.push(name.into());
        self.map.insert(name.into(), s);
        s
    }
    /// The symbol of `name`, if it has one.
    pub fn get(&self, name: &str) -> Option<Sym> {
        self.map.get(name).or_else(|| self.base?.map.get(name)).copied()
    }
    /// The spelling of `sym`.
    pub fn name(&self, sym: Sym) -> &str {
        match (sym.0 as usize).checked_sub(self.below()) {
            Some(own) => &self.names[own],
            None => self.base.map_or("", |base| base.name(sym)),
        }
    }
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokKind {
    /// An identifier or a keyword; the parser decides by the symbol.
    Ident(Sym),
    /// A preprocessing number.
    Number,
    /// A character constant, with any encoding prefix.
    Char,
    /// A string literal, with any encoding prefix.
    Str,
    /// A punctuator.
    Punct(Punct),
    /// A whole `#pragma ...` line (or the result of `_Pragma`), without the line end.
    Pragma,
    /// A character that begins no token of C.
    Unknown,
    /// End of the text.
    Eof,
}

macro_rules! puncts {
    ($($name:ident $text:literal),* $(,)?) => {
        /// Punctuators; digraphs are folded into what they stand for (the spelling stays as written).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is named after its spelling")]
        pub enum Punct { $($name),* }
        impl Punct {
            /// The usual spelling.
            pub fn text(self) -> &'static str {
                match self { $(Punct::$name => $text),* }
            }
        }
    };
}
puncts! {
    LBracket "[", RBracket "]", LParen "(", RParen ")", LBrace "{", RBrace "}", Dot ".", Arrow "->", PlusPlus "++",
    MinusMinus "--", Amp "&", Star "*", Plus "+", Minus "-", Tilde "~", Bang "!", Slash "/", Percent "%", Shl "<<", Shr ">>",
    Lt "<", Gt ">", Le "<=", Ge ">=", EqEq "==", Ne "!=", Caret "^", Pipe "|", AmpAmp "&&", PipePipe "||", Question "?",
    Colon ":", ColonColon "::", Semi ";", Ellipsis "...", Eq "=", StarEq "*=", SlashEq "/=", PercentEq "%=", PlusEq "+=",
    MinusEq "-=", ShlEq "<<=", ShrEq ">>=", AmpEq "&=", CaretEq "^=", PipeEq "|=", Comma ",", Hash "#", HashHash "##",
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Kind.
    pub kind: TokKind,
    /// Byte offset of the spelling in [`TokenBuf::text`].
    pub offset: u32,
    /// Length of the spelling in bytes.
    pub len: u32,
    /// Line in the file named by the line markers, from 1.
    pub line: u32,
    /// Column in the *preprocessed* line, in bytes from 1.
    pub col: u32,
    /// File, index into [`TokenBuf::files`].
    pub file: u32,
    /// White space (or a line end) before the token.
    pub space: bool,
    /// First token of its line.
    pub bol: bool,
    /// In a system header (line-marker flag 3).
    pub system: bool,
}

/// A file named by a line marker.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// The name as the marker spells it, escapes undone.
    pub name: String,
    /// The path to open it by.
    pub path: PathBuf,
    /// Whether a marker called it a system header.
    pub system: bool,
}

/// Names that UPC gives a meaning before the program does: no macros of the program's.
pub const RESERVED: [&str; 7] = [
    "MYTHREAD",
    "THREADS",
    "UPC_MAX_BLOCK_SIZE",
    "__UPC__",
    "__UPC_VERSION__",
    "__UPC_STATIC_THREADS__",
    "__UPC_DYNAMIC_THREADS__",
];

/// A `#define` or `#undef` of one of the [`RESERVED`] names.
#[derive(Clone, Debug)]
pub struct MacroLine {
    /// Whether `#undef`.
    pub undef: bool,
    /// The name.
    pub name: &'static str,
    /// The replacement text, as the preprocessor writes it.
    pub body: String,
    /// File, index into [`TokenBuf::files`].
    pub file: u32,
    /// Line in that file, from 1.
    pub line: u32,
    /// The token after it.
    pub before: TokIdx,
}

/// The tokens of a translation unit and the text behind them.
#[derive(Debug, Default)]
pub struct TokenBuf {
    /// The preprocessed text.
    pub text: String,
    /// Definitions of macros that the text tells of (`cc -E -dD`) and that matter, outside system headers.
    pub macros: Vec<MacroLine>,
    /// All tokens; the last is [`TokKind::Eof`].
    pub toks: Vec<Token>,
    /// Files, in order of first mention.
    pub files: Vec<FileInfo>,
    /// Identifiers.
    pub syms: Interner,
}

impl TokenBuf {
    /// The spelling of token `i`.
    pub fn spelling(&self, i: TokIdx) -> &str {
        let t = &self.toks[i as usize];
        &self.text[t.offset as usize..(t.offset + t.len) as usize]
    }
    /// Token `i`; the end token if `i` is past it.
    pub fn tok(&self, i: TokIdx) -> &Token {
        self.toks.get(i as usize).unwrap_or_else(|| self.toks.last().expect("a token buffer ends with Eof"))
    }
    /// The spelling of a symbol.
    pub fn name(&self, sym: Sym) -> &str {
        self.syms.name(sym)
    }
    /// The tokens of a range as text: one space where there was white space, no line structure except that a
    /// pragma stands on its own line. For tests and messages; the emitter keeps lines itself.
    pub fn range_text(&self, r: TokRange) -> String {
        let mut s = String::new();
        for i in r.start..r.end.min(self.toks.len() as u32) {
            let t = self.tok(i);
            if t.kind == TokKind::Pragma {
                s.push('\n');
                s.push_str(self.spelling(i));
                s.push('\n');
            } else {
                if t.space && !s.is_empty() && !s.ends_with('\n') {
                    s.push(' ');
                }
                s.push_str(self.spelling(i));
            }
        }
        s
    }
}
