//! Random UPC programs with a sequential oracle inside.
//!
//! A program has shared arrays and, for each, a private *mirror* of the same shape in plain C on every
//! thread. It is a row of phases between barriers. In a phase either one thread works on the shared arrays,
//! or all of them share out a loop; every thread does the same work, in sequence, on its mirrors. In the end,
//! and now and then, all threads compare all elements with their mirrors. The statement is the same text on
//! both sides but for names and types, so a difference is an error of the compiler or of the runtime (or of
//! the C compiler).

use std::fmt::Write;

mod directories;
mod passes;
mod private;

/// A small generator of random numbers (splitmix64), so that a seed gives the same program everywhere, and
/// with every version of a package.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
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
    /// `strict `, `relaxed ` or nothing.
    reference: &'static str,
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
            Side::Shared => {
                format!("{}shared {} {} *{name}", self.reference, self.pointee_layout(), self.element)
            }
            Side::Mirror => format!("{} *{name}", self.element),
        }
    }

    /// The layout of a pointer to an element: `[*]` spelt out.
    fn pointee_layout(&self) -> String {
        if self.layout == "[*]" { format!("[{}]", self.factor) } else { self.layout.clone() }
    }

    fn declaration(&self) -> String {
        let Array { number, element, layout, reference, .. } = self;
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
        format!("{reference}shared {layout} {element} s{number}{shape};\nstatic {element} m{number}{most};\n")
    }

    /// How many elements follow one another on one thread from a flat index on, as a C expression.
    fn run(&self, index: &str) -> String {
        let block = match self.layout.as_str() {
            "" => "1".to_string(),
            "[]" => "0".to_string(),
            "[*]" => self.factor.to_string(),
            number => number.trim_matches(['[', ']']).to_string(),
        };
        format!("RUN({index}, {block}, {})", self.count())
    }

    fn whole_numbers(&self) -> bool {
        !["double", "float", "struct mixed"].contains(&self.element)
    }

    /// A scalar lvalue of an element: the element itself, or a member.
    fn scalar(&self, place: &str, member: &str) -> String {
        if self.element == "struct mixed" { format!("{place}.{member}") } else { place.to_string() }
    }
}

const MEMBERS: [&str; 7] = ["a", "b", "c", "f", "g", "list[1]", "in.d"];

/// The parts of a statement, drawn once for both sides.
#[derive(Debug, Clone, Copy)]
struct Draw<'a> {
    target: &'a Array,
    index: &'a str,
    /// Another index of the target.
    far: &'a str,
    other: &'a Array,
    other_index: &'a str,
    member: &'static str,
    operator: &'static str,
    form: u64,
    k: u64,
    step: u64,
    letter: u64,
}

