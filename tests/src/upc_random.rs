//! Random UPC programs with a sequential oracle inside.
//!
//! A program has shared arrays and, for each, a private *mirror* of the same shape in plain C on every thread. It is a row of
//! phases between barriers. In a phase either one thread works on the shared arrays, or all of them share out a loop; every
//! thread does the same work, in sequence, on its mirrors. In the end, and now and then, all threads compare all elements with
//! their mirrors. The statement is the same text on both sides but for names and types, so a difference is an error of the
//! compiler or of the runtime (or of the C compiler).

use std::fmt::Write;

/// A small generator of random numbers (splitmix64), so that a seed gives the same program everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// Most threads a program may be run with: the mirrors have room for that many.
pub const MOST_THREADS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Shared,
    Mirror,
}

/// An array with its mirror.
#[derive(Debug, Clone)]
struct Array {
    number: usize,
    element: &'static str,
    /// The layout as written: nothing, `[3]`, `[*]` or `[]`.
    layout: String,
    /// Elements: this many, times THREADS unless the layout is indefinite.
    factor: u64,
    /// Length of a row, if the array has two dimensions.
    row: Option<u64>,
}

const TYPES: [&str; 9] =
    ["char", "short", "int", "unsigned", "long", "unsigned long long", "double", "float", "struct mixed"];

impl Array {
    fn indefinite(&self) -> bool {
        self.layout == "[]"
    }

    /// The number of elements as a C expression.
    fn count(&self) -> String {
        if self.indefinite() { format!("{}", self.factor) } else { format!("({} * THREADS)", self.factor) }
    }

    fn name(&self, side: Side) -> String {
        format!("{}{}", if side == Side::Shared { 's' } else { 'm' }, self.number)
    }

    /// The element at a flat index.
    fn at(&self, side: Side, index: &str) -> String {
        match self.row {
            None => format!("{}[{index}]", self.name(side)),
            Some(row) => format!("{}[({index}) / {row}][({index}) % {row}]", self.name(side)),
        }
    }

    fn pointer(&self, side: Side, name: &str) -> String {
        match side {
            Side::Shared => format!("shared {} {} *{name}", self.pointee_layout(), self.element),
            Side::Mirror => format!("{} *{name}", self.element),
        }
    }

    /// The layout of a pointer to an element: `[*]` spelt out.
    fn pointee_layout(&self) -> String {
        if self.layout == "[*]" { format!("[{}]", self.factor) } else { self.layout.clone() }
    }

    fn declaration(&self) -> String {
        let Array { number, element, layout, .. } = self;
        let (shape, most) = match (self.row, self.indefinite()) {
            (None, true) => (format!("[{}]", self.factor), format!("[{}]", self.factor)),
            (None, false) => (
                format!("[{} * THREADS]", self.factor),
                format!("[{}]", self.factor * u64::from(MOST_THREADS)),
            ),
            (Some(row), indefinite) => {
                let rows = self.factor / row;
                let spread = if indefinite { String::new() } else { " * THREADS".into() };
                let most = if indefinite { rows } else { rows * u64::from(MOST_THREADS) };
                (format!("[{rows}{spread}][{row}]"), format!("[{most}][{row}]"))
            }
        };
        format!("shared {layout} {element} s{number}{shape};\nstatic {element} m{number}{most};\n")
    }

    /// A scalar lvalue of an element: the element itself, or a member.
    fn scalar(&self, place: &str, member: &str) -> String {
        if self.element == "struct mixed" { format!("{place}.{member}") } else { place.to_string() }
    }
}

const MEMBERS: [&str; 7] = ["a", "b", "c", "f", "g", "list[1]", "in.d"];

/// A program under construction.
struct Maker {
    random: Random,
    arrays: Vec<Array>,
    text: String,
}

/// The text of the program that a seed stands for.
pub fn program(seed: u64) -> String {
    let mut maker = Maker { random: Random::new(seed), arrays: Vec::new(), text: String::new() };
    maker.make(seed);
    maker.text
}

