//! Keywords: the first symbols of the interner, so that a symbol's number says whether it is one.

use std::sync::OnceLock;

use crate::front::token::{Interner, Sym};

macro_rules! keywords {
    ($($name:ident: $($text:literal)|+),* $(,)?) => {
        /// A keyword of C, GNU C or UPC; alternate spellings are one keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kw { $($name),* }
        const TABLE: &[(&str, Kw)] = &[$($(($text, Kw::$name)),+),*];
    };
}

keywords! {
    Auto: "auto", Break: "break", Case: "case", Char: "char", Const: "const" | "__const" | "__const__",
    Continue: "continue", Default: "default", Do: "do", Double: "double", Else: "else", Enum: "enum",
    Extern: "extern", Float: "float", For: "for", Goto: "goto", If: "if",
    Inline: "inline" | "__inline" | "__inline__", Int: "int", Long: "long", Register: "register",
    Restrict: "restrict" | "__restrict" | "__restrict__", Return: "return", Short: "short",
    Signed: "signed" | "__signed" | "__signed__", Sizeof: "sizeof", Static: "static", Struct: "struct",
    Switch: "switch", Typedef: "typedef", Union: "union", Unsigned: "unsigned", Void: "void",
    Volatile: "volatile" | "__volatile" | "__volatile__", While: "while", Bool: "_Bool",
    Complex: "_Complex" | "__complex" | "__complex__", Imaginary: "_Imaginary", Alignas: "_Alignas",
    Alignof: "_Alignof" | "__alignof" | "__alignof__", Atomic: "_Atomic", Generic: "_Generic",
    Noreturn: "_Noreturn", StaticAssert: "_Static_assert", ThreadLocal: "_Thread_local" | "__thread",
    Attribute: "__attribute__" | "__attribute", Extension: "__extension__", Asm: "asm" | "__asm" | "__asm__",
    Typeof: "typeof" | "__typeof" | "__typeof__", AutoType: "__auto_type", Label: "__label__",
    Real: "__real__" | "__real", Imag: "__imag__" | "__imag", Int128: "__int128", Int128T: "__int128_t",
    UInt128T: "__uint128_t", BFloat16: "__bf16", Float16: "_Float16", Float32: "_Float32", Float64: "_Float64",
    Float32x: "_Float32x", Float64x: "_Float64x", Float128: "_Float128" | "__float128", Float80: "__float80",
    Decimal32: "_Decimal32", Decimal64: "_Decimal64", Decimal128: "_Decimal128",
    VaListT: "__builtin_va_list", VaArg: "__builtin_va_arg", Offsetof: "__builtin_offsetof",
    TypesCompatible: "__builtin_types_compatible_p", ChooseExpr: "__builtin_choose_expr",
    Tgmath: "__builtin_tgmath", ConvertVector: "__builtin_convertvector",
    FuncName: "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__",
    // UPC
    Shared: "shared", Strict: "strict", Relaxed: "relaxed", Mythread: "MYTHREAD", Threads: "THREADS",
    MaxBlock: "UPC_MAX_BLOCK_SIZE", Barrier: "upc_barrier", Notify: "upc_notify", Wait: "upc_wait",
    Fence: "upc_fence", Forall: "upc_forall", Blocksizeof: "upc_blocksizeof", Elemsizeof: "upc_elemsizeof",
    Localsizeof: "upc_localsizeof",
}

/// An interner that has all keywords.
pub(crate) fn keywords() -> Interner {
    static ALL: OnceLock<Interner> = OnceLock::new();
    Interner::on(ALL.get_or_init(|| {
        let mut all = Interner::default();
        for (i, (text, _)) in TABLE.iter().enumerate() {
            let s = all.intern(text);
            debug_assert_eq!(s.0 as usize, i);
        }
        all
    }))
}

/// The keyword `sym` spells.
pub(crate) fn keyword(sym: Sym) -> Option<Kw> {
    TABLE.get(sym.0 as usize).map(|&(_, k)| k)
}

impl Kw {
    /// Whether a keyword of UPC only: a plain identifier in C-mode text.
    pub(crate) fn is_upc(self) -> bool {
        self as u32 >= Kw::Shared as u32
    }
}
