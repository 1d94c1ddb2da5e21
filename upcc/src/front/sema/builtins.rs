//! Functions that gcc knows without a declaration.
//!
//! A table gives the types of common ones; of math functions the type follows from the name; generic ones
//! (`__sync_*`, `__atomic_*`, ...) take their type from their arguments. Of any other `__builtin_*` the
//! result is of the error type, which goes with everything: the C compiler knows better.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx, TokRange};
use crate::front::types::*;

/// `name(parameters)result`: v void, b _Bool, c char, i int, u unsigned, l long, z size_t, q long long, Q
/// unsigned long long, f float, d double, e long double, p void *, P const void *, s char *, S const char *,
/// h unsigned short, x __float128, L va_list, `.` variadic.
const TABLE: &[&str] = &[
    "alloca(z)p",
    "alloca_with_align(zz)p",
    "memcpy(pPz)p",
    "mempcpy(pPz)p",
    "memmove(pPz)p",
    "memset(piz)p",
    "memcmp(PPz)i",
    "memchr(Piz)p",
    "strlen(S)z",
    "strcpy(sS)s",
    "stpcpy(sS)s",
    "strncpy(sSz)s",
    "strcat(sS)s",
    "strncat(sSz)s",
    "strcmp(SS)i",
    "strncmp(SSz)i",
    "strcasecmp(SS)i",
    "strncasecmp(SSz)i",
    "strchr(Si)s",
    "strrchr(Si)s",
    "strstr(SS)s",
    "strdup(S)s",
    "strndup(Sz)s",
    "strpbrk(SS)s",
    "strspn(SS)z",
    "strcspn(SS)z",
    "index(Si)s",
    "rindex(Si)s",
    "malloc(z)p",
    "calloc(zz)p",
    "realloc(pz)p",
    "free(p)v",
    "abort()v",
    "exit(i)v",
    "_exit(i)v",
    "printf(S.)i",
    "fprintf(pS.)i",
    "sprintf(sS.)i",
    "snprintf(szS.)i",
    "vprintf(SL)i",
    "vfprintf(pSL)i",
    "vsprintf(sSL)i",
    "vsnprintf(szSL)i",
    "puts(S)i",
    "putchar(i)i",
    "fputs(Sp)i",
    "fputc(ip)i",
    "scanf(S.)i",
    "sscanf(SS.)i",
    "fscanf(pS.)i",
    "__memcpy_chk(pPzz)p",
    "__mempcpy_chk(pPzz)p",
    "__memmove_chk(pPzz)p",
    "__memset_chk(pizz)p",
    "__strcpy_chk(sSz)s",
    "__stpcpy_chk(sSz)s",
    "__strncpy_chk(sSzz)s",
    "__stpncpy_chk(sSzz)s",
    "__strcat_chk(sSz)s",
    "__strncat_chk(sSzz)s",
    "__sprintf_chk(sizS.)i",
    "__snprintf_chk(szizS.)i",
    "__vsprintf_chk(sizSL)i",
    "__vsnprintf_chk(szizSL)i",
    "__printf_chk(iS.)i",
    "__fprintf_chk(piS.)i",
    "__vprintf_chk(iSL)i",
    "__vfprintf_chk(piSL)i",
    "object_size(Pi)z",
    "dynamic_object_size(Pi)z",
    "va_arg_pack()i",
    "va_arg_pack_len()i",
    "expect(ll)l",
    "expect_with_probability(lld)l",
    "assume_aligned(Pz.)p",
    "trap()v",
    "unreachable()v",
    "return_address(u)p",
    "frame_address(u)p",
    "extract_return_addr(p)p",
    "prefetch(P.)v",
    "__clear_cache(pp)v",
    "eh_return_data_regno(i)i",
    "bswap16(h)h",
    "bswap32(u)u",
    "bswap64(z)z",
    "ffs(i)i",
    "ffsl(l)i",
    "ffsll(q)i",
    "clz(u)i",
    "clzl(z)i",
    "clzll(Q)i",
    "ctz(u)i",
    "ctzl(z)i",
    "ctzll(Q)i",
    "clrsb(i)i",
    "clrsbl(l)i",
    "clrsbll(q)i",
    "popcount(u)i",
    "popcountl(z)i",
    "popcountll(Q)i",
    "parity(u)i",
    "parityl(z)i",
    "parityll(Q)i",
    "abs(i)i",
    "labs(l)l",
    "llabs(q)q",
    "imaxabs(l)l",
    "huge_val()d",
    "huge_valf()f",
    "huge_vall()e",
    "huge_valf128()x",
    "inf()d",
    "inff()f",
    "infl()e",
    "inff128()x",
    "nan(S)d",
    "nanf(S)f",
    "nanl(S)e",
    "nanf128(S)x",
    "nans(S)d",
    "nansf(S)f",
    "nansl(S)e",
    "nansf128(S)x",
    "isalpha(i)i",
    "isdigit(i)i",
    "isspace(i)i",
    "isupper(i)i",
    "islower(i)i",
    "isalnum(i)i",
    "toupper(i)i",
    "tolower(i)i",
    "setjmp(p)i",
    "longjmp(pi)v",
    "cpu_init()i",
    "cpu_supports(S)i",
    "cpu_is(S)i",
    "unwind_init()v",
    "ia32_rdtsc()Q",
    "ia32_pause()v",
    "ia32_mfence()v",
    "ia32_lfence()v",
    "ia32_sfence()v",
    "powi(di)d",
    "powif(fi)f",
    "powil(ei)e",
    "signbit(d)i",
    "signbitf(f)i",
    "signbitl(e)i",
    "LINE()i",
    "FILE()S",
    "FUNCTION()S",
];