impl Maker {
    fn make(&mut self, seed: u64) {
        let _ = write!(
            self.text,
            "/* Made by upc-random, seed {seed}. */
#include <upc_relaxed.h>
#include <stdio.h>
#include <string.h>

struct mixed {{
    int a;
    char b;
    long c;
    unsigned f : 5;
    int g : 11;
    short list[3];
    struct {{
        double d;
    }} in;
}};
"
        );
        let count = 3 + self.random.below(4) as usize;
        for number in 0..count {
            let layout = match self.random.below(6) {
                0 => String::new(),
                1 => "[*]".into(),
                2 => "[]".into(),
                _ => format!("[{}]", 1 + self.random.below(9)),
            };
            let row = self.random.one_in(3).then(|| 2 + self.random.below(5));
            let factor = row.unwrap_or(1) * (1 + self.random.below(9));
            let element = *self.random.pick(&TYPES);
            let array = Array { number, element, layout, factor, row };
            self.text += &array.declaration();
            self.arrays.push(array);
        }
        self.compare_function();
        self.helper_functions();
        self.text += "\nint main(void)\n{\n";
        let phases = 20 + self.random.below(30);
        for phase in 0..phases {
            if self.random.below(3) == 0 {
                self.shared_out_loop();
            } else {
                self.work_of_one();
            }
            self.text +=
                if self.random.one_in(4) { "    upc_notify;\n    upc_wait;\n" } else { "    upc_barrier;\n" };
            if phase % 8 == 7 {
                let _ = writeln!(self.text, "    compare({phase});\n    upc_barrier;");
            }
        }
        self.text += "    compare(-1);\n    upc_barrier;\n    if (MYTHREAD == 0)\n        printf(\"passed\\n\");\n    return 0;\n}\n";
    }

