//! Elements that are the thread's own in every iteration of a `upc_forall` are used through C pointers.
//!
//! **Matches** elements of the array that the affinity names, at the same index, and of other declared arrays
//! that are dealt out alike. If the body accesses nothing else, and the loop variable is only used to find
//! them, the loop runs over the thread's memory (`Own::Memory`), else over it block by block. Elements that
//! are not the thread's own by their index are found near or far at run time (`stream`).
//!
//! **Nobody can tell**: the memory is the same, and accesses by pointers are in the order of the source.
//!
//! ```text
//! upc_forall (i < n; i++; &c[i])         before; it writes c[i] and reads d[i], c[i + 1]
//!     privatise: c[i], d[i]              after
//! ```

use super::Optimiser;
use super::facts::{Element, Facts, is_array};
use crate::front::ast::{DeclId, Expr, ExprKind, Forall, UnOp, walk};
use crate::ir::{Context, Memory, Owned};
use std::rc::Rc;

/// Bodies of fewer tokens than this may be emitted once more.
const SHORT_BODY: u32 = 120;

/// The thread's own elements that a body uses.
pub(super) struct OwnElements<'a> {
    pub elements: Vec<(Element<'a>, Vec<&'a Expr>)>,
    /// Iterations do not depend on each other through memory, and the loop variable is only used to find the
    /// elements.
    nothing_else: bool,
}

impl<'a> Optimiser<'a> {
    /// Accesses to elements that are one's own whenever the iteration is, `el` being that of the affinity.
    pub(super) fn own_elements(
        &self,
        f: &'a Forall,
        var: DeclId,
        el: &Element<'a>,
        facts: &Facts,
    ) -> OwnElements<'a> {
        let u = self.u;
        let mut elements: Vec<(Element<'a>, Vec<&'a Expr>)> = Vec::new();
        let (mut named, mut indices) = (0, 0);
        let mut memory = false;
        walk::stmt(&f.body, &mut |_| {}, &mut |e| match &e.kind {
            ExprKind::Name(d) if *d == var => named += 1,
            ExprKind::Name(d) => {
                let ty = u.decl(*d).ty;
                memory |= u.types.is_shared(ty) && !u.types.is_array(ty);
            }
            ExprKind::Index { base, .. } => match self.element(e, var, facts) {
                Some(x) if beside(&x, el) && self.passes.privatise => {
                    indices += 1;
                    match elements.iter_mut().find(|(o, _)| o.key == x.key) {
                        Some((_, list)) => list.push(e),
                        None => elements.push((x, vec![e])),
                    }
                }
                _ => memory |= !is_array(base),
            },
            ExprKind::Unary { op: UnOp::Deref, .. } | ExprKind::Member { arrow: true, .. } => memory = true,
            // An address needs the loop variable.
            ExprKind::Unary { op: UnOp::AddrOf, expr } if u.types.is_shared(expr.ty) => named += 1,
            _ => {}
        });
        // Declared arrays are distinct, and nothing else is touched.
        let independent = !facts.calls
            && !memory
            && !facts.private_stores
            && facts.assigned.iter().all(|d| self.private_scalar(*d))
            && elements.iter().all(|(o, _)| o.array.is_some() && o.key.outer.is_empty());
        let only_index = named == indices && el.array.is_some() && el.key.outer.is_empty();
        OwnElements { nothing_else: independent && only_index && !elements.is_empty(), elements }
    }

    /// The loop over the thread's memory, if the body accesses nothing else.
    pub(super) fn whole_memory(
        &self,
        f: &'a Forall,
        el: &Element<'a>,
        found: &OwnElements<'a>,
        within: &Rc<Context>,
    ) -> Option<Memory<'a>> {
        let short = f.body.toks.end - f.body.toks.start < SHORT_BODY;
        let elements = || found.elements.iter();
        (self.passes.vector && found.nothing_else && short).then(|| Memory {
            block: el.spread.block,
            strip: self.strip(elements().map(|(o, _)| o)),
            elements: elements().map(|(o, nodes)| self.owned(o.clone(), nodes.clone(), None)).collect(),
            body: self.statement(&f.body, within),
        })
    }

    /// The own element with the accesses to it. Its place is `None` if it is the element that the affinity
    /// names.
    pub(super) fn owned(
        &self,
        o: Element<'a>,
        nodes: Vec<&'a Expr>,
        affinity: Option<&Element<'a>>,
    ) -> Owned<'a> {
        let same = affinity.is_some_and(|el| o.key == el.key);
        let at = (!same).then(|| self.place(nodes[0]));
        Owned { at, nodes, array: o.array, ty: o.ty, size: o.spread.size }
    }
}

/// Whether `x` is on the thread of `el` in every iteration, at the same place of its block.
fn beside(x: &Element<'_>, el: &Element<'_>) -> bool {
    x.spread.block == el.spread.block
        && x.key.index == el.key.index
        && (x.key == el.key
            || x.array.is_some() && el.array.is_some() && x.key.outer.is_empty() && el.key.outer.is_empty())
}
