//! Jumps: what `goto` and `switch` must not enter from outside.

use crate::parse::{Cx, Goto, Region};
use crate::token::{Sym, TokIdx};

impl Cx<'_> {
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
            f.regions.get(outside).copied()
        });
        if let Some(r) = entered {
            self.jumps_into("this `switch`", at, r);
        }
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
            let (Some(around), Some(from)) = (f.label_regions.get(&g.label), &g.regions) else { continue };
            let entered = around.iter().find(|r| !from.contains(r)).copied();
            if let Some(r) = entered {
                self.jumps_into("this `goto`", g.at, r);
            }
        }
    }
}
