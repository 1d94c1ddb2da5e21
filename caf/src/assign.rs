//! Assignment of sections that are both mapped here: loops over their elements.
#![expect(unsafe_code, reason = "copies between variables of compiled code and segments")]

use crate::convert::{Conversion, convert};
use crate::descriptor::{Axis, Descriptor, Element, Section};
use crate::stat::Failure;
use gasnet_wire::bytes;

/// Elements here.
#[derive(Debug, Clone)]
pub struct Local {
    /// Their addresses.
    pub section: Section,
    /// Their type.
    pub element: Element,
}

impl Local {
    /// What a descriptor describes.
    pub fn of(descriptor: Descriptor, kind: i32) -> Local {
        let at = descriptor.base().expose_provenance();
        Local { section: descriptor.section(at), element: descriptor.element(kind) }
    }
}

/// Elements here that may be a copy.
#[derive(Debug)]
pub struct HeldElements {
    /// The elements.
    pub local: Local,
    /// Where they are if they are a copy: one after the other.
    copy: Option<Vec<u8>>,
}

impl HeldElements {
    /// Elements where they are; with `copy` a copy of them.
    ///
    /// # Errors
    /// None that these elements could have.
    ///
    /// # Safety
    /// 1. There are elements of this type (owed by the caller).
    pub unsafe fn of(local: Local, copy: bool) -> Result<HeldElements, Failure> {
        if !copy {
            return Ok(HeldElements { local, copy: None });
        }
        let held = HeldElements::room(local.section.extents(), local.element);
        // SAFETY: (1); the copy has as many.
        unsafe { assign(held.local.clone(), local, Way::Load) }?;
        Ok(held)
    }

    /// What they hold if they are a copy: one after the other.
    pub fn data(&self) -> &[u8] {
        self.copy.as_deref().unwrap_or_default()
    }

    /// A copy of elements as elements of another type, with these extents.
    ///
    /// # Errors
    /// The shapes differ, or there is no conversion.
    ///
    /// # Safety
    /// As of [`HeldElements::of`].
    pub unsafe fn converted(from: Local, extents: Vec<usize>, to: Element) -> Result<HeldElements, Failure> {
        let held = HeldElements::room(extents, to);
        // SAFETY: (1); the copy has as many.
        unsafe { assign(held.local.clone(), from, Way::Load) }?;
        Ok(held)
    }

    /// Zeros of so many.
    pub fn room(extents: Vec<usize>, element: Element) -> HeldElements {
        HeldElements::packed(vec![0; extents.iter().product::<usize>() * element.bytes], &extents, element)
    }

    /// A copy: elements of these extents, one after the other.
    pub fn packed(mut bytes: Vec<u8>, extents: &[usize], element: Element) -> HeldElements {
        let section = Section::contiguous(bytes.as_mut_ptr().expose_provenance(), extents, element.bytes);
        HeldElements { local: Local { section, element }, copy: Some(bytes) }
    }
}

/// Which side other images may access meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The one that is read.
    Load,
    /// The one that is written.
    Store,
}

/// One side of a loop: where each of its steps leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps<'a> {
    Even(isize),
    Listed(&'a [isize]),
}

impl Steps<'_> {
    fn of(axis: &Axis) -> Steps<'_> {
        match axis {
            Axis::Regular { step, .. } => Steps::Even(*step),
            Axis::Listed(list) => Steps::Listed(list),
        }
    }

    #[inline]
    fn place(&self, i: usize) -> isize {
        match self {
            Steps::Even(step) => step.wrapping_mul(i as isize),
            Steps::Listed(list) => list[i],
        }
    }

    /// Whether a loop of these steps around one of `inner` steps, `count` times, goes on where that ends.
    fn continues(&self, inner: &Steps<'_>, count: usize) -> bool {
        match (self, inner) {
            (Steps::Even(outer), Steps::Even(inner)) => *outer == inner.wrapping_mul(count as isize),
            _ => false,
        }
    }
}

/// A loop over both sides.
#[derive(Debug, Clone, Copy)]
struct Loop<'a> {
    count: usize,
    to: Steps<'a>,
    from: Steps<'a>,
}

/// The loops over both sections. Their elements correspond, or `from` is one element for all.
///
/// # Errors
/// Their shapes differ.
fn loops<'a>(to: &'a Section, from: &'a Section) -> Result<Vec<Loop<'a>>, Failure> {
    let one = from.axes.is_empty();
    if !one && to.extents() != from.extents() {
        return Err(mismatch(&to.extents(), &from.extents()));
    }
    let mut all: Vec<Loop<'a>> = Vec::with_capacity(to.axes.len());
    for (i, axis) in to.axes.iter().enumerate() {
        let steps = if one { Steps::Even(0) } else { Steps::of(&from.axes[i]) };
        let next = Loop { count: axis.count(), to: Steps::of(axis), from: steps };
        match all.last_mut() {
            Some(last)
                if next.to.continues(&last.to, last.count) && next.from.continues(&last.from, last.count) =>
            {
                last.count *= next.count;
            }
            _ => all.push(next),
        }
    }
    Ok(all)
}

