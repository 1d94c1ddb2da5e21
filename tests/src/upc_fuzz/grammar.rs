//! Units made from a grammar: small, mostly of valid form, of types drawn at random.
//!
//! A unit uses a fixed list of names. Their declarations are drawn anew for every unit, so that the checker
//! meets every operator with operands of all kinds: shared and private, of every layout, arrays, functions,
//! structs, pointers to each other.

use crate::upc_random::Random;

use super::library::{LIBRARY, LIBRARY_FUNCTIONS};

/// Names of objects; `T` is a typedef name, `S` a tag, `f` and `g` are functions.
const OBJECTS: [&str; 8] = ["x", "y", "a", "b", "p", "q", "s", "n"];
const FUNCTIONS: [&str; 2] = ["f", "g"];
/// Lists of fields for the members of `S`.
const MEMBERS: [&str; 12] = [
    "int m; char c;",
    "int m : 3; unsigned : 0; shared int *c;",
    "union { int m; float c; };",
    "struct S *m; double c[2];",
    "int m; double c[];",
    "shared [2] char *m, **c;",
    "int m;",
    "const int m; int (*c)(int);",
    "_Bool m : 1; long double c;",
    "struct { int m; } c; int m;",
    "char m[3]; _Alignas(16) int c;",
    "int m; struct S c;",
];
const LAYOUTS: [&str; 20] = [
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "shared ",
    "shared ",
    "shared ",
    "shared [2] ",
    "shared [] ",
    "shared [] ",
    "shared [*] ",
    "strict shared [3] ",
    "relaxed shared ",
    "shared [x] ",
    "shared [THREADS] ",
    "const shared [4] ",
    "shared ",
];
const TYPES: [&str; 36] = [
    "int",
    "int",
    "int",
    "int",
    "int",
    "int",
    "int",
    "int",
    "char",
    "char",
    "unsigned",
    "long",
    "short",
    "double",
    "double",
    "float",
    "_Bool",
    "void",
    "void",
    "struct S",
    "struct S",
    "T",
    "T",
    "unsigned char",
    "long long",
    "long double",
    "_Complex double",
    "enum E { E0, E1 = 7 }",
    "__int128",
    "union { int m; char c[9]; }",
    "__typeof__(x)",
    "_Atomic int",
    "signed char",
    "struct S { int m; }",
    "_Float128",
    "unsigned long",
];
const BOUNDS: [&str; 24] = [
    "3",
    "3",
    "3",
    "3",
    "3",
    "3",
    "2",
    "2",
    "2",
    "2",
    "THREADS",
    "3*THREADS",
    "4",
    "5",
    "THREADS*THREADS",
    "",
    "n",
    "sizeof(x)",
    "*",
    "0",
    "-1",
    "1ul<<40",
    "THREADS+1",
    "9",
];
const BINARY: [&str; 20] = [
    "+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||", "+",
    "-",
];
const ASSIGN: [&str; 8] = [" = ", " = ", " = ", " += ", " -= ", " *= ", " <<= ", " |= "];
const UNARY: [&str; 12] = ["-", "~", "!", "&", "*", "*", "&", "++", "--", "+", "__real__ ", "&&"];
const CONSTANTS: [&str; 22] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "07",
    "0xffffffff",
    "1ul",
    "1.5",
    "1e400",
    "1.f",
    "2.0L",
    "'a'",
    "\"s\"",
    "L\"w\"",
    "MYTHREAD",
    "THREADS",
    "18446744073709551615u",
    "99999999999999999999",
    "1i",
    "UPC_MAX_BLOCK_SIZE",
    "__func__",
];
const SIZEOF: [&str; 6] =
    ["sizeof", "sizeof", "upc_blocksizeof", "upc_elemsizeof", "upc_localsizeof", "_Alignof"];
