//! `upc_forall` loops that visit the thread's own iterations only.
//!
//! **Matches** a `upc_forall` that counts its variable up by one to a bound that stays the same, whose
//! affinity is an element of an array at the variable plus something that stays the same, a place in such a
//! row, or such a number. Nothing leaves the loop early.
//!
//! **Nobody can tell.** Of the elements that `upc_forall (i = lo; i < hi; i++; &a[i + c])` counts through,
//! the first has a thread t and a phase; from these alone follows which of the others are one's own: blocks
//! of B elements, the first of them `((me - t) mod THREADS) * B - phase` elements away (negative: the count
//! begins inside it), then every B * THREADS elements. In memory one's own blocks follow each other. The
//! iterations of a thread stay in their order; those of other threads only tested the affinity, which has no
//! effect. All this is for the case that no `upc_forall` encloses the loop, as the program runs; the loop as
//! written is emitted too, compactly.
//!
//! Three forms, chosen by what the body does:
//! - the loop variable is only used as the index of own elements: one loop over consecutive memory
//!   (`privatise`);
//! - block size 1, or integer affinity: every THREADS-th value of the loop variable;
//! - otherwise: a loop over blocks and one inside them.
//!
//! The last two go through `stream` for elements that are not the thread's own, such as a neighbour's.
//!
//! ```text
//! upc_forall (i < n; i++; &a[i + 3])                                          before
//! forall: i < n, blocks of 64, from element(start(a), [i + 3], 64 x 8)        after
//! ```

use super::facts::{Element, Facts, breaks, names};
use super::{LEFT_ALONE, Optimiser};
use crate::front::ast::{Affinity, BinOp, Conv, DeclId, Expr, ExprKind, ForInit, Forall, UnOp};
use crate::ir::{Blocks, Context, CountStep, OwnIterations, Share, Style};
use crate::lower;
use std::rc::Rc;

