//! Inline definitions without an external one.
//!
//! In C99 a function whose declarations all say `inline` and never `extern` is an inline definition: a call
//! may use it or a definition in another file. Programs forget that other definition, and then it depends on
//! the optimiser whether they link. Emitted as `static` such a function always serves its own file.

use super::Emitter;
use crate::front::ast::{DeclId, DeclSpec, ItemKind, Linkage, Storage, TranslationUnit};
use crate::front::token::{TokIdx, TokRange};
use std::collections::{HashMap, HashSet};

/// The `inline` token of declaration specifiers.
fn inline_token(u: &TranslationUnit, r: TokRange) -> Option<TokIdx> {
    (r.start..r.end).find(|&i| matches!(u.tokens.spelling(i), "inline" | "__inline" | "__inline__"))
}

/// The text to insert after each token, so that inline definitions without an external one become static.
pub fn make_static(u: &TranslationUnit) -> HashMap<TokIdx, String> {
    let mut places: Vec<(DeclId, TokIdx)> = Vec::new();
    let mut others: HashSet<DeclId> = HashSet::new();
    let mut one = |d: DeclId, spec: &DeclSpec, all: TokRange| {
        let decl = u.decl(d);
        if !decl.inline || decl.system || decl.linkage != Linkage::External {
            return;
        }
        let gnu = || (all.start..all.end).any(|i| u.tokens.spelling(i).contains("gnu_inline"));
        match inline_token(u, spec.toks) {
            Some(t) if spec.inline && spec.storage == Storage::None && !gnu() => places.push((d, t)),
            _ => {
                others.insert(d);
            }
        }
    };
    for item in &u.items {
        match &item.kind {
            ItemKind::Decl(d) => d.declarators.iter().for_each(|i| one(i.decl, &d.spec, d.toks)),
            ItemKind::Func(f) => one(f.decl, &f.spec, TokRange::new(f.toks.start, f.body.toks.start)),
            _ => {}
        }
    }
    // One declaration of several functions is static for all of them or for none.
    let kept: HashSet<TokIdx> = places.iter().filter(|p| others.contains(&p.0)).map(|p| p.1).collect();
    let unsure: HashSet<DeclId> = places.iter().filter(|p| kept.contains(&p.1)).map(|p| p.0).collect();
    let places = places.iter().filter(|p| !others.contains(&p.0) && !unsure.contains(&p.0));
    places.map(|p| (p.1, "static".to_string())).collect()
}

impl Emitter<'_> {
    /// Whether the declaration becomes `static`.
    pub fn made_static(&self, spec: &DeclSpec) -> bool {
        inline_token(self.u, spec.toks).is_some_and(|t| self.out.tags.contains_key(&t))
    }
}