const ITEMS: [&str; 12] = [
    "#pragma upc strict\n",
    "#pragma pack(1)\n",
    "_Static_assert(sizeof(int) == 4, \"\");\n",
    "int k(a, b) int a; char *b; { return a; }\n",
    "extern int x;\n",
    "static inline int k(void) { return 0; }\n",
    "__attribute__((aligned(8))) int k;\n",
    ";\n",
    "asm(\"nop\");\n",
    "struct S;\n",
    "#pragma upc c_code\n",
    "enum { E2 = sizeof(x) };\n",
];

/// Past this length of text only short forms are drawn.
const ENOUGH: usize = 60;

/// Writes one unit.
pub fn unit(random: &mut Random, out: &mut String) {
    let mut body = String::with_capacity(300);
    let mut maker = Maker { random, out: &mut body, used: 0 };
    // With this many declarations hardly two units are alike.
    while maker.out.len() < 50 {
        maker.item();
    }
    let used = maker.used;
    let mut maker = Maker { random, out, used };
    maker.declarations();
    out.push_str(&body);
}

/// Where a declaration is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclContext {
    /// At file scope, or static.
    File,
    /// Among statements, parameters and members.
    Local,
    /// In parentheses before or in an expression.
    Cast,
}

struct Maker<'a> {
    random: &'a mut Random,
    out: &'a mut String,
    /// Names used so far, a bit each.
    used: u128,
}

const S: u32 = 0;
const T: u32 = 1;
const FIRST_OBJECT: u32 = 2;
const FIRST_FUNCTION: u32 = FIRST_OBJECT + OBJECTS.len() as u32;
const FIRST_LIBRARY: u32 = FIRST_FUNCTION + FUNCTIONS.len() as u32;