/// The owner of an iteration: the thread that executes it.
enum Owner<'a> {
    /// The owner of this element.
    Element(Box<Element<'a>>, &'a Expr),
    /// The owner of an element in a row of `row` elements, where the loop variable counts rows. A block
    /// holds `rows` whole rows.
    Row { place: &'a Expr, row: u64, rows: u64 },
    /// Thread `e mod THREADS`.
    Number(&'a Expr),
}

impl<'a> Optimiser<'a> {
    /// The affinity, if it counts along with the loop variable.
    fn owner(&self, a: &'a Affinity, var: DeclId, facts: &Facts) -> Option<Owner<'a>> {
        match a {
            Affinity::Always => None,
            Affinity::Int(e) => {
                self.affine(e, var, facts).filter(|a| a.factor == 1)?;
                Some(Owner::Number(e))
            }
            Affinity::Pts(e) => {
                let mut e = e.unparen();
                while let ExprKind::Implicit { conv: Conv::PtsToPts { .. }, expr } = &e.kind {
                    e = expr.unparen();
                }
                match &e.kind {
                    ExprKind::Unary { op: UnOp::AddrOf, expr } => {
                        let place = expr.unparen();
                        let Some(el) = self.element(place, var, facts) else {
                            return self.row(place, var, facts);
                        };
                        (el.spread.block > 0).then(|| Owner::Element(Box::new(el), place))
                    }
                    ExprKind::Binary { op: BinOp::Add, lhs, rhs } => {
                        let (p, i) = if self.u.types.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
                        let el = self.pointed(p, i, var, facts)?;
                        (el.spread.block > 0).then(|| Owner::Element(Box::new(el), e))
                    }
                    _ => None,
                }
            }
        }
    }

    /// An element of row `var` of a declared array, always at the same place of the row.
    fn row(&self, place: &'a Expr, var: DeclId, facts: &Facts) -> Option<Owner<'a>> {
        let t = &self.u.types;
        let (mut at, mut column, mut row) = (place, 0, None);
        loop {
            let ExprKind::Index { base, index } = &at.unparen().kind else { return None };
            let pointee = t.pointee(base.ty)?;
            let count = t.const_size(pointee)? / lower::spread(self.u, base.ty).size.max(1);
            match (row, names(index, var)) {
                (None, false) => column += u64::try_from(index.int()?).ok()? * count,
                (None, true) => {
                    self.affine(index, var, facts).filter(|a| a.factor == 1)?;
                    row = Some(count);
                }
                // Rows of rows.
                (Some(_), names) => {
                    if names || !self.invariant(index, facts) {
                        return None;
                    }
                }
            }
            if lower::declared_array(base).is_some() {
                let (row, block) = (row?, lower::spread(self.u, base.ty).block);
                let whole = row > 0 && block > 0 && block % row == 0 && column < row;
                return whole.then_some(Owner::Row { place, row, rows: block / row });
            }
            let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind else {
                return None;
            };
            at = expr;
        }
    }

    /// A `upc_forall` through the thread's own elements, or why it tests each. `inside` is the context of its
    /// body.
    pub(super) fn share(
        &self,
        f: &'a Forall,
        around: &Context,
        inside: &Rc<Context>,
    ) -> Result<Share<'a>, &'static str> {
        if !self.passes.forall || around.style == Style::Compact {
            return Err(LEFT_ALONE);
        }
        if matches!(f.affinity, Affinity::Always) {
            return Err("the upc_forall has no affinity");
        }
        if around.in_forall {
            return Err("the upc_forall is inside another");
        }
        let count =
            self.count(f.cond.as_deref(), f.step.as_deref()).ok_or("the loop does not count up by one")?;
        let facts = Facts::of(&f.body, self.u);
        if let ForInit::Decl(d) = &f.init
            && (d.has_upc || d.declarators.len() != 1 || d.declarators[0].decl != count.var)
        {
            return Err("the loop declares more than its variable");
        }
        if facts.labels || breaks(&f.body) {
            return Err("the loop may end early");
        }
        if !self.counts(count.var, &facts) {
            return Err("the loop variable may change in the loop");
        }
        if !self.invariant(count.bound, &facts) || names(count.bound, count.var) {
            return Err("the bound may change in the loop");
        }
        let owner = self.owner(&f.affinity, count.var, &facts);
        let owner = owner.ok_or("the affinity does not run along with the loop variable")?;
        let iterations =
            |step, within: &Rc<Context>| self.best_iterations(&f.body, count.var, step, &facts, within);
        let own = match owner {
            Owner::Number(e) => OwnIterations::Turns(e, iterations(CountStep::Threads, inside)),
            Owner::Row { place, row, rows } => {
                let each = iterations(if rows == 1 { CountStep::Threads } else { CountStep::One }, inside);
                OwnIterations::Rows {
                    at: self.place(place),
                    row,
                    blocks: Blocks { block: rows, elements: Vec::new(), each },
                }
            }
            Owner::Element(el, place) => {
                let at = match &place.kind {
                    ExprKind::Index { .. } => self.place(place),
                    _ => self.pointed_to(place),
                };
                let found = self.own_elements(f, count.var, &el, &facts);
                let mut within = (**inside).clone();
                within.bound.extend(found.elements.iter().flat_map(|(_, nodes)| nodes).map(|e| e.id));
                let within = Rc::new(within);
                match self.whole_memory(f, &el, &found, &within) {
                    Some(memory) => OwnIterations::Memory(at, Box::new(memory)),
                    None => {
                        let step = if el.spread.block == 1 { CountStep::Threads } else { CountStep::One };
                        let each = iterations(step, &within);
                        let elements = found.elements.into_iter();
                        let elements = elements.map(|(o, nodes)| self.owned(o, nodes, Some(&el))).collect();
                        OwnIterations::Blocks(at, Blocks { block: el.spread.block, elements, each })
                    }
                }
            }
        };
        let compact = Context { style: Style::Compact, ..(**inside).clone() };
        Ok(Share {
            forall: f,
            nests: lower::may_nest(&f.body, self.u),
            returns: facts.returns,
            rare: self.statement(&f.body, &Rc::new(compact)),
            count,
            own,
        })
    }
}