/// Whether two shapes are the same but for dimensions of one element.
///
/// # Errors
/// They are not.
pub fn same_shape(to: &[usize], from: &[usize]) -> Result<(), Failure> {
    let longer = |all: &'_ [usize]| all.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    if longer(to) == longer(from) { Ok(()) } else { Err(mismatch(to, from)) }
}

#[cold]
fn mismatch(to: &[usize], from: &[usize]) -> Failure {
    Failure::other(format!("array bounds mismatch: shape {from:?} is assigned to shape {to:?}"))
}

/// The conversion from one type to another.
///
/// # Errors
/// There is none.
pub fn conversion(to: Element, from: Element) -> Result<Conversion, Failure> {
    Conversion::between(to, from).ok_or_else(|| {
        let name = |e: Element| format!("{}({}) of {} bytes", e.class.name(), e.kind, e.bytes);
        Failure::other(format!("{} cannot be assigned to {}", name(from), name(to)))
    })
}

/// Assigns elements to elements; one to all if there is one only. Axes of one element do not count.
///
/// # Errors
/// The shapes differ, or there is no conversion.
///
/// # Safety
/// 1. The places of both are addresses of elements of these types (owed by the caller). 2. They do not
///    overlap, unless both are contiguous (owed by the caller).
pub unsafe fn assign(to: Local, from: Local, way: Way) -> Result<(), Failure> {
    let (to_type, from_type) = (to.element, from.element);
    let how = conversion(to_type, from_type)?;
    let (to, from) = (to.section.simplified(), from.section.simplified());
    let mut loops = loops(&to, &from)?;
    let (at, source) = (pointer(to.at), pointer(from.at));
    let Conversion::Same(bytes) = how else {
        // SAFETY: (1), (2).
        unsafe { run(&loops, at, source, &|to, from| convert(how, (to, to_type), (from, from_type))) };
        return Ok(());
    };
    // Elements without gaps on both sides are one.
    let step = Steps::Even(bytes as isize);
    let together = loops.first().is_some_and(|first| first.to == step && first.from == step);
    let length = if together { loops.remove(0).count * bytes } else { bytes };
    let copy = match way {
        Way::Load => bytes::load,
        Way::Store => bytes::store,
    };
    // The length of common elements is known where they are copied.
    match (length, way) {
        (0, _) => {}
        // SAFETY: (1), (2), as of all below.
        (4, Way::Load) => unsafe { run(&loops, at, source, &|to, from| bytes::load(to, from, 4)) },
        // SAFETY: see above.
        (8, Way::Load) => unsafe { run(&loops, at, source, &|to, from| bytes::load(to, from, 8)) },
        // SAFETY: see above.
        (4, Way::Store) => unsafe { run(&loops, at, source, &|to, from| bytes::store(to, from, 4)) },
        // SAFETY: see above.
        (8, Way::Store) => unsafe { run(&loops, at, source, &|to, from| bytes::store(to, from, 8)) },
        // SAFETY: see above.
        _ => unsafe { run(&loops, at, source, &|to, from| copy(to, from, length)) },
    }
    Ok(())
}

/// Calls `each` with the places and lengths of the runs that elements make, one after the other.
pub fn runs(section: &Section, bytes: usize, mut each: impl FnMut(usize, usize)) {
    let section = section.clone().simplified();
    let (mut run, mut axes) = (bytes, &section.axes[..]);
    while let [Axis::Regular { count, step }, rest @ ..] = axes
        && *step == run as isize
    {
        (run, axes) = (run * count, rest);
    }
    for mut item in 0..if run == 0 { 0 } else { axes.iter().map(Axis::count).product() } {
        let mut place = section.at;
        for axis in axes {
            place = place.wrapping_add_signed(axis.place(item % axis.count()));
            item /= axis.count();
        }
        each(place, run);
    }
}

