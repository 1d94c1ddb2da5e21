use super::wire::{Parser, ReceivedReference, Writer};
use super::*;

/// Bytes at addresses.
struct Memory(Vec<(usize, Vec<u8>)>);

impl Reader for Memory {
    fn words<const N: usize>(&self, from: usize) -> Option<[isize; N]> {
        self.0.iter().find_map(|(at, bytes)| {
            let there = from.checked_sub(*at).and_then(|at| bytes.get(at..at + 8 * N))?;
            Some(std::array::from_fn(|i| isize::from_ne_bytes(there[8 * i..8 * i + 8].try_into().unwrap())))
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
    let component = Component { offset, token_offset: if indirect { 99 } else { 0 } };
    Step { next: std::ptr::null(), what: step::COMPONENT, bytes, which: Which { component } }
}

fn array(what: c_int, subscripts: &[(u8, Subscripts)], bytes: usize) -> Step {
    let none = range(0, 0, 0).1;
    let mut array = Array { mode: [mode::END; MAX_RANK], _class: 0, subscripts: [none; MAX_RANK] };
    for (i, (mode, subscripts)) in subscripts.iter().enumerate() {
        (array.mode[i], array.subscripts[i]) = (*mode, *subscripts);
    }
    Step { next: std::ptr::null(), what, bytes, which: Which { array } }
}

fn with(mode: u8, start: isize, end: isize, stride: isize) -> (u8, Subscripts) {
    (mode, Subscripts { range: Range { start, end, stride } })
}

fn range(start: isize, end: isize, stride: isize) -> (u8, Subscripts) {
    with(mode::RANGE, start, end, stride)
}

fn only(i: isize) -> (u8, Subscripts) {
    with(mode::SINGLE, i, 0, 0)
}

fn full() -> (u8, Subscripts) {
    with(mode::FULL, 0, 0, 1)
}

fn listed(list: &'static [i16]) -> (u8, Subscripts) {
    (mode::VECTOR, Subscripts { vector: Vector { vector: list.as_ptr().cast(), count: list.len(), kind: 2 } })
}

fn follow(base: usize, steps: Vec<Step>, bounds: &[Dimension]) -> Result<(Section, usize), Miss> {
    let (mut section, steps) = (Section::scalar(base), ReceivedReference::new(steps, bounds.to_vec()));
    let bytes = walk(&memory(), &mut section, steps.steps()).map_err(|miss| *miss)?;
    Ok((section, bytes))
}

/// `x%a(-1:2,5)`, where `a` is allocated as `a(-2:3, 4:6)` of 8 bytes.
fn memory() -> Memory {
    Memory(vec![
        (0x1000, [vec![0; 16], described(0x9000, 8, &[[1, -2, 3], [6, 4, 6]])].concat()),
        (0x3000, described(0, 8, &[[1, 1, 5]])),
        (0x2000, [0usize.to_ne_bytes(), 0x7000usize.to_ne_bytes()].concat()),
    ])
}

#[test]
fn descriptors_are_followed() {
    let through = |subscripts: [(u8, Subscripts); 2]| {
        follow(0x1000, vec![component(16, true, 8), array(step::DESCRIBED, &subscripts, 8)], &[])
    };
    let at = |i: isize, j: isize| 0x9000 + 8 * ((i + 2) + 6 * (j - 4)) as usize;
    let row = through([range(-1, 2, 1), only(5)]).unwrap();
    assert_eq!(row.0, Section { at: at(-1, 5), axes: vec![Axis::Regular { count: 4, step: 8 }] });
    let all = through([full(), full()]).unwrap();
    assert_eq!((all.0.at, all.0.extents()), (0x9000, vec![6, 3]));
    let backwards = through([with(mode::FULL, 0, 0, -1), only(4)]).unwrap();
    assert_eq!((backwards.0.at, backwards.0.extents()), (at(3, 4), vec![6]));
    let back = through([with(mode::FROM, 3, 0, -2), with(mode::UP_TO, 0, 5, 1)]).unwrap();
    assert_eq!((back.0.at, back.0.extents()), (at(3, 4), vec![3, 2]));
    let one = through([listed(&[3, -2]), only(6)]).unwrap();
    assert_eq!((one.0.at, one.0.axes[0].place(0)), (at(-2, 6), 40));
    let wrong = |subscript| Err(Miss::Outside { step: 2, dimension: 1, subscript, bounds: (-2, 3) });
    assert_eq!(through([only(4), only(4)]), wrong(4));
    assert_eq!(through([range(-3, 0, 1), only(4)]), wrong(-3));
    assert_eq!(through([listed(&[0, 9]), only(4)]), wrong(9));
    assert!(through([range(7, 2, 1), only(4)]).is_ok(), "no elements, no bounds");
    assert!(matches!(through([with(9, 1, 1, 1), only(4)]), Err(Miss::Nonsense(_))));
}

#[test]
fn pointers_are_followed_unless_they_are_null() {
    let end = follow(0x2000, vec![component(8, true, 4), component(12, false, 2)], &[]).unwrap();
    assert_eq!(end, (Section::scalar(0x700c), 2));
    assert_eq!(follow(0x2000, vec![component(0, true, 4)], &[]), Err(Miss::Null(1)));
    let third = || array(step::DESCRIBED, &[only(3)], 8);
    assert_eq!(follow(0x3000, vec![component(0, true, 8), third()], &[]), Err(Miss::Null(1)));
    assert_eq!(follow(0x5000, vec![component(0, true, 4)], &[]), Err(Miss::Unreadable));
    assert_eq!(follow(0x5000, vec![component(0, true, 8), third()], &[]), Err(Miss::Unreadable));
}

#[test]
fn known_bounds_and_none() {
    let known = [Dimension { stride: 1, lower: 5, upper: 9 }];
    let steps = vec![array(step::DESCRIBED, &[with(mode::FULL, 0, 0, 2)], 32), component(8, false, 8)];
    let found = follow(0x100, steps, &known).unwrap();
    assert_eq!(found.0, Section { at: 0x108, axes: vec![Axis::Regular { count: 3, step: 64 }] });
    for mode in [mode::RANGE, mode::FULL] {
        let steps = vec![array(step::FIXED, &[with(mode, 2, 8, 3), only(20)], 4)];
        let found = follow(0x100, steps, &[]).unwrap();
        assert_eq!(found.0, Section { at: 0x158, axes: vec![Axis::Regular { count: 3, step: 12 }] });
    }
    let open = follow(0x100, vec![array(step::FIXED, &[with(mode::FROM, 2, 0, 1)], 4)], &[]);
    assert!(matches!(open, Err(Miss::Nonsense(_))));
    let twice = vec![array(step::FIXED, &[range(0, 3, 1)], 8), array(step::FIXED, &[range(0, 1, 1)], 4)];
    assert!(matches!(follow(0x100, twice, &[]), Err(Miss::Nonsense(_))));
    // SAFETY: one step of this test.
    let unknown = unsafe { Reference::of(&array(step::DESCRIBED, &[full()], 8), || None) };
    assert!(unknown.is_err());
}

/// Compiled code leaves words of its steps undefined.
#[test]
fn messages_say_nothing_that_means_nothing() {
    let message = |left: isize| {
        let single = with(mode::SINGLE, 2, left, left);
        let others = [with(mode::FROM, 3, left, 1), with(mode::UP_TO, left, 4, 1)];
        let steps = vec![
            array(step::DESCRIBED, &[single, with(mode::FULL, left, left, 1)], 4),
            array(step::FIXED, &others, 8),
        ];
        let mut message = Writer::default();
        message.steps(ReceivedReference::new(steps, Vec::new()).steps());
        message.0
    };
    assert_eq!(message(7), message(0x7fff_1234));
}

#[test]
fn messages_say_what_was_meant() {
    let bounds = vec![Dimension { stride: 1, lower: -3, upper: 3 }];
    let steps = vec![
        array(step::DESCRIBED, &[only(2)], 4),
        component(16, true, 0),
        array(step::DESCRIBED, &[with(mode::FROM, 3, 0, -1), listed(&[4, -5])], 8),
        array(step::FIXED, &[range(1, 9, 2), with(mode::UP_TO, 0, 4, 2)], 16),
    ];
    let sent = ReceivedReference::new(steps, bounds);
    let message = |steps| {
        let mut message = Writer::default();
        message.steps(steps);
        message.number(17);
        message.0
    };
    let bytes = message(sent.steps());
    let mut parser = Parser(&bytes);
    let received = parser.steps().unwrap();
    assert_eq!((parser.number(), parser.rest().len()), (Some(17), 0));
    assert_eq!(message(received.steps()), bytes);
    let are: Vec<_> = received.steps().iter().map(|s| (s.bytes(), s.is_ranked(), s.is_part())).collect();
    assert_eq!(are, [(4, false, true), (0, false, false), (8, true, true), (16, true, true)]);
    // A message that was cut, or has other numbers, is no reason to end.
    for cut in 0..bytes.len() - 8 {
        assert!(Parser(&bytes[..cut]).steps().is_none(), "{cut}");
        let mut changed = bytes.clone();
        changed[cut] ^= 0xff;
        let received = Parser(&changed).steps();
        let _ = received.map(|received| walk(&memory(), &mut Section::scalar(0x1000), received.steps()));
    }
}
