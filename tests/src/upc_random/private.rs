//! Phases with pointers to private memory in shared objects, two levels deep.
//!
//! Such a pointer means something to the thread that stored it only. So a phase sets all of them first, and
//! the thread that did compares what they lead to with the mirrors in the end.

use std::fmt::Write;

use super::{MOST_THREADS, Maker};

/// Private cells on each side.
const CELLS: u64 = 5;

impl Maker {
    /// The cells of both sides, and shared objects with pointers to them.
    pub(super) fn private_objects(&mut self) {
        let [rows, holders] = [0, 1].map(|_| 1 + self.random.below(4));
        let qualifier = *self.random.pick(&["", "", "volatile ", "strict ", "relaxed ", "strict volatile "]);
        let most = 8 * MOST_THREADS;
        let _ = write!(
            self.text,
            "/* Private memory that pointers in shared objects lead to. */
struct cell {{ int v; struct cell *next; int list[3]; }};
struct holder {{ int tag; struct cell *cell, **cells; int *number; }};
static struct cell sc[{CELLS}], mc[{CELLS}];
static int *sn = &sc[1].v, *mn = &mc[1].v;
struct cell *{qualifier}shared [{rows}] sp[8 * THREADS];
static struct cell *mp[{most}];
shared [{holders}] struct holder sh[8 * THREADS];
static struct holder mh[{most}];
int **{qualifier}shared spp;
static int **mpp;
#define SET_PRIVATE(c, p, h, pp, n) do {{ \\
        for (int i = 0; i < {CELLS}; i++) \\
            c[i] = (struct cell){{ i * 7, &c[(i + 2) % {CELLS}], {{ i, i + 1, i + 2 }} }}; \\
        for (int i = 0; i < 8 * THREADS; i++) {{ \\
            p[i] = &c[i % {CELLS}]; \\
            h[i].tag = i; \\
            h[i].cell = &c[i * 3 % {CELLS}]; \\
            h[i].cells = &c[i * 2 % {CELLS}].next; \\
            h[i].number = &c[i % {CELLS}].v; \\
        }} \\
        n = &c[1].v; \\
        pp = &n; \\
    }} while (0)
"
        );
    }

    /// A statement with them, the same on both sides but for the first letter of names.
    fn private_statement(&mut self) -> String {
        let [a, b, c] = [0, 1, 2].map(|_| {
            let k = self.random.below(1000);
            if self.random.one_in(2) {
                format!("{k} % (8 * THREADS)")
            } else {
                format!("({k} + n) % (8 * THREADS)")
            }
        });
        let k = self.random.below(100);
        match self.random.below(18) {
            0 => format!("$h[{a}].cell->v = {k};"),
            1 => format!("$h[{a}].cell->next->v = $h[{b}].cell->v % 1000 + {k};"),
            2 => format!("(*$h[{a}].cells)->v = (*$h[{b}].cells)->v % 1000 - $p[{c}]->v % 100;"),
            3 => format!("*$h[{a}].number = *$h[{b}].number % 1000 + {k};"),
            4 => format!("$p[{a}]->list[$p[{b}]->list[{k} % 3] & 1] = $h[{c}].tag % 100;"),
            5 => format!("$p[{a}]->next->next->v ^= {k};"),
            6 => format!("**$pp = **$pp % 1000 + {k};"),
            7 => format!("*$pp = &$c[{k} % {CELLS}].v; **$pp ^= $p[{a}]->v;"),
            8 => format!("$h[{a}].cell = $h[{b}].cell->next;"),
            9 => format!("$p[{a}] = $h[{b}].cell; $p[{a}]->v = {k};"),
            10 => format!("if ($h[{a}].cell == $p[{b}]) $h[{a}].cell->v ^= 3; else $p[{c}] = $p[{b}]->next;"),
            11 => format!("$h[{a}].tag += (int)($h[{b}].cell - $c) + (int)($p[{c}] - $c);"),
            12 => format!("$h[{a}] = $h[{b}];"),
            13 => "for (int i = 0; i < 8 * THREADS; i++) $p[i]->v = ($p[i]->v + i) % 1000;".to_string(),
            14 => "for (int i = 1; i < 8 * THREADS; i++) { $p[i] = $p[i - 1]->next; $p[i]->list[1] = i; }"
                .to_string(),
            15 => format!(
                "for (int i = 0; i < 3; i++) $p[{a}]->list[i] = $h[{b}].cell->list[i] % 100 + $p[{c}]->list[2 - i] % 100;"
            ),
            16 => format!(
                "{{ struct cell *q = $p[{a}]; q->v = $p[{b}]->v; (*$p[{c}]).list[0]++; q->next = $h[{b}].cell; }}"
            ),
            _ => format!(
                "$h[{a}].cells = &$p[{b}]->next; *$h[{a}].cells = $p[{c}]; n += $h[{a}].number == &$p[{c}]->v;"
            ),
        }
    }

    /// One thread works with pointers to its private memory; in the end it compares.
    pub(super) fn private_pointers(&mut self) {
        let who = self.random.below(8);
        let mut text = String::new();
        for _ in 0..3 + self.random.below(10) {
            let _ = writeln!(text, "        {}", self.private_statement());
        }
        let [s, m] = ["s", "m"].map(|side| text.replace('$', side));
        let _ = write!(
            self.text,
            "    {{
        int n = 3;
        SET_PRIVATE(mc, mp, mh, mpp, mn);
{m}        const int mirrored = n;
        n = 3;
        if (MYTHREAD == {who} % THREADS) {{
        SET_PRIVATE(sc, sp, sh, spp, sn);
{s}        if (n != mirrored || *spp - &sc[0].v != *mpp - &mc[0].v)
            differ(-3, 0, n);
        for (int i = 0; i < 8 * THREADS; i++)
            if (sh[i].tag != mh[i].tag || sp[i] - sc != mp[i] - mc || sh[i].cell - sc != mh[i].cell - mc ||
                (char *)sh[i].cells - (char *)sc != (char *)mh[i].cells - (char *)mc ||
                sh[i].number - &sc[0].v != mh[i].number - &mc[0].v)
                differ(-4, 0, i);
        for (int i = 0; i < {CELLS}; i++)
            if (sc[i].v != mc[i].v || sc[i].next - sc != mc[i].next - mc || memcmp(sc[i].list, mc[i].list, sizeof mc[i].list))
                differ(-5, 0, i);
        }}
    }}
"
        );
    }
}