impl Maker<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn pick(&mut self, from: &[&str]) {
        self.out.push_str(self.random.pick::<&str>(from));
    }

    fn uses(&mut self, name: u32) {
        self.used |= 1 << name;
    }

    /// Declares what is used. Declarations may use more names: those that come later.
    fn declarations(&mut self) {
        for (at, (_, declaration)) in (FIRST_LIBRARY..).zip(LIBRARY) {
            if self.used >> at & 1 == 1 {
                self.put(declaration);
                self.put("\n");
            }
        }
        let mut rest = String::new();
        let out = std::mem::take(self.out);
        for at in (FIRST_OBJECT..FIRST_LIBRARY).rev() {
            // Now and then something is not declared.
            if self.used >> at & 1 == 1 && !self.random.one_in(30) {
                self.out.clear();
                if at >= FIRST_FUNCTION {
                    self.function_declaration(FUNCTIONS[(at - FIRST_FUNCTION) as usize]);
                } else {
                    self.object_declaration(OBJECTS[(at - FIRST_OBJECT) as usize]);
                }
                rest.insert_str(0, self.out);
            }
        }
        *self.out = out;
        if self.used & 3 != 0 && !self.random.one_in(16) {
            self.put("struct S { ");
            self.pick(&MEMBERS);
            self.put(" };\n");
        }
        if self.used >> T & 1 == 1 {
            self.put("typedef ");
            self.declaration_of("T", DeclContext::File);
            self.put(";\n");
        }
        self.put(&rest);
    }

    fn object_declaration(&mut self, name: &str) {
        if self.random.one_in(8) {
            self.pick(&["static ", "extern ", "_Thread_local "]);
        }
        self.declaration_of(name, DeclContext::File);
        if self.random.one_in(6) {
            self.put(" = ");
            self.initializer(1);
        }
        self.put(";\n");
    }

    fn function_declaration(&mut self, name: &str) {
        match self.random.below(8) {
            0..4 => {
                self.put("int ");
                self.put(name);
            }
            _ => {
                self.pick(&["void", "shared int *", "double", "char *"]);
                self.put(" ");
                self.put(name);
            }
        }
        self.parameters();
        self.put(";\n");
    }

    fn parameters(&mut self) {
        self.put("(");
        match self.random.below(6) {
            0 => {}
            1 => self.put("void"),
            2 => self.put("const char *, ..."),
            _ => {
                for i in 0..=self.random.below(2) {
                    if i > 0 {
                        self.put(", ");
                    }
                    self.declaration_of(if i == 0 { "n" } else { "" }, DeclContext::Local);
                }
            }
        }
        self.put(")");
    }

    /// Qualifiers, type and declarator.
    fn declaration_of(&mut self, name: &str, context: DeclContext) {
        // Now and then rules of the place are broken.
        let lawful = !self.random.one_in(16);
        let (mut before, mut after) = (String::new(), String::new());
        let (mut pointer, mut pointers, mut array) = (false, 0, false);
        let most = if context == DeclContext::Cast { 3 } else { 4 };
        for _ in 0..self.random.below(most).min(2) {
            match self.random.below(6) {
                0..3 => {
                    let star = if lawful && context != DeclContext::File && pointers == 0 {
                        &["*", "*", "*const ", "*restrict "][..]
                    } else {
                        &["*", "*", "*const ", "*shared "]
                    };
                    before.insert_str(0, self.random.pick::<&str>(star));
                    (pointer, pointers) = (true, pointers + 1);
                    continue;
                }
                _ if lawful && context == DeclContext::Cast && !pointer => continue,
                _ => {}
            }
            if pointer {
                before.insert(0, '(');
                after.push(')');
            }
            if self.random.one_in(6) && !(lawful && after.ends_with(']')) {
                after.push_str("(int, shared void *)");
                break;
            }
            pointer = false;
            array = true;
            after.push('[');
            after.push_str(self.random.pick::<&str>(&BOUNDS));
            after.push(']');
        }
        let layout = if lawful && context != DeclContext::File && pointers == 0 {
            ""
        } else {
            *self.random.pick::<&str>(&LAYOUTS)
        };
        // Shared arrays have THREADS in a bound.
        if lawful
            && array
            && pointers == 0
            && !["", "shared [] "].contains(&layout)
            && self.random.below(8) > 0
        {
            after = after.replacen("[3]", "[3*THREADS]", 1).replacen("[2]", "[2*THREADS]", 1);
        }
        self.put(layout);
        if self.random.one_in(12) {
            let any = ["const ", "volatile ", "shared ", "restrict ", "strict "];
            self.pick(if lawful { &any[..2] } else { &any });
        }
        let ty = *self.random.pick::<&str>(&TYPES);
        match ty {
            "struct S" => self.uses(S),
            "T" if name == "T" => return self.put("int T"),
            "T" => self.uses(T),
            "void" if lawful && pointers == 0 => return self.put(&format!("int {before}{name}{after}")),
            _ => {}
        }
        self.put(ty);
        self.put(" ");
        self.put(&before);
        self.put(name);
        self.put(&after);
    }

    fn initializer(&mut self, depth: u32) {
        if self.random.one_in(2) || depth > 3 {
            return self.expression(1);
        }
        self.put("{ ");
        for _ in 0..self.random.below(4) {
            match self.random.below(8) {
                0 => self.put(".m = "),
                1 => self.put("[1] = "),
                2 => self.put("[0 ... 2] = "),
                3 => self.put("[THREADS] = "),
                _ => {}
            }
            self.initializer(depth + 1);
            self.put(", ");
        }
        self.put("}");
    }

    fn item(&mut self) {
        match self.random.below(10) {
            0 => self.pick(&ITEMS),
            1 => self.object_declaration("z"),
            2 => {
                self.put("struct Z { ");
                for member in ["m", "c"] {
                    self.declaration_of(member, DeclContext::Local);
                    if self.random.one_in(5) {
                        self.put(" : ");
                        self.expression(0);
                    }
                    self.put("; ");
                }
                self.put("};\n");
            }
            _ => {
                let result = *self.random.pick::<&str>(&[
                    "int",
                    "int",
                    "int",
                    "void",
                    "shared int *",
                    "struct S",
                    "double",
                ]);
                if result == "struct S" {
                    self.uses(S);
                }
                self.put(result);
                self.put(" h");
                if self.random.one_in(3) {
                    self.parameters();
                } else {
                    self.put("(int n)");
                }
                self.put(" { ");
                if self.random.one_in(12) {
                    self.pick(&["\n#pragma upc strict\n", "__label__ l; ", "static shared int y; "]);
                }
                for _ in 0..=self.random.below(2) {
                    self.statement(2);
                }
                self.put("}\n");
            }
        }
    }

    fn statement(&mut self, depth: u32) {
        if depth == 0 || self.out.len() > ENOUGH {
            self.expression(1);
            return self.put("; ");
        }
        match self.random.below(24) {
            form @ (0..6 | 13) => self.branch_or_loop(form, depth - 1),
            6 => {
                self.put("return ");
                self.expression(2);
                self.put("; ");
            }
            7 => {
                self.pick(&["upc_barrier ", "upc_notify ", "upc_wait "]);
                if self.random.one_in(2) {
                    self.expression(1);
                }
                self.put("; ");
            }
            8 => self.pick(&[
                "upc_fence; ",
                "break; ",
                "continue; ",
                "goto l; ",
                "l: ; ",
                "return; ",
                ";",
                "goto *n; ",
                "case 3: ; ",
                "{ }",
                "asm volatile (\"\" : \"+r\"(x) : \"m\"(n) : \"memory\"); ",
                "_Static_assert(1, \"\"); ",
            ]),
            9..12 => {
                let fixed = self.random.one_in(4);
                if fixed {
                    self.put("static ");
                }
                let name = *self.random.pick::<&str>(&["x", "v", "w"]);
                self.declaration_of(name, if fixed { DeclContext::File } else { DeclContext::Local });
                if self.random.one_in(2) {
                    self.put(" = ");
                    self.initializer(1);
                }
                self.put("; ");
            }
            12 => {
                self.put("{ ");
                self.statement(depth - 1);
                self.statement(depth - 1);
                self.put("} ");
            }
            _ => {
                self.expression(3);
                self.put("; ");
            }
        }
    }

    /// A statement with statements in it.
    fn branch_or_loop(&mut self, form: u64, depth: u32) {
        match form {
            0 => {
                self.put("if (");
                self.expression(1);
                self.put(") ");
                self.statement(depth);
                if self.random.one_in(3) {
                    self.put("else ");
                    self.statement(depth);
                }
            }
            1 => {
                self.put("while (");
                self.expression(1);
                self.put(") ");
                self.statement(depth);
            }
            2 => {
                self.put("for (int i = 0; i < ");
                self.expression(1);
                self.put("; i++) ");
                self.statement(depth);
            }
            3 | 4 => {
                self.put("upc_forall (int i = 0; i < ");
                self.expression(0);
                self.put("; i++; ");
                if self.random.one_in(4) {
                    self.pick(&["continue", ""]);
                } else {
                    self.expression(1);
                }
                self.put(") ");
                self.statement(depth);
            }
            5 => {
                self.put("switch (");
                self.expression(0);
                self.put(") { case ");
                self.expression(0);
                self.pick(&[": ", " ... 9: ", ": default: "]);
                self.statement(depth);
                self.put("} ");
            }
            _ => {
                self.put("do ");
                self.statement(depth);
                self.put("while (");
                self.expression(0);
                self.put("); ");
            }
        }
    }

    fn leaf(&mut self) {
        match self.random.below(16) {
            0..4 => self.pick(&CONSTANTS),
            4 => {
                let at = self.random.below(FUNCTIONS.len() as u64) as u32;
                self.uses(FIRST_FUNCTION + at);
                self.put(FUNCTIONS[at as usize]);
            }
            5 => self.pick(&["i", "n", "v", "E1", "i"]),
            _ => {
                let at = self.random.below(OBJECTS.len() as u64) as u32;
                self.uses(FIRST_OBJECT + at);
                self.put(OBJECTS[at as usize]);
            }
        }
    }

    fn type_name(&mut self) {
        self.put("(");
        self.declaration_of("", DeclContext::Cast);
        self.put(")");
    }

    fn arguments(&mut self, most: u64, depth: u32) {
        self.put("(");
        for i in 0..self.random.below(most + 1) {
            if i > 0 {
                self.put(", ");
            }
            self.expression(depth);
        }
        self.put(")");
    }

    fn expression(&mut self, depth: u32) {
        if depth == 0 || self.out.len() > ENOUGH {
            return self.leaf();
        }
        let d = depth - 1;
        match self.random.below(30) {
            0..4 => self.leaf(),
            4..9 => {
                self.expression(d);
                self.put(" ");
                self.pick(&BINARY);
                self.put(" ");
                self.expression(d);
            }
            9..12 => {
                self.expression(d.min(1));
                self.pick(&ASSIGN);
                self.expression(d);
            }
            12..15 => {
                self.pick(&UNARY);
                self.expression(d);
            }
            15 => {
                self.leaf();
                self.pick(&["++", "--"]);
            }
            16..18 => {
                self.expression(d);
                self.put("[");
                self.expression(d);
                self.put("]");
            }
            18..20 => {
                self.expression(d);
                self.pick(&[".", "->"]);
                self.pick(&["m", "c"]);
            }
            20 => {
                self.put("(");
                self.expression(d);
                self.put(")");
            }
            21 => {
                self.type_name();
                self.expression(d);
            }
            22 => {
                self.expression(d);
                self.put(" ? ");
                self.expression(d);
                self.put(" : ");
                self.expression(d);
            }
            23 => {
                self.pick(&SIZEOF);
                if self.random.one_in(2) {
                    self.type_name();
                } else {
                    self.put(" ");
                    self.expression(d);
                }
            }
            24 => {
                let at = self.random.below(FUNCTIONS.len() as u64) as u32;
                self.uses(FIRST_FUNCTION + at);
                self.put(FUNCTIONS[at as usize]);
                self.arguments(2, d);
            }
            25 | 26 => {
                let at = self.random.below(LIBRARY_FUNCTIONS) as u32;
                self.uses(FIRST_LIBRARY + at);
                self.put(LIBRARY[at as usize].0);
                self.arguments(3, d);
            }
            27 => self.rare_expression(d),
            _ => {
                self.type_name();
                self.initializer(2);
            }
        }
    }

    /// Forms that few programs have.
    fn rare_expression(&mut self, d: u32) {
        match self.random.below(8) {
            0 => {
                self.put("_Generic(");
                self.expression(d);
                self.put(", int: 1, shared int *: x, default: ");
                self.expression(d);
                self.put(")");
            }
            1 => self.put("__builtin_offsetof(struct S, m)"),
            2 => {
                self.put("__builtin_types_compatible_p");
                self.put("(int, ");
                self.declaration_of("", DeclContext::Cast);
                self.put(")");
            }
            3 => {
                self.put("__builtin_choose_expr(1, ");
                self.expression(d);
                self.put(", ");
                self.expression(d);
                self.put(")");
            }
            4 => self.put("({ int v = 1; v; })"),
            5 => {
                self.put("(");
                self.expression(d);
                self.put(", ");
                self.expression(d);
                self.put(")");
            }
            6 => {
                self.pick(&[
                    "__builtin_constant_p",
                    "__builtin_expect",
                    "__sync_fetch_and_add",
                    "__atomic_load_n",
                ]);
                self.arguments(3, d);
            }
            _ => {
                self.expression(d);
                self.arguments(2, d);
            }
        }
    }
}