fn pointer(address: usize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Calls `each` with the places of all elements.
///
/// # Safety
/// 1. `each` may be called with all of them (owed by the caller).
#[inline]
unsafe fn run<F: Fn(*mut u8, *const u8)>(loops: &[Loop<'_>], to: *mut u8, from: *const u8, each: &F) {
    match loops {
        [] => each(to, from),
        [Loop { count, to: Steps::Even(step), from: Steps::Even(other) }] => {
            let (mut to, mut from) = (to, from);
            for _ in 0..*count {
                each(to, from);
                (to, from) = (to.wrapping_offset(*step), from.wrapping_offset(*other));
            }
        }
        [inner @ .., outer] => {
            for i in 0..outer.count {
                let (to, from) =
                    (to.wrapping_offset(outer.to.place(i)), from.wrapping_offset(outer.from.place(i)));
                // SAFETY: (1).
                unsafe { run(inner, to, from, each) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Class;

    const LONG: Element = Element { class: Class::Integer, kind: 8, bytes: 8 };
    const SHORT: Element = Element { class: Class::Integer, kind: 4, bytes: 4 };

    fn local(section: Section, element: Element) -> Local {
        Local { section, element }
    }

    fn regular(count: usize, step: isize) -> Axis {
        Axis::Regular { count, step }
    }

    #[test]
    fn sections_vectors_and_scalars() {
        let source: Vec<i64> = (0..100).collect();
        let at = source.as_ptr().expose_provenance();
        let mut target = vec![0i32; 6];
        let to = || Section { at: 0, axes: vec![regular(2, 4), regular(3, 8)] };
        let mut run = |from: Section| {
            let to = Section { at: target.as_mut_ptr().expose_provenance(), ..to() };
            // SAFETY: addresses of the two vectors.
            unsafe { assign(local(to, SHORT), local(from, LONG), Way::Load) }.map(|()| target.clone())
        };
        // source(9:8:-1, [4, 2, 7]) of an array of ten rows.
        let listed = Axis::Listed([4, 2, 7].map(|i| i * 80).to_vec());
        let from = Section { at: at + 9 * 8, axes: vec![regular(2, -8), regular(1, 800), listed] };
        assert_eq!(run(from), Ok(vec![49, 48, 29, 28, 79, 78]));
        assert_eq!(run(Section::scalar(at + 8 * 33)), Ok(vec![33; 6]));
        assert_eq!(run(Section::contiguous(at, &[2, 3], 8)), Ok(vec![0, 1, 2, 3, 4, 5]));
        let e = run(Section::contiguous(at, &[3, 2], 8)).unwrap_err();
        assert!(e.text.contains("shape [3, 2] is assigned to shape [2, 3]"), "{}", e.text);
    }

    #[test]
    fn elements_without_gaps_are_one() {
        let to = Section::contiguous(0, &[4, 5, 6], 8);
        assert_eq!(loops(&to, &Section::contiguous(0, &[4, 5, 6], 8)).unwrap().len(), 1);
        let rows = Section { at: 0, axes: vec![regular(4, 8), regular(5, 64), regular(6, 320)] };
        assert_eq!(loops(&to, &rows).unwrap().len(), 2);
        assert_eq!(loops(&to, &Section::scalar(0)).unwrap().len(), 1);
    }

    #[test]
    fn runs_are_the_elements_in_order() {
        let source: Vec<i64> = (0..100).collect();
        let at = source.as_ptr().expose_provenance();
        let listed = Axis::Listed([4, 2, 7].map(|i| i * 80).to_vec());
        let backwards = vec![regular(2, -8), listed.clone(), regular(1, 800)];
        let rows = vec![regular(3, 8), listed];
        for (section, lengths) in [
            (Section::contiguous(at, &[5, 2, 3], 8), vec![240]),
            (Section { at: at + 72, axes: backwards }, vec![8; 6]),
            (Section { at, axes: rows }, vec![24; 3]),
            (Section::scalar(at + 8), vec![8]),
            (Section::contiguous(at, &[5, 0], 8), vec![]),
        ] {
            let (mut copied, mut parts): (Vec<i64>, Vec<usize>) = (Vec::new(), Vec::new());
            runs(&section, 8, |at, n| {
                // SAFETY: elements of the vector.
                copied.extend((at..at + n).step_by(8).map(|at| unsafe { pointer(at).cast::<i64>().read() }));
                parts.push(n);
            });
            let mut assigned = vec![0i64; section.count()];
            let to = assigned.as_mut_ptr().expose_provenance();
            let to = Section::contiguous(to, &section.extents(), 8);
            // SAFETY: addresses of the two vectors.
            unsafe { assign(local(to, LONG), local(section.clone(), LONG), Way::Load) }.unwrap();
            assert_eq!((&copied, parts), (&assigned, lengths), "{section:?}");
        }
    }

    #[test]
    fn nothing_is_copied_for_no_elements() {
        let to = Section { at: 0, axes: vec![regular(0, 8), regular(3, 8)] };
        let from = Section { at: 0, axes: vec![regular(0, 8), regular(3, 16)] };
        // SAFETY: no elements.
        assert_eq!(unsafe { assign(local(to, LONG), local(from, LONG), Way::Store) }, Ok(()));
    }
}