impl Draw<'_> {
    /// The statement. An array for which there is no statement of the form gets a simple one.
    fn statement(&self, side: Side, value: &str) -> String {
        let special =
            self.through_pointer(side, value).or_else(|| self.copy(side)).or_else(|| self.loop_over(side));
        special.unwrap_or_else(|| self.simple(side, value))
    }

    /// Through pointers of several types.
    fn through_pointer(&self, side: Side, value: &str) -> Option<String> {
        let Draw { target, index, far, member, operator, form, k, step, letter, .. } = *self;
        let count = target.count();
        let plain = target.whole_numbers();
        let name = target.name(side);
        Some(match form {
            // Within a row, or in a flat array: a pointer from one element to another.
            2 if target.row.is_none() => format!(
                "{{ {} = &{name}[{far}]; p += ({index}) - ({far}); {} = {value} % 97; }}",
                target.pointer(side, "p"),
                target.scalar("(*p)", member)
            ),
            3 if target.row.is_none() && target.element != "struct mixed" => {
                format!("add_{name}(&{name}[{far}], ({index}) - ({far}), {value});")
            }
            5 if target.row.is_none() => format!(
                "{{ {} = {name} + ({index}); {} {operator} {value} % 89; }}",
                target.pointer(side, "p"),
                target.scalar("p[0]", member)
            ),
            // A walk through the whole array, forwards and backwards.
            11 if target.row.is_none() && plain => {
                let (p, e) = (target.pointer(side, "p"), target.pointer(side, "e"));
                format!(
                    "{{ unsigned long h = 0; {p}; {e} = {name} + ({count} - 1); \
                     for (p = {name}; p <= e; p += {step}) h = h * 5 + (unsigned long)(long)*p; \
                     for (p = e; p > {name}; p--) p[-1] ^= (unsigned long)(long)*p % 7; {name}[{far}] += h % 13; }}"
                )
            }
            // Pointers without a block size, to bytes, to nothing in particular.
            12 if target.row.is_none() && plain => {
                let e = target.element;
                let (to, bytes) = match side {
                    Side::Shared => (format!("shared [] {e} *"), "shared [] unsigned char *".to_string()),
                    Side::Mirror => (format!("{e} *"), "unsigned char *".to_string()),
                };
                format!(
                    "{{ const long i = {index}, n = LEAST({}, {k}); {to}q = ({to})&{name}[i]; {bytes}b = ({bytes})q; \
                     for (long k = 0; k < n; k++) q[k] ^= k + b[k] % 3; }}",
                    target.run("i")
                )
            }
            13 if target.row.is_none() => {
                let (p, v) = (
                    target.pointer(side, "p"),
                    if side == Side::Shared { "shared void *" } else { "void *" },
                );
                let to = target.pointer(side, "");
                let place = target.scalar("(*p)", member);
                format!("{{ {v}v = ({v})&{name}[{far}]; {p} = ({to})v; {place} = {place} / 2 + {k}; }}")
            }
            // Rows.
            14 if let Some(row) = target.row => {
                let rows = if side == Side::Shared {
                    format!(
                        "{}shared {} {} (*r)[{row}]",
                        target.reference,
                        target.pointee_layout(),
                        target.element
                    )
                } else {
                    format!("{} (*r)[{row}]", target.element)
                };
                let place = target.scalar(&format!("(*r)[{} % {row}]", letter), member);
                format!("{{ {rows} = &{name}[({index}) / {row}]; {place} = {place} / 2 + {value} % 53; }}")
            }
            _ => return None,
        })
    }

    /// Copies and fills of many elements.
    fn copy(&self, side: Side) -> Option<String> {
        let Draw { target, index, other, other_index, form, k, letter, .. } = *self;
        let plain = target.whole_numbers();
        let name = target.name(side);
        Some(match form {
            // From array to array, through a private buffer, of one byte value.
            8 | 9
                if target.element == other.element
                    && target.number != other.number
                    && target.row.is_none()
                    && other.row.is_none() =>
            {
                let (to, from, e) = (target.name(side), other.name(side), target.element);
                let head = format!(
                    "const long i = {index}, j = {other_index}, n = LEAST(LEAST({}, {}), {k});",
                    target.run("i"),
                    other.run("j")
                );
                match (side, form) {
                    (Side::Mirror, _) => {
                        format!("{{ {head} memcpy(&{to}[i], &{from}[j], n * sizeof({e})); }}")
                    }
                    (_, 8) => format!("{{ {head} upc_memcpy(&{to}[i], &{from}[j], n * sizeof({e})); }}"),
                    _ => format!(
                        "{{ {head} {e} buffer[{k}]; upc_memget(buffer, &{from}[j], n * sizeof({e})); \
                         upc_memput(&{to}[i], buffer, n * sizeof({e})); }}"
                    ),
                }
            }
            10 if target.row.is_none() => {
                let letter = if plain { letter } else { 0 };
                let set = if side == Side::Shared { "upc_memset" } else { "memset" };
                format!(
                    "{{ const long i = {index}, n = LEAST({}, {k}); {set}(&{name}[i], {letter}, n * sizeof({})); }}",
                    target.run("i"),
                    target.element
                )
            }
            _ => return None,
        })
    }

    /// Loops through arrays.
    fn loop_over(&self, side: Side) -> Option<String> {
        let Draw { target, index, other, member, form, k, step, .. } = *self;
        let count = target.count();
        let other_count = other.count();
        let scalar = target.scalar(&target.at(side, index), member);
        Some(match form {
            // A read of consecutive elements, which the compiler may fetch in one transfer unless the loop
            // writes them.
            15 => {
                let read = other.scalar(&other.at(side, "i"), member);
                format!(
                    "{{ unsigned long h = 0; for (long i = {}; i < {other_count}; i += {step}) \
                     h = h * 3 + (unsigned long)(long){read}; {scalar} = {scalar} / 2 + h % 43; }}",
                    k - 1
                )
            }
            16 => {
                let (to, read) =
                    (target.at(side, "i"), other.at(side, &format!("(i + {k}) % {other_count}")));
                let (to, read) = (target.scalar(&to, member), other.scalar(&read, member));
                format!(
                    "for (int i = 0; i < {count}; i += {step}) \
                     {to} = {to} / 2 + (unsigned long)(long){read} % 29;"
                )
            }
            17 => {
                let (to, read) = (target.at(side, "i"), target.at(side, "(i + 1)"));
                let (to, read) = (target.scalar(&to, member), target.scalar(&read, member));
                format!(
                    "for (long i = 0; i + 1 < {count}; i++) {to} = {to} / 2 + (unsigned long)(long){read} % 31;"
                )
            }
            _ => return None,
        })
    }

    /// On one element.
    fn simple(&self, side: Side, value: &str) -> String {
        let Draw { target, index, other, other_index, member, operator, form, .. } = *self;
        let place = target.at(side, index);
        let scalar = target.scalar(&place, member);
        match form {
            0 => format!("{scalar}++;"),
            1 => format!("--{scalar};"),
            4 if target.element == other.element => {
                format!("{place} = {};", other.at(side, other_index))
            }
            6 if target.element == "struct mixed" => format!(
                "{{ struct mixed t = {place}; t.{member} = {value} % 13; t.list[2]++; {place} = t; }}"
            ),
            7 => format!("{scalar} = {scalar} / 2 + {value} % 61;"),
            18 if side == Side::Shared => {
                format!("{{\n#pragma upc strict\n            {scalar} = {scalar} / 2 + {value} % 19; }}")
            }
            18 => format!("{scalar} = {scalar} / 2 + {value} % 19;"),
            // Small, so that no conversion of a floating value is out of range.
            _ => format!("{scalar} {operator} {value} % 11; {scalar} = {scalar} / 4;"),
        }
    }
}