/// Math functions of one argument (`f` and `l` variants follow).
const MATH1: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "gamma",
    "j0",
    "j1",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "nearbyint",
    "rint",
    "round",
    "roundeven",
    "significand",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "exp10",
    "pow10",
];
/// Of two arguments.
const MATH2: &[&str] = &[
    "atan2",
    "copysign",
    "drem",
    "fdim",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "nextafter",
    "pow",
    "remainder",
    "scalb",
];

fn is_generic(name: &str) -> bool {
    name.starts_with("__sync_")
        || name.starts_with("__atomic_")
        || matches!(
            name,
            "__builtin_va_start"
                | "__builtin_va_end"
                | "__builtin_va_copy"
                | "__builtin_constant_p"
                | "__builtin_classify_type"
                | "__builtin_isnan"
                | "__builtin_isinf"
                | "__builtin_isinf_sign"
                | "__builtin_isfinite"
                | "__builtin_isnormal"
                | "__builtin_fpclassify"
                | "__builtin_isgreater"
                | "__builtin_isgreaterequal"
                | "__builtin_isless"
                | "__builtin_islessequal"
                | "__builtin_islessgreater"
                | "__builtin_isunordered"
                | "__builtin_signbit"
                | "__builtin_complex"
                | "__builtin_shuffle"
                | "__builtin_shufflevector"
                | "__builtin_add_overflow"
                | "__builtin_sub_overflow"
                | "__builtin_mul_overflow"
                | "__builtin_speculation_safe_value"
                | "__builtin_has_attribute"
                | "__builtin_call_with_static_chain"
                | "__builtin_next_arg"
        )
        || (name.starts_with("__builtin_") && name.ends_with("_overflow"))
}

