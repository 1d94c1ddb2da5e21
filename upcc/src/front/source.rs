//! Original source files, read when a diagnostic wants to show a line.

use crate::front::token::{TokIdx, TokenBuf};
use std::collections::HashMap;

/// Lines of the files that diagnostics have named so far.
#[derive(Debug, Default)]
pub struct Sources {
    files: HashMap<u32, Option<Vec<String>>>,
}

impl Sources {
    /// Line `line` (from 1) of file `file`, if the file can be read.
    pub fn line(&mut self, tokens: &TokenBuf, file: u32, line: u32) -> Option<&str> {
        let lines = self.files.entry(file).or_insert_with(|| {
            let info = tokens.files.get(file as usize)?;
            if info.name.starts_with('<') {
                return None;
            }
            let bytes = std::fs::read(&info.path).ok()?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
        });
        lines.as_ref()?.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    /// The source line of a token, and the column (from 1, in characters) and length of the token in it.
    ///
    /// Columns of preprocessed text are off where macros were expanded or white space folded, so the spelling
    /// is looked for in the original line: the occurrence with the same ordinal as in the preprocessed line,
    /// else the nearest.
    pub fn locate(&mut self, tokens: &TokenBuf, tok: TokIdx) -> (Option<String>, u32, u32) {
        let t = *tokens.tok(tok);
        let spelling = tokens.spelling(tok.min(tokens.toks.len() as u32 - 1));
        let len = spelling.chars().count().max(1) as u32;
        let Some(src) = self.line(tokens, t.file, t.line) else {
            let text = preprocessed_line(tokens, &t);
            return (text, t.col, len);
        };
        let src = src.trim_end().to_owned();
        if spelling.is_empty() {
            return (Some(src.clone()), src.chars().count().max(1) as u32, 1);
        }
        let hits = occurrences(&src, spelling);
        let mut nth = 0;
        for i in (0..tok as usize).rev().take(1000) {
            let o = &tokens.toks[i];
            if o.line != t.line || o.file != t.file {
                break;
            }
            if tokens.spelling(i as u32) == spelling {
                nth += 1;
            }
        }
        let col0 = t.col as usize - 1;
        let byte = if hits.contains(&col0) {
            Some(col0)
        } else {
            hits.get(nth).copied().or_else(|| hits.iter().copied().min_by_key(|&h| h.abs_diff(col0)))
        };
        match byte {
            Some(b) => (Some(src.clone()), src[..b].chars().count() as u32 + 1, len),
            None => {
                // From a macro's body: point at the line.
                let indent = src.chars().take_while(|c| c.is_whitespace()).count() as u32;
                (Some(src), indent + 1, 1)
            }
        }
    }

    /// Line `line` of a file, and the column and length of `word` in it; if it is not there, of where the
    /// line begins.
    pub fn locate_word(
        &mut self,
        tokens: &TokenBuf,
        file: u32,
        line: u32,
        word: &str,
    ) -> (Option<String>, u32, u32) {
        let Some(src) = self.line(tokens, file, line) else { return (None, 1, 1) };
        let src = src.trim_end().to_owned();
        let (byte, len) = match occurrences(&src, word).first() {
            Some(&byte) => (byte, word.chars().count() as u32),
            None => (src.len() - src.trim_start().len(), 1),
        };
        let col = src[..byte].chars().count() as u32 + 1;
        (Some(src), col, len)
    }
}

/// The line of preprocessed text that holds the token, if not absurdly long.
fn preprocessed_line(tokens: &TokenBuf, t: &crate::front::token::Token) -> Option<String> {
    let start = (t.offset as usize).checked_sub(t.col as usize - 1)?;
    let line = tokens.text.get(start..)?.lines().next()?;
    (line.len() < 400).then(|| line.to_owned())
}

/// Byte offsets where `word` stands in `src` as a token of its own.
fn occurrences(src: &str, word: &str) -> Vec<usize> {
    let ident = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let wordy = ident(word.chars().next());
    src.match_indices(word)
        .map(|(i, _)| i)
        .filter(|&i| {
            !wordy || (!ident(src[..i].chars().next_back()) && !ident(src[i + word.len()..].chars().next()))
        })
        .collect()
}

/// Where bytes that are no UTF-8 go (a private use area): sources in old encodings keep their bytes from
/// reading to emission.
const RAW: u32 = 0xf700;

/// The text of a source. Bytes that are no UTF-8 become characters that [`encode`] turns back.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| {
        let mut text = String::new();
        for chunk in e.as_bytes().utf8_chunks() {
            text += chunk.valid();
            text.extend(chunk.invalid().iter().filter_map(|&b| char::from_u32(RAW + u32::from(b))));
        }
        text
    })
}

/// The byte that a character of [`decode`] stands for.
pub fn raw_byte(c: char) -> Option<u8> {
    (c as u32).checked_sub(RAW).and_then(|b| u8::try_from(b).ok()).filter(|b| *b >= 0x80)
}

/// The bytes of a text, those that were no UTF-8 as they were.
pub fn encode(text: &str) -> std::borrow::Cow<'_, [u8]> {
    // All of them begin with this byte, hardly anything else does.
    if !text.as_bytes().contains(&0xef) {
        return text.as_bytes().into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match raw_byte(c) {
            Some(b) => bytes.push(b),
            None => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for bytes in [&b"\xff\0a\xc3\xa9\x80z"[..], "é∑".as_bytes(), b"", b"\xef\x9c"] {
            assert_eq!(*encode(&decode(bytes.to_vec())), *bytes);
        }
        assert_eq!(raw_byte('a'), None);
    }
}
