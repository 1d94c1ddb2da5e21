//! Random Fortran programs with coarrays, and a serial oracle inside.
//!
//! A program has coarrays of many types, shapes and kinds (static, allocatable, and components). Every
//! image also has a plain array for each coarray, with the contents of that coarray on all images: the
//! oracle. A statement reads, writes or transfers a section of a coarray with triplets and vector
//! subscripts, perhaps with a conversion of kind or type. The same statement without images runs on the
//! oracle's arrays, where the compiler converts and not the library. Forms that the compiler is known to
//! translate wrongly are left out: vector subscripts in expressions, and elements of type complex that a
//! value is assigned to.
//!
//! Each seed is a procedure. One source can have the procedures of several, since a compilation, a link and a
//! start take longer than the statements.

use crate::upc_random::Random;
use std::fmt::Write;

/// How the procedure of a seed begins: its number follows.
pub const PROCEDURE: &str = "subroutine seed_";
/// Images that a program runs on.
pub const IMAGES: u32 = 3;
/// Statements of a program.
const STATEMENTS: u32 = 40;
/// Coarrays, and local arrays.
const ARRAYS: usize = 5;

/// Types, and their kinds.
const TYPES: [(&str, &[u64]); 5] = [
    ("integer", &[1, 2, 4, 8, 16]),
    ("real", &[4, 8, 10, 16]),
    ("complex", &[4, 8, 16]),
    ("logical", &[1, 4, 8]),
    ("character", &[1, 2, 3, 5, 7]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Static,
    Allocatable,
    Component,
    Pointer,
    /// A component without memory of its own, of a type that has others.
    Fixed,
    Local,
}

#[derive(Debug, Clone)]
struct Array {
    name: String,
    place: Place,
    base: &'static str,
    kind: u64,
    /// Lower bound and extent of each dimension.
    dimensions: Vec<(i64, i64)>,
}

impl Array {
    fn is_part(&self) -> bool {
        matches!(self.place, Place::Component | Place::Pointer | Place::Fixed)
    }

    fn declared(&self) -> String {
        match self.base {
            "character" => format!("character(len={})", self.kind),
            base => format!("{base}({})", self.kind),
        }
    }

    fn bounds(&self) -> String {
        let all: Vec<_> = self.dimensions.iter().map(|(lo, n)| format!("{lo}:{}", lo + n - 1)).collect();
        all.join(",")
    }

    fn colons(&self) -> String {
        vec![":"; self.dimensions.len()].join(",")
    }

    fn own(&self) -> String {
        if self.is_part() { format!("d_{}%a", self.name) } else { self.name.clone() }
    }

    fn there(&self, section: &str, image: &str) -> String {
        match self.is_part() {
            true => format!("d_{}[{image}]%a({section})", self.name),
            false => format!("{}({section})[{image}]", self.name),
        }
    }

    fn known(&self, section: &str, image: &str) -> String {
        format!("o_{}({section},{image})", self.name)
    }

    fn differs(&self, a: &str, b: &str) -> String {
        let operator = if self.base == "logical" { ".neqv." } else { "/=" };
        format!("any({a} {operator} {b})")
    }

    fn takes(&self, other: &Array) -> bool {
        let number = |a: &Array| ["integer", "real", "complex"].contains(&a.base);
        self.base == other.base || number(self) && number(other)
    }

    /// A value that depends on an integer expression.
    fn value(&self, of: &str) -> String {
        let kind = self.kind;
        match self.base {
            "integer" => format!("int(mod({of},97),{kind})"),
            "real" => format!("real(mod({of},97)+0.25d0,{kind})"),
            "complex" => format!("cmplx(mod({of},97)+0.5d0,mod({of},13)*1d0,{kind})"),
            "logical" => format!("logical(mod({of},3)==0,{kind})"),
            _ => format!("repeat(char(65+mod({of},26)),1+mod({of},{kind}))"),
        }
    }

    /// Loops over all elements of `name`.
    fn fill(&self, text: &mut String, name: &str, last: &str, seed: &str) {
        let indices = ["i1", "i2", "i3"];
        let used = &indices[..self.dimensions.len()];
        for (index, (lo, n)) in used.iter().zip(&self.dimensions).rev() {
            let _ = writeln!(text, " do {index} = {lo}, {}", lo + n - 1);
        }
        let sum: Vec<_> = used.iter().zip([3, 7, 11]).map(|(i, m)| format!("{i}*{m}")).collect();
        let value = self.value(&format!("{}+60+{seed}", sum.join("+")));
        let _ = writeln!(text, "  {name}({}{last}) = {value}", used.join(","));
        used.iter().for_each(|_| text.push_str(" end do\n"));
    }
}

struct Program {
    random: Random,
    vectors: Vec<(u64, Vec<i64>)>,
    body: String,
}

/// The program of these seeds: it calls the procedure of each, and prints which one differs from its oracle.
pub fn program(seeds: &[u64]) -> String {
    let mut text = String::from("program random\n implicit none\n");
    for seed in seeds {
        let _ = writeln!(text, " call seed_{seed}");
    }
    text.push_str(" sync all\n if (this_image() == 1) print '(a)', 'passed'\nend program\n");
    seeds.iter().for_each(|seed| text.push_str(&procedure(*seed)));
    text
}

/// The procedure of a seed.
fn procedure(seed: u64) -> String {
    let mut it = Program { random: Random::new(seed), vectors: Vec::new(), body: String::new() };
    let places =
        [Place::Static, Place::Allocatable, Place::Component, Place::Component, Place::Pointer, Place::Fixed];
    let coarrays: Vec<Array> = (0..ARRAYS).map(|i| it.array(format!("c{i}"), &places)).collect();
    let locals: Vec<Array> = (0..ARRAYS)
        .map(|i| {
            let like = it.random.pick(&coarrays).clone();
            Array { base: like.base, kind: like.kind, ..it.array(format!("l{i}"), &[Place::Local]) }
        })
        .collect();
    let mut done = 0;
    while done < STATEMENTS {
        done += u32::from(it.statement(&coarrays, &locals, done).is_some());
    }
    it.written(seed, &coarrays, &locals)
}

impl Program {
    fn range(&mut self, from: i64, to: i64) -> i64 {
        from + self.random.below((to - from + 1) as u64) as i64
    }

    fn array(&mut self, name: String, places: &[Place]) -> Array {
        let (base, kinds) = *self.random.pick(&TYPES);
        let (kind, place) = (*self.random.pick(kinds), *self.random.pick(places));
        let rank = self.range(1, 3);
        let most = [24, 9, 6][rank as usize - 1];
        let dimensions =
            (0..rank).map(|_| (*self.random.pick(&[1, 0, 5, -2]), self.range(2, most))).collect();
        Array { name, place, base, kind, dimensions }
    }

    /// Subscripts of a section of these extents; `None` if the array is too small.
    fn section(&mut self, array: &Array, extents: &[i64], vectors: bool, repeat: bool) -> Option<String> {
        let mut left = extents.len();
        let mut subscripts = Vec::new();
        for (d, (lo, n)) in array.dimensions.iter().copied().enumerate() {
            let rest = array.dimensions.len() - d;
            if left == 0 || left < rest && self.random.one_in(2) {
                subscripts.push(self.range(lo, lo + n - 1).to_string());
                continue;
            }
            let wanted = extents[extents.len() - left];
            left -= 1;
            if wanted > n {
                return None;
            }
            subscripts.push(self.ranked((lo, n), wanted, vectors, repeat));
        }
        (left == 0).then(|| subscripts.join(","))
    }

    fn ranked(&mut self, (lo, n): (i64, i64), wanted: i64, vectors: bool, repeat: bool) -> String {
        if vectors && self.random.one_in(4) {
            let mut pool: Vec<i64> = (lo..lo + n).collect();
            let list: Vec<i64> = (0..wanted)
                .map(|_| {
                    let i = self.random.below(pool.len() as u64) as usize;
                    if repeat { pool[i] } else { pool.swap_remove(i) }
                })
                .collect();
            let kind = *self.random.pick(&[1, 2, 4, 8]);
            if self.random.one_in(2) {
                self.vectors.push((kind, list));
                return format!("v{}", self.vectors.len() - 1);
            }
            let list: Vec<_> = list.iter().map(|i| format!("{i}_{kind}")).collect();
            return format!("[{}]", list.join(","));
        }
        if wanted == n && self.random.one_in(2) {
            return ":".into();
        }
        let stride = if wanted > 1 { self.range(1, (n - 1) / (wanted - 1)) } else { 1 };
        let span = (wanted - 1) * stride;
        let first = lo + self.range(0, n - 1 - span);
        match self.random.below(3) {
            0 => format!("{}:{first}:-{stride}", first + span),
            1 if stride == 1 => format!("{first}:{}", first + span),
            _ => format!("{first}:{}:{stride}", first + span),
        }
    }

    fn extents(&mut self, a: &Array, b: &Array) -> Vec<i64> {
        let rank = self.range(1, a.dimensions.len().min(b.dimensions.len()) as i64);
        (0..rank).map(|_| self.range(1, 6)).collect()
    }

    /// Adds a statement; `None` if its parts do not go together.
    fn statement(&mut self, coarrays: &[Array], locals: &[Array], number: u32) -> Option<()> {
        let a = self.random.pick(coarrays).clone();
        // The compiler ends with an error at vector subscripts of components without memory of their own.
        let vectors = |a: &Array| a.place != Place::Fixed;
        match self.random.below(7) {
            0..3 => {
                let l = self.random.pick(locals).clone();
                let extents = self.extents(&a, &l);
                let from = self.section(&a, &extents, vectors(&a), true)?;
                let to = self.section(&l, &extents, false, false).filter(|_| l.takes(&a))?;
                let image = *self.random.pick(&["nx", "1", "2", "3"]);
                let (name, there, known) = (&l.name, a.there(&from, image), a.known(&from, image));
                let differs = l.differs(name, &format!("x{name}"));
                let _ = writeln!(self.body, " {name}({to}) = {there}\n x{name}({to}) = {known}");
                let _ = writeln!(self.body, " if ({differs}) call bad({number})");
            }
            3..6 => {
                let l = self.random.pick(locals).clone();
                let extents = self.extents(&a, &l);
                let to = self.section(&a, &extents, vectors(&a), false)?;
                let one = self.random.one_in(3);
                let from = match one {
                    true => {
                        let each = l.dimensions.iter().map(|(lo, n)| self.range(*lo, lo + n - 1).to_string());
                        Some(each.collect::<Vec<_>>().join(","))
                    }
                    false => self.section(&l, &extents, false, false),
                };
                let from = from.filter(|_| a.takes(&l))?;
                let image = *self.random.pick(&["1", "2", "3"]);
                let (name, there, known) = (&l.name, a.there(&to, image), a.known(&to, image));
                let _ = writeln!(self.body, " sync all\n if (me == 1) {there} = x{name}({from})");
                // All images do on the oracle what image 1 does.
                let _ = writeln!(self.body, " call share\n {known} = h_{name}({from})\n sync all");
            }
            _ => {
                let b = self.random.pick(coarrays).clone();
                let alike = a.name != b.name && a.is_part() == b.is_part() && a.takes(&b);
                let extents = self.extents(&a, &b);
                let to = self.section(&a, &extents, vectors(&a), false)?;
                let from = self.section(&b, &extents, vectors(&b), true).filter(|_| alike)?;
                let (i, j) = (*self.random.pick(&["1", "2", "3"]), *self.random.pick(&["1", "2", "3"]));
                let (there, source) = (a.there(&to, i), b.there(&from, j));
                let (known, known_source) = (a.known(&to, i), b.known(&from, j));
                let _ = writeln!(self.body, " sync all\n if (me == 2) {there} = {source}");
                let _ = writeln!(self.body, " {known} = {known_source}\n sync all");
            }
        }
        Some(())
    }

    fn written(self, seed: u64, coarrays: &[Array], locals: &[Array]) -> String {
        let mut text = format!("{PROCEDURE}{seed}\n implicit none\n");
        let t = &mut text;
        for a in coarrays {
            let (name, declared, bounds, colons) = (&a.name, a.declared(), a.bounds(), a.colons());
            let _ = match a.place {
                Place::Static => writeln!(t, " {declared}, save :: {name}({bounds})[*]"),
                Place::Allocatable => writeln!(t, " {declared}, allocatable :: {name}({colons})[:]"),
                place => {
                    let part = match place {
                        Place::Component => format!("{declared}, allocatable :: a({colons})"),
                        Place::Pointer => format!("{declared}, pointer :: a({colons})"),
                        _ => format!("{declared} :: a({bounds})\n  integer, allocatable :: other(:)"),
                    };
                    writeln!(
                        t,
                        " type t_{name}\n  integer :: m\n  {part}\n end type\n type(t_{name}), save :: d_{name}[*]"
                    )
                }
            };
            let _ = writeln!(t, " {declared} :: o_{name}({bounds},{IMAGES})");
        }
        for l in locals {
            let (name, declared, bounds) = (&l.name, l.declared(), l.bounds());
            let all = ["", "x", "h_"].map(|prefix| format!("{prefix}{name}({bounds})")).join(", ");
            let _ = writeln!(t, " {declared} :: {all}\n {declared}, save :: s_{name}({bounds})[*]");
        }
        for (i, (kind, list)) in self.vectors.iter().enumerate() {
            let _ = writeln!(t, " integer({kind}) :: v{i}({})", list.len());
        }
        t.push_str(
            " integer :: me, nx, i1, i2, i3, image\n me = this_image()\n nx = mod(me, num_images()) + 1\n",
        );
        for (i, (_, list)) in self.vectors.iter().enumerate() {
            let list: Vec<_> = list.iter().map(i64::to_string).collect();
            let _ = writeln!(t, " v{i} = [{}]", list.join(","));
        }
        for (i, a) in coarrays.iter().enumerate() {
            let (name, bounds, colons) = (&a.name, a.bounds(), a.colons());
            let _ = match a.place {
                Place::Allocatable => writeln!(t, " allocate({name}({bounds})[*])"),
                Place::Component | Place::Pointer => writeln!(t, " allocate(d_{name}%a({bounds}))"),
                _ => Ok(()),
            };
            let _ = writeln!(t, " do image = 1, {IMAGES}");
            a.fill(t, &format!("o_{name}"), ",image", &format!("image*17+{i}"));
            let _ = writeln!(t, " end do\n {} = o_{name}({colons},me)", a.own());
        }
        for (i, l) in locals.iter().enumerate() {
            l.fill(t, &l.name, "", &format!("me*5+{i}"));
            let _ = writeln!(t, " x{} = {}", l.name, l.name);
        }
        let _ = write!(t, " sync all\n{} sync all\n", self.body);
        for (i, a) in coarrays.iter().enumerate() {
            let differs = a.differs(&a.own(), &format!("o_{}({},me)", a.name, a.colons()));
            let _ = writeln!(t, " if ({differs}) call bad({})", 1000 + i);
        }
        t.push_str(" sync all\ncontains\n subroutine bad(number)\n  integer, intent(in) :: number\n");
        let _ = writeln!(t, "  print *, 'image', me, 'statement', number, 'of seed {seed}'");
        t.push_str("  error stop 'differs from the oracle'\n end subroutine\n subroutine share\n");
        for l in locals {
            let _ = writeln!(t, "  s_{} = x{}", l.name, l.name);
        }
        t.push_str("  sync all\n");
        for l in locals {
            let _ = writeln!(t, "  h_{} = s_{}({})[1]", l.name, l.name, l.colons());
        }
        t.push_str("  sync all\n end subroutine\nend subroutine\n");
        text
    }
}
