//! Loops over runs of elements, in a form that C compilers vectorise.
//!
//! **Matches** loops over runs, and own elements, that access nothing else but automatic variables, write a
//! declared array, and reduce nothing of floating type.
//!
//! **Nobody can tell**: what is written is no other element of what is accessed, so iterations do not depend
//! on each other, and each does what it did.
//!
//! At `-O2` compilers vectorise a loop only if the vectors take its place altogether: the number of
//! iterations is a multiple of their length, and nothing has to be tested at run time. So a stretch is
//! computed in two loops, the first of which has a number of iterations that is seen to be such a multiple,
//! and says that its iterations do not depend on each other. UPC knows that where C does not: shared arrays
//! with different names are different memory.
//!
//! ```text
//! for (i < n; i++)                                 before
//!     vector: a multiple of 8, in one piece        after
//! ```

use super::Optimiser;
use super::facts::{Element, Facts, names};
use super::stream::{Own, Stream};
use crate::front::ast::{DeclId, ExprKind, NodeId, Stmt, walk};
use crate::front::types::TypeId;
use crate::ir::PAGE;
use crate::ir::Vectors;
use crate::lower;
use std::collections::HashSet;

/// Loop bodies of more tokens are not emitted once more.
const SHORT_BODY: u32 = 120;
/// Bytes in the longest vectors.
const VECTOR: u64 = 64;
/// Fewest iterations that are done together.
const FEWEST: u64 = 8;
/// Arrays with more bytes than this on a thread are likely in memory.
const LARGE: u64 = 8 << 20;

impl<'a> Optimiser<'a> {
    /// Whether iterations over the runs and the thread's own elements, which are all that the body accesses
    /// but for automatic variables, do not depend on each other.
    pub(super) fn vectors(
        &self,
        body: &Stmt,
        var: DeclId,
        streams: &[Stream],
        own: &[Own],
        facts: &Facts,
    ) -> Option<Vectors> {
        let t = &self.u.types;
        let all = || {
            let runs = streams.iter().map(|s| (&s.element, s.writes));
            runs.chain(own.iter().filter_map(|(_, o, w)| o.as_ref().map(|o| (o, *w))))
        };
        if !(self.passes.privatise && self.passes.vector)
            || body.toks.end - body.toks.start > SHORT_BODY
            || facts.calls
            || facts.private_stores
            || own.iter().any(|(_, o, _)| o.is_none())
        {
            return None;
        }
        // No element that is written may be another element of an array that is accessed: iterations would
        // depend on each other.
        let mut writes = false;
        for (w, _) in all().filter(|(_, written)| *written) {
            let array = w.array?;
            if all().any(|(x, _)| x.key != w.key && x.array.is_none_or(|a| a == array)) {
                return None;
            }
            writes = true;
        }
        // Sums are not reordered, so a sum of floating type goes one by one anyway.
        let whole = |d: &DeclId| {
            facts.declared.contains(d) || self.private_scalar(*d) && t.is_integer(self.u.decl(*d).ty)
        };
        let scalar = |ty: TypeId| t.as_scalar(ty).is_some() && t.const_size(ty).is_some_and(|n| n <= 8);
        if !writes || !facts.assigned.iter().all(whole) || !all().all(|(x, _)| scalar(x.ty)) {
            return None;
        }
        let least = all().map(|(x, _)| x.spread.size).min()?;
        // Names of the variable elsewhere than in an index that goes along.
        let (mut named, mut along) = (0, 0);
        let nodes = streams.iter().flat_map(|s| &s.nodes).chain(own.iter().map(|o| &o.0));
        let nodes: HashSet<NodeId> = nodes.map(|e| e.id).collect();
        walk::stmt(body, &mut |_| {}, &mut |e| match &e.kind {
            ExprKind::Name(d) if *d == var => named += 1,
            ExprKind::Index { .. } if nodes.contains(&e.id) => {
                along += usize::from(names(e, var));
            }
            _ => {}
        });
        let chunk = (VECTOR / least.max(1)).max(FEWEST);
        let strip = self.strip(all().map(|(x, _)| x));
        let mut close = Vec::new();
        for (m, s) in streams.iter().enumerate() {
            let same = |x: &&Stream| {
                let gap = x.element.key.apart(&s.element.key);
                gap.is_some_and(|gap| gap * u128::from(s.element.spread.size) < u128::from(VECTOR))
            };
            if streams[..m].iter().any(|x| same(&x)) {
                close.push(m);
            }
        }
        Some(Vectors { chunk, counted: named != along, strip, close })
    }

    /// Elements in a strip, if these are of arrays that no cache holds.
    pub(super) fn strip<'e>(&self, elements: impl Iterator<Item = &'e Element<'a>> + Clone) -> Option<u64>
    where
        'a: 'e,
    {
        let arrays = elements.clone().filter_map(|x| x.array);
        let bytes = arrays.map(|d| lower::bytes_per_thread(self.u, self.u.decl(d).ty));
        let least = elements.map(|x| x.spread.size).min()?;
        (bytes.max()? > LARGE).then_some(PAGE / least.max(1))
    }
}
