//! Jumps: what `goto` and `switch` must not enter from outside, and what jumps should not leave.

use super::read::{Goto, Region};
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx};

impl Sema<'_> {
    /// How many regions enclose this place.
    pub(crate) fn regions(&self) -> usize {
        self.func.as_ref().map_or(0, |f| f.regions.len())
    }

    /// Leaves the regions entered since there were `n`.
    pub(crate) fn leave_regions(&mut self, n: usize) {
        if let Some(f) = &mut self.func {
            f.regions.truncate(n);
        }
    }

    pub(crate) fn enter_region(&mut self, r: Region) {
        if let Some(f) = &mut self.func {
            f.regions.push(r);
        }
    }

    pub(crate) fn add_goto(&mut self, label: Sym, at: TokIdx) {
        if let Some(f) = &mut self.func {
            f.gotos.push(Goto { label, at, regions: Some(f.regions.clone()) });
        }
    }

    pub(crate) fn add_label_address(&mut self, label: Sym, at: TokIdx) {
        if let Some(f) = &mut self.func {
            f.gotos.push(Goto { label, at, regions: None });
        }
    }

    pub(crate) fn add_label(&mut self, label: Sym, at: TokIdx) {
        if let Some(f) = &mut self.func {
            f.labels.insert(label, at);
            if !f.regions.is_empty() {
                f.label_regions.insert(label, f.regions.clone());
            }
        }
    }

    /// `case` and `default`: in no region that the `switch` is not in.
    pub(crate) fn check_case_place(&mut self, at: TokIdx) {
        let entered = self.func.as_ref().and_then(|f| {
            let outside = f.switches.last()?.regions;
            worst(f.regions.get(outside..)?)
        });
        if let Some(r) = entered {
            self.jumps_into("this `switch`", at, r);
        }
    }

    /// `return`: out of no `upc_forall`.
    pub(crate) fn check_return_place(&mut self, at: TokIdx) {
        if self.func.as_ref().is_some_and(|f| f.regions.iter().any(is_forall)) {
            self.jumps_out("return", at);
        }
    }

    /// UPC 6.6.2: undefined, but it compiles.
    pub(crate) fn jumps_out(&mut self, what: &str, at: TokIdx) {
        self.warn(
            at,
            format!("`{what}` out of a `upc_forall` is undefined: other threads go on with the loop"),
        );
    }

    fn jumps_into(&mut self, what: &str, at: TokIdx, r: Region) {
        match r {
            Region::Sized(tok) => {
                let name = self.toks.spelling(tok).to_owned();
                let text =
                    format!("{what} jumps into the scope of `{name}`, whose size is known at run time only");
                self.error(at, text);
                self.note(tok, format!("`{name}` is declared here"));
            }
            Region::StmtExpr(tok) => {
                self.error(at, format!("{what} jumps into a statement expression"));
                self.note(tok, "it begins here");
            }
            Region::Forall(tok) => {
                self.warn(at, format!("{what} jumps into the body of a `upc_forall`, which is undefined"));
                self.note(tok, "it begins here");
            }
        }
    }

    /// At the end of a function: every `goto` has its label, outside of what the `goto` is not in.
    pub(crate) fn check_labels(&mut self) {
        let Some(f) = &mut self.func else { return };
        let (gotos, nested) = (std::mem::take(&mut f.gotos), f.nested);
        for g in gotos {
            let Some(f) = &self.func else { return };
            if !f.labels.contains_key(&g.label) {
                // A nested function sees the labels around it.
                if !nested {
                    let text = format!("there is no label `{}` in this function", self.name(g.label));
                    self.error(g.at, text);
                }
                continue;
            }
            let Some(from) = &g.regions else { continue };
            let around = f.label_regions.get(&g.label).map_or(&[][..], Vec::as_slice);
            let entered: Vec<_> = around.iter().filter(|r| !from.contains(r)).copied().collect();
            let leaves = from.iter().any(|r| is_forall(r) && !around.contains(r));
            if let Some(r) = worst(&entered) {
                self.jumps_into("this `goto`", g.at, r);
            }
            if leaves {
                self.jumps_out("goto", g.at);
            }
        }
    }
}

fn is_forall(r: &Region) -> bool {
    matches!(r, Region::Forall(_))
}

/// Of the regions entered, one that cannot be, else the first.
fn worst(entered: &[Region]) -> Option<Region> {
    entered.iter().find(|r| !is_forall(r)).or(entered.first()).copied()
}