    fn compare_function(&mut self) {
        self.text += "
static void differ(int phase, int array, long i)
{
    fprintf(stderr, \"thread %d of %d, phase %d: array %d differs at %ld\\n\", MYTHREAD, THREADS, phase, array, i);
    upc_global_exit(1);
}
static void compare(int phase)
{
";
        for array in &self.arrays {
            let (n, count) = (array.number, array.count());
            let (s, m) = (array.at(Side::Shared, "i"), array.at(Side::Mirror, "i"));
            let _ = writeln!(self.text, "    for (long i = 0; i < {count}; i++) {{");
            if array.element == "struct mixed" {
                for member in MEMBERS {
                    let _ = writeln!(
                        self.text,
                        "        if ({s}.{member} != {m}.{member})\n            differ(phase, {n}, i);"
                    );
                }
            } else {
                let _ = writeln!(self.text, "        if ({s} != {m})\n            differ(phase, {n}, i);");
            }
            self.text += "    }\n";
        }
        self.text += "}\n";
    }

    /// For each array of scalars, a function that works through a pointer it is given.
    fn helper_functions(&mut self) {
        for array in self.arrays.clone() {
            if array.element == "struct mixed" {
                continue;
            }
            for side in [Side::Shared, Side::Mirror] {
                let (name, pointer) = (array.name(side), array.pointer(side, "p"));
                let _ = write!(
                    self.text,
                    "static unsigned long add_{name}({pointer}, long by, unsigned long value)
{{
    p += by;
    *p = *p / 2 + ({element})(value % 50);
    return (unsigned long)(long)*p;
}}
",
                    element = array.element
                );
            }
        }
    }

    /// An index that is in range for every number of threads.
    fn index(&mut self, array: &Array) -> String {
        let k = self.random.below(1000);
        match self.random.below(3) {
            0 if !array.indefinite() => format!("{k} * THREADS % {}", array.count()),
            1 => format!("({} + {k}) % {}", self.random.below(7), array.count()),
            _ => format!("{k} % {}", array.count()),
        }
    }

    /// A whole number in terms of elements; the same text for both sides but for names. `side_text` holds one string a side.
    fn value(&mut self, depth: u64) -> [String; 2] {
        if depth == 0 || self.random.one_in(4) {
            return if self.random.one_in(3) {
                let k = self.random.below(100_000);
                [format!("{k}UL"), format!("{k}UL")]
            } else {
                let array = self.random.pick(&self.arrays.clone()).clone();
                let index = self.index(&array);
                let member = *self.random.pick(&MEMBERS);
                [Side::Shared, Side::Mirror].map(|side| {
                    format!("(unsigned long)(long){}", array.scalar(&array.at(side, &index), member))
                })
            };
        }
        let [ls, lm] = self.value(depth - 1);
        let [rs, rm] = self.value(depth - 1);
        let [cs, cm] = self.value(depth - 1);
        let form = self.random.below(11);
        let shift = self.random.below(20);
        let build = |l: &str, r: &str, c: &str| match form {
            0 => format!("({l} + {r})"),
            1 => format!("({l} - {r})"),
            2 => format!("({l} * {r})"),
            3 => format!("({l} ^ {r})"),
            4 => format!("({l} | {r} >> {shift})"),
            5 => format!("({c} % 3 ? {l} : {r})"),
            6 => format!("({l} / ({r} % 7 + 1))"),
            7 => format!("({l} < {r} && {c} % 2)"),
            8 => format!("(unsigned long)({l} == {r})"),
            9 => format!("(0, {l})"),
            _ => format!("~{l}"),
        };
        [build(&ls, &rs, &cs), build(&lm, &rm, &cm)]
    }

    /// A statement over elements, once for each side.
    fn statement(&mut self, target: &Array, index: &str) -> [String; 2] {
        let [vs, vm] = self.value(2);
        let member = *self.random.pick(&MEMBERS);
        // Floating values must stay in the range of long.
        let floating = ["double", "float", "struct mixed"].contains(&target.element);
        let operator = *self.random.pick(&["=", "+=", "-=", "^=", "*="]);
        let operator = if floating && (operator == "*=" || operator == "^=") { "+=" } else { operator };
        let form = self.random.below(9);
        let far = self.index(target);
        let other = self.random.pick(&self.arrays.clone()).clone();
        let other_index = self.index(&other);
        let build = |side: Side, value: &str| {
            let place = target.at(side, index);
            let scalar = target.scalar(&place, member);
            let name = target.name(side);
            match form {
                0 => format!("{scalar}++;"),
                1 => format!("--{scalar};"),
                // Within a row, or in a flat array: a pointer from one element to another.
                2 if target.row.is_none() => format!(
                    "{{ {} = &{name}[{far}]; p += ({index}) - ({far}); {} = {value} % 97; }}",
                    target.pointer(side, "p"),
                    target.scalar("(*p)", member)
                ),
                3 if target.row.is_none() && target.element != "struct mixed" => {
                    format!("add_{name}(&{name}[{far}], ({index}) - ({far}), {value});")
                }
                4 if target.element == other.element => {
                    format!("{place} = {};", other.at(side, &other_index))
                }
                5 if target.row.is_none() => format!(
                    "{{ {} = {name} + ({index}); {} {operator} {value} % 89; }}",
                    target.pointer(side, "p"),
                    target.scalar("p[0]", member)
                ),
                6 if target.element == "struct mixed" => format!(
                    "{{ struct mixed t = {place}; t.{member} = {value} % 13; t.list[2]++; {place} = t; }}"
                ),
                7 => format!("{scalar} = {scalar} / 2 + {value} % 61;"),
                // Small, so that no conversion of a floating value is out of range.
                _ => format!("{scalar} {operator} {value} % 11; {scalar} = {scalar} / 4;"),
            }
        };
        [build(Side::Shared, &vs), build(Side::Mirror, &vm)]
    }

    fn work_of_one(&mut self) {
        let who = self.random.below(8);
        let steps = 1 + self.random.below(5);
        let (mut shared, mut mirror) = (String::new(), String::new());
        for _ in 0..steps {
            let target = self.random.pick(&self.arrays.clone()).clone();
            let index = self.index(&target);
            let [s, m] = self.statement(&target, &index);
            let _ = writeln!(shared, "        {s}");
            let _ = writeln!(mirror, "        {m}");
        }
        let _ = write!(
            self.text,
            "    if (MYTHREAD == {who} % THREADS) {{\n{shared}    }}\n    {{\n{mirror}    }}\n    upc_barrier;\n"
        );
        // The mirrors are ahead of the shared arrays only until the barrier.
    }

    /// A upc_forall whose iterations are independent: each writes one element and reads only arrays that none writes.
    fn shared_out_loop(&mut self) {
        let arrays = self.arrays.clone();
        let target = self.random.pick(&arrays).clone();
        let count = target.count();
        let affinity = match self.random.below(5) {
            0 => "i".to_string(),
            1 => "i + 3".to_string(),
            2 => format!("({count} - 1 - i)"),
            _ => format!("&{}", target.at(Side::Shared, "i")),
        };
        let header = match self.random.below(4) {
            0 => format!("long i = {count} - 1; i >= 0; i--"),
            1 => format!("int i = {}; i < {count}; i++", self.random.below(3)),
            2 => format!("int i = 0; i < {count}; i += {}", 1 + self.random.below(3)),
            _ => format!("long i = 0; i < {count}; i++"),
        };
        let readable: Vec<Array> = arrays.iter().filter(|a| a.number != target.number).cloned().collect();
        let source = self.random.pick(&readable).clone();
        let member = *self.random.pick(&MEMBERS);
        let (k, offset) = (self.random.below(1000), self.random.below(5));
        let local = self.random.one_in(4) && affinity.starts_with('&');
        let body = |side: Side| {
            let read =
                source.scalar(&source.at(side, &format!("(i + {offset}) % {}", source.count())), member);
            let place = target.at(side, "i");
            let place = if local && side == Side::Shared {
                format!("(*({} *)&{place})", target.element)
            } else {
                place
            };
            let scalar = target.scalar(&place, member);
            format!("{scalar} = {scalar} / 2 + ((unsigned long)(long){read} * 3 + {k} + i) % 41;")
        };
        let _ = write!(
            self.text,
            "    upc_forall ({header}; {affinity})\n        {}\n    for ({header})\n        {}\n",
            body(Side::Shared),
            body(Side::Mirror)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        assert_eq!(program(7), program(7));
        assert_ne!(program(7), program(8));
        for seed in 0..200 {
            let text = program(seed);
            assert!(text.contains("upc_barrier") && text.ends_with("}\n"), "{seed}");
        }
    }
}
