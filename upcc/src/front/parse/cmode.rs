//! Which text is C rather than UPC: there UPC's keywords are plain identifiers. That is so in `.h` and `.c`
//! files without any UPC syntax, and in any file from a `#pragma upc c_code` to the next `#pragma upc
//! upc_code` or the end of that file.

use crate::front::keyword::{Kw, keyword};
use crate::front::token::*;

/// Per token: whether it is C text. Empty if none is.
pub(crate) fn c_mode(toks: &TokenBuf) -> Vec<bool> {
    let header = c_by_name(toks);
    let (uses_keyword, upc) = syntax(toks, &header);
    let mut file: Vec<bool> = (0..header.len()).map(|f| header[f] && uses_keyword[f] && !upc[f]).collect();
    let said = |t: &Token| {
        let text = &toks.text[t.offset as usize..(t.offset + t.len) as usize];
        let mut w = text.trim_start_matches('#').split_whitespace();
        if w.next() == Some("pragma") && w.next() == Some("upc") { w.next() } else { None }
    };
    let pragma = |t: &&Token| t.kind == TokKind::Pragma && matches!(said(t), Some("c_code" | "upc_code"));
    if !file.contains(&true) && !toks.toks.iter().any(|t| pragma(&t)) {
        return Vec::new();
    }
    let mut mode = |t: &Token| {
        if t.kind == TokKind::Pragma {
            match said(t) {
                Some("c_code") => file[t.file as usize] = true,
                Some("upc_code") => file[t.file as usize] = false,
                _ => {}
            }
        }
        file[t.file as usize]
    };
    toks.toks.iter().map(&mut mode).collect()
}

/// Whether this is a unit of UPC: by the name of its source, or because some file of it has UPC syntax.
pub(crate) fn is_upc(toks: &TokenBuf) -> bool {
    let c = c_by_name(toks);
    // The first name stands for text before any line marker.
    c.get(1) != Some(&true) || syntax(toks, &c).1.contains(&true)
}

/// Per file: whether it is C if nothing in it is UPC.
fn c_by_name(toks: &TokenBuf) -> Vec<bool> {
    toks.files.iter().map(|f| f.name.ends_with(".h") || f.name.ends_with(".c")).collect()
}

/// Per file that may be C: whether it has words that are keywords in UPC, and whether it has UPC syntax.
fn syntax(toks: &TokenBuf, header: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let n = toks.files.len();
    let mut uses_keyword = vec![false; n];
    let mut upc = vec![false; n];
    // A file that declares a name such as THREADS is C, whatever it does with it.
    let mut plain = vec![false; n];
    for (i, t) in toks.toks.iter().enumerate() {
        let f = t.file as usize;
        if upc[f] || !header[f] {
            continue;
        }
        if t.kind == TokKind::Pragma {
            let text = toks.spelling(i as u32);
            let mut w = text.trim_start_matches('#').split_whitespace().skip(1);
            if w.next() == Some("upc") && w.next() != Some("c_code") {
                upc[f] = true;
            }
            continue;
        }
        let TokKind::Ident(s) = t.kind else { continue };
        let Some(k) = keyword(s).filter(|k| k.is_upc()) else { continue };
        uses_keyword[f] = true;
        upc[f] = match k {
            Kw::Shared | Kw::Strict | Kw::Relaxed => reads_as_qualifier(toks, i),
            Kw::Threads | Kw::Mythread => {
                plain[f] |= declared(toks, i);
                !plain[f]
            }
            _ => true,
        };
    }
    (uses_keyword, upc)
}

/// Whether the name at token `i` follows a word for a type, as a name being declared does.
fn declared(toks: &TokenBuf, i: usize) -> bool {
    let Some(TokKind::Ident(s)) = i.checked_sub(1).map(|j| toks.toks[j].kind) else { return false };
    use Kw::*;
    matches!(keyword(s), Some(Char | Double | Float | Int | Long | Short | Signed | Unsigned | Void | Bool))
}

/// Whether `shared`, `strict` or `relaxed` at token `i` reads as a qualifier rather than as a name.
fn reads_as_qualifier(toks: &TokenBuf, i: usize) -> bool {
    let at = |j: usize| toks.toks.get(j).map_or(TokKind::Eof, |t| t.kind);
    let named = |k: TokKind| matches!(k, TokKind::Ident(_));
    match at(i + 1) {
        TokKind::Ident(_) => true,
        TokKind::Punct(Punct::LBracket) => {
            let mut j = i + 1;
            let mut depth = 0;
            loop {
                match at(j) {
                    TokKind::Punct(Punct::LBracket) => depth += 1,
                    TokKind::Punct(Punct::RBracket) => depth -= 1,
                    TokKind::Eof => return false,
                    _ => {}
                }
                j += 1;
                if depth == 0 {
                    break;
                }
            }
            named(at(j)) || at(j) == TokKind::Punct(Punct::Star)
        }
        // `int shared *p` and `T * shared)` against `a * shared)`.
        TokKind::Punct(Punct::Star) => i > 0 && named(at(i - 1)),
        _ => false,
    }
}