/// A program under construction.
struct Maker {
    random: Random,
    arrays: Vec<Array>,
    /// The array that the links point into.
    linked: Option<Array>,
    /// The array that the directory points into.
    pointed: Option<Array>,
    text: String,
}

/// The text of the program that a seed stands for.
pub fn program(seed: u64) -> String {
    let mut maker = Maker {
        random: Random::new(seed),
        arrays: Vec::new(),
        linked: None,
        pointed: None,
        text: String::new(),
    };
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

/* Elements from i to the end of its block, or of the array. */
#define RUN(i, block, count) ((block) && (block) - (i) % (block) < (count) - (i) ? (block) - (i) % (block) : (count) - (i))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))

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
        self.text += "
static int order[4096];
static long numbers[2][4096];
static int least(int a, int b, int c)
{
    const int d = a < b ? a : b;
    return d < c ? d : c;
}
";
        let count = 3 + self.random.below(4) as usize;
        for number in 0..count {
            let array = self.array(number);
            self.text += &array.declaration();
            self.arrays.push(array);
        }
        self.links();
        self.directory();
        self.private_objects();
        self.compare_function();
        self.helper_functions();
        self.declarations();
        self.text += "\nint main(void)\n{\n    the_lock = upc_all_lock_alloc();\n    for (int i = 0; i < 4096; i++)\n        order[i] = i * 37 % 4096;\n";
        let phases = 20 + self.random.below(30);
        for phase in 0..phases {
            match self.random.below(12) {
                0 => self.shared_out_loop(),
                1 => self.stencil(),
                2 if self.random.one_in(3) => self.rows_loop(),
                2 => self.neighbours_loop(),
                3 if self.random.one_in(4) => self.straight_code(),
                3 => self.loop_of_one(),
                4 | 5 => self.alike_loop(),
                6 => self.aliases(),
                8 => self.private_pointers(),
                9 => self.directory_loops(),
                7 => match self.random.below(5) {
                    0 => self.own_sums(),
                    1 => self.locked(),
                    2 => self.nested_loop(),
                    _ => self.hand_over(phase),
                },
                _ => self.work_of_one(),
            }
            self.text +=
                if self.random.one_in(4) { "    upc_notify;\n    upc_wait;\n" } else { "    upc_barrier;\n" };
            if phase % 8 == 7 {
                let _ = writeln!(self.text, "    compare({phase});\n    upc_barrier;");
            }
        }
        self.text += "    compare(-1);\n    upc_barrier;\n    if (MYTHREAD == 0)\n        printf(\"passed\\n\");\n    return 0;\n}\n";
    }

    /// One array in three is long enough for stretches and vectors; some have the shape of the one before.
    fn array(&mut self, number: usize) -> Array {
        let random = &mut self.random;
        let element = *random.pick(&TYPES);
        let reference = *random.pick(&["", "", "", "", "strict ", "relaxed "]);
        if let Some(last) = self.arrays.last()
            && random.one_in(2)
        {
            let element = if random.one_in(2) { last.element } else { element };
            let same = Array { number, element, reference, ..last.clone() };
            let other = if random.one_in(2) { "" } else { "[*]" };
            // Of the same size, dealt out otherwise.
            let layout =
                if same.indefinite() || random.one_in(2) { same.layout.clone() } else { other.into() };
            return Array { layout, ..same };
        }
        let long = random.one_in(3);
        let row = random.one_in(3).then(|| if long { 16 + random.below(60) } else { 2 + random.below(5) });
        let factor = match (row, long) {
            (None, true) => 40 + random.below(200),
            (_, true) => 1 + random.below(4),
            _ => 1 + random.below(9),
        } * row.unwrap_or(1);
        let layout = match (random.below(6), row) {
            (0, _) => String::new(),
            (1, _) => "[*]".into(),
            (2, _) => "[]".into(),
            (3 | 4, Some(row)) => format!("[{}]", row * (1 + random.below(3))),
            _ if long => format!("[{}]", 16 + random.below(50)),
            _ => format!("[{}]", 1 + random.below(9)),
        };
        Array { number, element, layout, factor, row, reference }
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
        let equal = match self.linked.as_ref().filter(|target| target.row.is_none()) {
            Some(target) => format!(
                "sl[i].p && sl[i].p - &{} != ml[i].p - &{}",
                target.at(Side::Shared, "0"),
                target.at(Side::Mirror, "0")
            ),
            None => "0".to_string(),
        };
        let _ = write!(
            self.text,
            "    for (long i = 0; i < 8 * THREADS; i++)
        if (sl[i].tag != ml[i].tag || !sl[i].p != !ml[i].p || {equal} || !sl[i].next != !ml[i].next)
            differ(phase, -1, i);
}}
"
        );
    }

    /// Structures with pointers to the elements of an array; the mirrors point into its mirror.
    fn links(&mut self) {
        let target = self.random.pick(&self.arrays.clone()).clone();
        let block = 1 + self.random.below(4);
        let (sp, mp) = (target.pointer(Side::Shared, "p"), target.pointer(Side::Mirror, "p"));
        let (most, spare) = (8 * MOST_THREADS, target.number);
        let _ = write!(
            self.text,
            "/* Pointers into array {spare}. */
struct shared_link {{ int tag; {sp}; shared [{block}] struct shared_link *next; }};
struct mirror_link {{ int tag; {mp}; struct mirror_link *next; }};
shared [{block}] struct shared_link sl[8 * THREADS];
static struct mirror_link ml[{most}];
"
        );
        self.linked = Some(target);
    }

    /// A statement with the links.
    fn link_statement(&mut self) -> [String; 2] {
        let Some(target) = self.linked.clone() else { return [String::new(), String::new()] };
        let (a, b) = (self.random.below(1000), self.random.below(1000));
        let index = self.index(&target);
        let member = *self.random.pick(&MEMBERS);
        let form = self.random.below(5);
        let flat = target.row.is_none();
        [('s', Side::Shared), ('m', Side::Mirror)].map(|(side, kind)| {
            let here = format!("{side}l[{a} % (8 * THREADS)]");
            let there = format!("{side}l[{b} % (8 * THREADS)]");
            let base = target.at(kind, "0");
            let value = target.scalar(&format!("(*{here}.p)"), member);
            match form {
                0 | 1 => {
                    format!("{here}.p = &{}; {here}.next = &{there}; {here}.tag++;", target.at(kind, &index))
                }
                2 => format!("if ({here}.p) {value} = {value} / 2 + 3;"),
                3 if flat => {
                    format!(
                        "{there}.tag += {here}.p ? (int)({here}.p - &{base}) % 100 : {here}.p == {there}.p;"
                    )
                }
                _ => format!(
                    "if ({here}.next && {here}.next->p == {here}.p) {here}.next->tag ^= 5; {here} = {there};"
                ),
            }
        })
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

    /// A whole number in terms of elements; the same text for both sides but for names. `side_text` holds one
    /// string a side.
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
        let form = self.random.below(20);
        if form == 19 {
            return self.link_statement();
        }
        let far = self.index(target);
        let other = self.random.pick(&self.arrays.clone()).clone();
        let other_index = self.index(&other);
        let (k, step, letter) = (1 + self.random.below(9), 1 + self.random.below(3), self.random.below(256));
        let draw = Draw {
            target,
            index,
            far: &far,
            other: &other,
            other_index: &other_index,
            member,
            operator,
            form,
            k,
            step,
            letter,
        };
        [draw.statement(Side::Shared, &vs), draw.statement(Side::Mirror, &vm)]
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

    /// A loop of one thread through shared arrays: what upcc cuts into stretches, brings into buffers, or
    /// must leave alone.
    fn loop_of_one(&mut self) {
        let arrays = self.arrays.clone();
        let who = self.random.below(8);
        let (target, source) = (self.random.pick(&arrays).clone(), self.random.pick(&arrays).clone());
        let (member, other) = (*self.random.pick(&MEMBERS), *self.random.pick(&MEMBERS));
        let form = self.random.below(9);
        let (low, ahead, k) = (self.random.below(4), self.random.below(4), self.random.below(1000));
        let bound = self.random.pick(&["<", "<="]).to_string();
        let spare = u64::from(bound == "<=") + 3;
        let variable = *self.random.pick(&["int", "long", "unsigned"]);
        let build = |side: Side| {
            let (ct, cs) = (target.count(), source.count());
            let head = format!(
                "for ({variable} i = {low}; i {bound} (long)({ct} < {cs} ? {ct} : {cs}) - {spare}; i++)"
            );
            // A compound index divides; rows are walked by the last form.
            let t = target.scalar(&target.at(side, "i"), member);
            let s = source.scalar(&source.at(side, &format!("i + {ahead}")), other);
            let before = target.scalar(&target.at(side, &format!("i - {low}")), member);
            let pointer = |a: &Array, name: &str| format!("{} = {};", a.pointer(side, name), a.name(side));
            let value = |x: &str| format!("((unsigned long)(long){x} * 3 + {k} + i) % 41");
            match form {
                0 => format!("{head} {t} = {};", value(&s)),
                1 => format!("{head} {t} += {};", value(&s)),
                2 => format!("{head} {t} = {t} / 2 + {};", value(&before)),
                3 => format!("{head} if ({} % 3) {t} = {};", value(&s), value(&s)),
                4 => format!(
                    "{{ long *q = numbers[{0}], sum = 0; {head} q[i] = (long){s}; \
                     {head} sum += (long){1} + q[i] % 7; {t0} = sum % 41; }}",
                    u8::from(side == Side::Mirror),
                    source.scalar(&source.at(side, &format!("order[i] % ({cs})")), other),
                    t0 = target.scalar(&target.at(side, "0"), member)
                ),
                5 if target.row.is_none() && source.row.is_none() => format!(
                    "{{ {} {} p += {low}; for ({variable} i = 0; i < (long){ct} - {low}; i++) {} = {}; \
                     for (long i = 0; i < {cs} - 3; i++) {} = {}; }}",
                    pointer(&target, "p"),
                    pointer(&source, "r"),
                    target.scalar("p[i]", member),
                    value("i"),
                    source.scalar("r[i]", other),
                    value(&source.scalar("r[i + 2]", other)),
                ),
                6 => format!("{head} {{ if (i % 5 == 2) continue; {t} = {}; }}", value(&s)),
                7 => format!(
                    "{{ long n = 0; {head} {{ n += (long){s}; if (n % 11 == 3) break; }} {} = n % 37; }}",
                    target.scalar(&target.at(side, "0"), member)
                ),
                _ => match target.row {
                    Some(row) => format!(
                        "for (int r = 0; r < {ct} / {row}; r++) for (int i = 0; i < {row} - 1; i++) {} = {};",
                        target.scalar(&format!("{}[r][i]", target.name(side)), member),
                        value(&target.scalar(&format!("{}[r][i + 1]", target.name(side)), member)),
                    ),
                    None => format!("{head} {{ {t}++; {t} = {t} / 2 + {}; }}", value(&s)),
                },
            }
        };
        let _ = write!(
            self.text,
            "    if (MYTHREAD == {who} % THREADS) {{\n        {}\n    }}\n    {{\n        {}\n    }}\n    upc_barrier;\n",
            build(Side::Shared),
            build(Side::Mirror)
        );
    }

    /// A upc_forall that reads the neighbours of its elements, in arrays that it does not write.
    fn neighbours_loop(&mut self) {
        let arrays = self.arrays.clone();
        let target = self.random.pick(&arrays).clone();
        let readable: Vec<Array> = arrays.iter().filter(|a| a.number != target.number).cloned().collect();
        let sources = [0, 1].map(|_| self.random.pick(&readable).clone());
        let member = *self.random.pick(&MEMBERS);
        let back = self.random.below(4);
        let offsets = [0, 1, 2].map(|_| self.random.below(4 + back) as i64 - back as i64);
        let k = self.random.below(1000);
        let counts: Vec<String> = std::iter::once(&target).chain(&sources).map(Array::count).collect();
        let least = format!("least({}, {}, {})", counts[0], counts[1], counts[2]);
        let affinity = match self.random.below(4) {
            0 => format!("i + {}", self.random.below(3)),
            _ => format!("&{}", target.at(Side::Shared, "i")),
        };
        let body = |side: Side| {
            let t = target.scalar(&target.at(side, "i"), member);
            let read = |n: usize, offset: i64| {
                let a = &sources[n];
                format!("(long){}", a.scalar(&a.at(side, &format!("i + {offset}")), MEMBERS[n]))
            };
            format!(
                "{t} = {t} / 2 + ((unsigned long)({} + {} * 3 + {}) + {k} + i) % 41;",
                read(0, offsets[0]),
                read(1, offsets[1]),
                read(0, offsets[2])
            )
        };
        let header = format!("int i = {back}; i < least_{} - 3; i++", self.text.len());
        let bound = format!("least_{}", self.text.len());
        let _ = write!(
            self.text,
            "    {{\n    const int {bound} = {least};\n    upc_forall ({header}; {affinity})\n        {}\n    for ({header})\n        {}\n    }}\n",
            body(Side::Shared),
            body(Side::Mirror)
        );
    }

    /// Rows shared out, and a loop in each over the row and what is around it in another array.
    fn rows_loop(&mut self) {
        let arrays = self.arrays.clone();
        let Some(target) = arrays.iter().find(|a| a.row.is_some()).cloned() else {
            return self.neighbours_loop();
        };
        let row = target.row.unwrap_or(1);
        let source = self.random.pick(&arrays).clone();
        let source = if source.number == target.number { None } else { Some(source) };
        let member = *self.random.pick(&MEMBERS);
        let (column, low, k) = (self.random.below(row), self.random.below(2), self.random.below(1000));
        let body = |side: Side| {
            let t = target.scalar(&format!("{}[r][i]", target.name(side)), member);
            let read = match &source {
                Some(s) => {
                    let at =
                        |offset| s.scalar(&s.at(side, &format!("(r + i + {offset}) % {}", s.count())), "c");
                    format!("(long){} + (long){}", at(0), at(row))
                }
                None => "r".to_string(),
            };
            format!(
                "for (int i = {low}; i < {row}; i++)\n            {t} = {t} / 2 + ((unsigned long)({read}) + {k} + i) % 41;"
            )
        };
        let header = format!("int r = {low}; r < {} / {row}; r++", target.count());
        let _ = write!(
            self.text,
            "    upc_forall ({header}; &{}[r][{column}])\n        {}\n    for ({header})\n        {}\n",
            target.name(Side::Shared),
            body(Side::Shared),
            body(Side::Mirror)
        );
    }

    /// Reads and writes of one thread, one after the other: some of the reads can be under way at the same
    /// time.
    fn straight_code(&mut self) {
        let arrays = self.arrays.clone();
        let who = self.random.below(8);
        let (mut shared, mut mirror) = (String::new(), String::new());
        for n in 0..6 + self.random.below(6) {
            let picks = [0, 1, 2].map(|_| self.random.pick(&arrays).clone());
            let at = [0, 1, 2].map(|_| self.random.below(1000));
            let member = *self.random.pick(&MEMBERS);
            let form = self.random.below(5);
            for (side, text) in [(Side::Shared, &mut shared), (Side::Mirror, &mut mirror)] {
                let [x, y, z] = [0, 1, 2].map(|m: usize| {
                    let a = &picks[m];
                    a.scalar(&a.at(side, &format!("({} + n) % {}", at[m], a.count())), member)
                });
                let sum = format!("((unsigned long)((long){y} + 3 * (long){z}) + v) % 41");
                let line = match form {
                    0 => format!("const long w{n} = (long){y} - (long){z}; v += w{n} % 7;"),
                    1 => format!("{x} = {sum};"),
                    2 => format!("if ({sum} % 3) {x} = {sum}; else n = {};", at[0] % 5),
                    3 => format!("{x} = {x} / 2 + {sum}; n++;"),
                    _ => format!("v = {sum}; {x} = v; v += (long){y} % 5;"),
                };
                let _ = writeln!(text, "        {line}");
            }
        }
        let start = "        long v = 5; int n = 0;\n";
        let _ = write!(
            self.text,
            "    if (MYTHREAD == {who} % THREADS) {{\n{start}{shared}    }}\n    {{\n{start}{mirror}    }}\n    upc_barrier;\n"
        );
    }

    /// A upc_forall whose iterations are independent: each writes one element and reads only arrays that none
    /// writes.
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
