use super::wire::{Parser, Writer};
use super::*;

/// Bytes at addresses.
struct Memory(Vec<(usize, Vec<u8>)>);

impl Reader for Memory {
    fn copy(&self, to: &mut [u8], from: usize) -> bool {
        self.0.iter().any(|(at, bytes)| {
            let there = from.checked_sub(*at).and_then(|at| bytes.get(at..at + to.len()));
            there.inspect(|there| to.copy_from_slice(there)).is_some()
        })
    }
}

/// A descriptor: base, span, dimensions.
fn described(base: usize, span: isize, dimensions: &[[isize; 3]]) -> Vec<u8> {
    let mut words = vec![base as isize, 0, span, 0, span];
    words.extend(dimensions.iter().flatten());
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

fn component(offset: isize, indirect: bool, bytes: usize) -> Step {
    Step::Component { offset, indirect, bytes }
}

fn array(bounds: Bounds, subscripts: Vec<Subscript>, bytes: usize) -> Step {
    Step::Array { bounds, subscripts, bytes }
}

/// `x%a(-1:2,5)`, where `a` is allocated as `a(-2:3, 4:6)` of 8 bytes.
fn memory() -> Memory {
    Memory(vec![
        (0x1000, [vec![0; 16], described(0x9000, 8, &[[1, -2, 3], [6, 4, 6]])].concat()),
        (0x2000, [0usize.to_ne_bytes(), 0x7000usize.to_ne_bytes()].concat()),
    ])
}

#[test]
fn descriptors_are_followed() {
    use Subscript::*;
    let through = |subscripts| {
        let steps = [component(16, true, 8), array(Bounds::Descriptor, subscripts, 8)];
        walk(&memory(), 0x1000, &steps)
    };
    let at = |i: isize, j: isize| 0x9000 + 8 * ((i + 2) + 6 * (j - 4)) as usize;
    let row = through(vec![Range(-1, 2, 1), Single(5)]).unwrap();
    assert_eq!(row.section, Section { at: at(-1, 5), axes: vec![Axis::Regular { count: 4, step: 8 }] });
    let all = through(vec![Full(1), Full(1)]).unwrap();
    assert_eq!((all.section.at, all.section.extents()), (0x9000, vec![6, 3]));
    let back = through(vec![From(3, -2), UpTo(5, 1)]).unwrap();
    assert_eq!((back.section.at, back.section.extents()), (at(3, 4), vec![3, 2]));
    let listed = through(vec![Vector(vec![3, -2]), Single(6)]).unwrap();
    assert_eq!((listed.section.at, listed.section.axes[0].place(0)), (at(-2, 6), 40));
    let wrong = |subscript| Err(Miss::Outside { step: 2, dimension: 1, subscript, bounds: (-2, 3) });
    assert_eq!(through(vec![Single(4), Single(4)]), wrong(4));
    assert_eq!(through(vec![Range(-3, 0, 1), Single(4)]), wrong(-3));
    assert_eq!(through(vec![Vector(vec![0, 9]), Single(4)]), wrong(9));
    assert!(through(vec![Range(7, 2, 1), Single(4)]).is_ok(), "no elements, no bounds");
}

#[test]
fn pointers_are_followed_unless_they_are_null() {
    let end = walk(&memory(), 0x2000, &[component(8, true, 4), component(12, false, 2)]).unwrap();
    assert_eq!(end, Found { section: Section::scalar(0x700c), bytes: 2 });
    assert_eq!(walk(&memory(), 0x2000, &[component(0, true, 4)]), Err(Miss::Null(1)));
    let none = Memory(vec![(0x1000, described(0, 8, &[[1, 1, 5]]))]);
    let array = array(Bounds::Descriptor, vec![Subscript::Single(3)], 8);
    assert_eq!(walk(&none, 0x1000, &[component(0, true, 8), array]), Err(Miss::Null(1)));
    assert_eq!(walk(&memory(), 0x5000, &[component(0, true, 4)]), Err(Miss::Unreadable));
}

#[test]
fn known_bounds_and_none() {
    let known = Bounds::Known(vec![Dimension { stride: 1, lower: 5, upper: 9 }]);
    let steps = [array(known, vec![Subscript::Full(2)], 32), component(8, false, 8)];
    let found = walk(&memory(), 0x100, &steps).unwrap();
    assert_eq!(found.section, Section { at: 0x108, axes: vec![Axis::Regular { count: 3, step: 64 }] });
    let steps = [array(Bounds::None, vec![Subscript::Range(2, 8, 3), Subscript::Single(20)], 4)];
    let found = walk(&memory(), 0x100, &steps).unwrap();
    assert_eq!(found.section, Section { at: 0x158, axes: vec![Axis::Regular { count: 3, step: 12 }] });
}

#[test]
fn messages_say_what_was_meant() {
    let steps = vec![
        component(-8, true, 0),
        array(Bounds::Descriptor, vec![Subscript::From(3, -1), Subscript::UpTo(4, 2)], 8),
        array(Bounds::None, vec![Subscript::Range(1, 9, 2), Subscript::Vector(vec![3, -5])], 16),
        array(
            Bounds::Known(vec![Dimension { stride: 1, lower: -3, upper: 3 }]),
            vec![Subscript::Full(1), Subscript::Single(7)],
            4,
        ),
    ];
    let mut message = Writer::default();
    message.steps(&steps);
    message.number(17);
    let mut parser = Parser(&message.0);
    assert_eq!(parser.steps(), Some(steps));
    assert_eq!((parser.number(), parser.rest().len()), (Some(17), 0));
    // A message that was cut, or has other numbers, is no reason to end.
    for cut in 0..message.0.len() - 8 {
        assert_eq!(Parser(&message.0[..cut]).steps(), None, "{cut}");
        let mut changed = message.0.clone();
        changed[cut] ^= 0xff;
        let _ = Parser(&changed).steps();
    }
}