impl Sema<'_> {
    /// The builtin function `s`, declared on first use.
    pub(crate) fn builtin(&mut self, s: Sym, tok: TokIdx) -> Option<DeclId> {
        let name = self.name(s).to_owned();
        let generic = is_generic(&name);
        let short = name.strip_prefix("__builtin_");
        if short.is_none() && !generic {
            return None;
        }
        let ty = if generic {
            let ret = self.types.error();
            self.types.intern(
                TypeKind::Function { ret, params: Vec::new(), variadic: false, proto: false },
                Quals::NONE,
            )
        } else {
            self.builtin_type(short?)?
        };
        let id = self.new_decl(s, DeclKind::Func, ty, tok);
        let d = &mut self.decls[id.0 as usize];
        d.builtin = true;
        d.linkage = Linkage::External;
        d.def = Definition::Declared;
        d.scope = 0;
        d.function = None;
        self.bind_outermost(s, id);
        Some(id)
    }

    pub(super) fn builtin_type(&mut self, name: &str) -> Option<TypeId> {
        if let Some(sig) = TABLE.iter().find_map(|t| t.strip_prefix(name).filter(|r| r.starts_with('('))) {
            let (params, ret) = sig[1..].split_once(')')?;
            return self.signature_type(params, ret);
        }
        let (base, code) = match name {
            n if MATH1.contains(&n) || MATH2.contains(&n) => (n, "d"),
            n => match n.strip_suffix('f').map(|b| (b, "f")).or(n.strip_suffix('l').map(|b| (b, "e"))) {
                Some((b, c)) if MATH1.contains(&b) || MATH2.contains(&b) => (b, c),
                _ => match n.strip_suffix("f128") {
                    Some(b) if MATH1.contains(&b) || MATH2.contains(&b) => (b, "x"),
                    _ => {
                        // A library function that is declared has its declared type.
                        let s = self.toks.syms.get(name)?;
                        let d = *self.linked.get(&s)?;
                        return Some(self.decls[d.0 as usize].ty);
                    }
                },
            },
        };
        let params = if MATH2.contains(&base) { code.repeat(2) } else { code.to_owned() };
        self.signature_type(&params, code)
    }

    fn signature_type(&mut self, params: &str, ret: &str) -> Option<TypeId> {
        let ret = self.code_type(ret.chars().next()?);
        let variadic = params.ends_with('.');
        let params = params.trim_end_matches('.').chars().map(|c| self.code_type(c)).collect();
        Some(self.types.intern(TypeKind::Function { ret, params, variadic, proto: true }, Quals::NONE))
    }

    fn code_type(&mut self, c: char) -> TypeId {
        use Scalar::*;
        let konst = Quals { is_const: true, ..Quals::NONE };
        let s = match c {
            'v' => Void,
            'b' => Bool,
            'c' => Char,
            'h' => UShort,
            'u' => UInt,
            'l' => Long,
            'z' => ULong,
            'q' => LLong,
            'Q' => ULLong,
            'f' => Float,
            'd' => Double,
            'e' => LongDouble,
            'x' => Float128,
            'p' | 'P' | 's' | 'S' => {
                let t = self.types.scalar(if c.eq_ignore_ascii_case(&'p') { Void } else { Char });
                let t = if c.is_ascii_uppercase() { self.types.qualified(t, konst) } else { t };
                return self.types.pointer(t);
            }
            'L' => return self.types.error(),
            _ => Int,
        };
        self.types.scalar(s)
    }

    /// The result type of a generic builtin.
    pub(crate) fn generic_builtin(
        &mut self,
        d: DeclId,
        toks: TokRange,
        callee: &Expr,
        args: &[Expr],
    ) -> Option<TypeId> {
        let name = self.name(self.decls[d.0 as usize].name).to_owned();
        if !is_generic(&name) {
            return None;
        }
        let _ = (toks, callee);
        use Scalar::*;
        let target = |cx: &mut Self, i: usize| -> TypeId {
            let t = args.get(i).map(|a| a.ty);
            let p = t.and_then(|t| cx.types.pointee(t).or_else(|| cx.types.elem(t)));
            match p {
                Some(p) => cx.types.unqualified(p),
                None => cx.types.error(),
            }
        };
        Some(match name.as_str() {
            "__builtin_va_start" | "__builtin_va_end" | "__builtin_va_copy" => self.types.scalar(Void),
            "__sync_bool_compare_and_swap" => self.types.scalar(Bool),
            "__sync_synchronize" | "__sync_lock_release" => self.types.scalar(Void),
            n if n.starts_with("__sync_") => target(self, 0),
            "__atomic_store_n"
            | "__atomic_store"
            | "__atomic_load"
            | "__atomic_exchange"
            | "__atomic_clear"
            | "__atomic_thread_fence"
            | "__atomic_signal_fence" => self.types.scalar(Void),
            "__atomic_compare_exchange"
            | "__atomic_compare_exchange_n"
            | "__atomic_test_and_set"
            | "__atomic_is_lock_free"
            | "__atomic_always_lock_free" => self.types.scalar(Bool),
            n if n.starts_with("__atomic_") => target(self, 0),
            n if n.ends_with("_overflow") || n.ends_with("_overflow_p") => self.types.scalar(Bool),
            "__builtin_shuffle" | "__builtin_shufflevector" | "__builtin_speculation_safe_value" => {
                args.first().map(|a| a.ty).unwrap_or_else(|| self.types.error())
            }
            "__builtin_complex" => {
                let s = args.first().and_then(|a| self.types.as_scalar(a.ty)).unwrap_or(Double);
                self.types.intern(TypeKind::Complex(s), Quals::NONE)
            }
            "__builtin_call_with_static_chain" => self.types.error(),
            "__builtin_next_arg" => {
                let v = self.types.scalar(Void);
                self.types.pointer(v)
            }
            _ => self.types.int(),
        })
    }

    /// `__sync_*` and `__atomic_*` work on private memory of a complete type.
    pub(crate) fn check_atomic(&mut self, d: DeclId, at: TokIdx, args: &[Expr]) -> bool {
        let name = self.name(self.decls[d.0 as usize].name).to_owned();
        let free = ["fence", "synchronize", "lock_free", "test_and_set", "clear"];
        if !(name.starts_with("__sync_") || name.starts_with("__atomic_"))
            || free.iter().any(|f| name.ends_with(f))
        {
            return true;
        }
        let Some(a) = args.first() else {
            self.error(at, format!("too few arguments for `{name}`"));
            return false;
        };
        if self.types.is_error(a.ty) {
            return true;
        }
        let fits =
            self.types.pointee(a.ty).is_some_and(|t| !self.types.is_shared(t) && self.types.is_complete(t));
        if !fits {
            let t = self.show(a.ty);
            self.error(
                a.toks.start,
                format!("argument 1 of `{name}` must be a private pointer to a complete type, this is `{t}`"),
            );
        }
        fits
    }

    /// Constant values of builtin calls.
    pub(crate) fn builtin_value(&self, callee: &Expr, args: &[Expr]) -> Option<ConstValue> {
        let mut c = callee.unparen();
        if let ExprKind::Implicit { conv: Conv::FuncDecay, expr } = &c.kind {
            c = expr.unparen();
        }
        let ExprKind::Name(d) = c.kind else { return None };
        let d = &self.decls[d.0 as usize];
        if !d.builtin {
            return None;
        }
        let arg = args.first()?;
        let int = |i: i128| Some(ConstValue::Int(i));
        match (self.name(d.name), arg.value) {
            // With a value it is a constant surely; without, the C compiler may still find one.
            ("__builtin_constant_p", Some(_)) => int(1),
            ("__builtin_constant_p", None) if self.unevaluated == 0 && is_variable(arg) => int(0),
            ("__builtin_expect", v) => v,
            ("__builtin_bswap16", Some(ConstValue::Int(i))) => int((i as u16).swap_bytes().into()),
            ("__builtin_bswap32", Some(ConstValue::Int(i))) => int((i as u32).swap_bytes().into()),
            ("__builtin_bswap64", Some(ConstValue::Int(i))) => int((i as u64).swap_bytes().into()),
            (
                "__builtin_popcount" | "__builtin_popcountl" | "__builtin_popcountll",
                Some(ConstValue::Int(i)),
            ) => int(i.count_ones().into()),
            ("__builtin_clz", Some(ConstValue::Int(i))) if i != 0 => int((i as u32).leading_zeros().into()),
            ("__builtin_clzl" | "__builtin_clzll", Some(ConstValue::Int(i))) if i != 0 => {
                int((i as u64).leading_zeros().into())
            }
            ("__builtin_ctz" | "__builtin_ctzl" | "__builtin_ctzll", Some(ConstValue::Int(i))) if i != 0 => {
                int(i.trailing_zeros().into())
            }
            ("__builtin_ffs" | "__builtin_ffsl" | "__builtin_ffsll", Some(ConstValue::Int(i))) => {
                int(if i == 0 { 0 } else { i128::from(i.trailing_zeros()) + 1 })
            }
            ("__builtin_abs" | "__builtin_labs" | "__builtin_llabs", Some(ConstValue::Int(i))) => {
                int(i.abs())
            }
            _ => None,
        }
    }
}

/// A name of an object, its value taken or not.
fn is_variable(e: &Expr) -> bool {
    match &e.unparen().kind {
        ExprKind::Name(_) => true,
        ExprKind::Implicit { expr, .. } => is_variable(expr),
        _ => false,
    }
}
