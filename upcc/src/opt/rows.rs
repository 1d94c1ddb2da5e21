//! Indices of nested arrays become one walk from the first element of the outermost. Part of pass `hoist`.
//!
//! **Matches** places that are a sum of moves with the same spread. A row of a nested array is elements of
//! the same spread as its own: `g[r][c]` moves `r` rows and then `c` elements on, which is one move by their
//! sum. One address is computed instead of two, and C compilers see an induction variable.
//!
//! **Nobody can tell**: moves add up.
//!
//! ```text
//! element(start(element(start(g), [r + 1 of ROW], 8 x 8)), [c], 8 x 8)      before
//! element(start(g), [r + 1 of ROW, c], 8 x 8)                               after
//! ```

use crate::ir::Place;

/// The place with subscripts joined, wherever they are in it.
pub fn join(place: Place<'_>) -> Place<'_> {
    match place {
        Place::Element { from, mut by, spread, exists } => match join(*from) {
            Place::Start(row) => match *row {
                Place::Element { from, by: mut outer, spread: s, .. } if s == spread => {
                    outer.append(&mut by);
                    Place::Element { from, by: outer, spread, exists }
                }
                other => Place::Element { from: Box::new(Place::Start(Box::new(other))), by, spread, exists },
            },
            from => Place::Element { from: Box::new(from), by, spread, exists },
        },
        Place::Start(of) => Place::Start(inside(*of)),
        Place::Moved { from, by, back, spread } => Place::Moved { from: inside(*from), by, back, spread },
        Place::Member { of, record, path } => Place::Member { of: inside(*of), record, path },
        Place::Part { of, bytes } => Place::Part { of: inside(*of), bytes },
        Place::NoPhase(of) => Place::NoPhase(inside(*of)),
        Place::After(e, then) => Place::After(e, inside(*then)),
        Place::Either(c, a, b) => Place::Either(c, inside(*a), inside(*b)),
        Place::OrElse(a, b) => Place::OrElse(inside(*a), inside(*b)),
        whole @ (Place::Variable(_) | Place::Pointer(_) | Place::Null) => whole,
    }
}

fn inside(place: Place<'_>) -> Box<Place<'_>> {
    Box::new(join(place))
}
