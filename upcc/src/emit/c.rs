//! The file around the emitted items: what it includes, its shared objects and what the link step learns of
//! them, checks of layouts, `main`.

use super::abi::{
    self, LINKED, OBJECT, OBJECT_RECORD, PROXY, PTS, PTS_STRUCT, SHARED_RECORD, SHARED_VARIABLE,
    START_FUNCTION, STATIC_THREADS, USER_MAIN,
};
use super::at::Outline;
use super::{ARRAY_ALIGN, Emitter, out};
use crate::front::ast::{DeclId, DeclKind, Definition, ItemKind, Linkage, walk};
use crate::front::types::{Scalar, TypeKind};
use crate::lower;
use std::collections::HashSet;
use std::path::PathBuf;

impl Emitter<'_> {
    /// The user's main, if defined here.
    fn main(&self) -> Option<DeclId> {
        self.u.items.iter().find_map(|i| match &i.kind {
            ItemKind::Func(f) if self.u.name(self.u.decl(f.decl).name) == "main" => Some(f.decl),
            _ => None,
        })
    }

    /// Everything together.
    pub(super) fn assemble(self) -> String {
        let mut s = String::with_capacity(self.out.text.len() + (64 << 10));
        let source = self.o.source.replace(|c: char| c.is_ascii_control(), "?").replace("*/", "* /");
        s.push_str(&format!("/* made by upcc from {source} */\n"));
        if let Some(n) = self.o.threads {
            s.push_str(&format!("#define {STATIC_THREADS} {n}\n"));
        }
        if self.o.pts_struct {
            s.push_str(&format!("#define {PTS_STRUCT} 1\n"));
        }
        if self.passes.split_phase && !self.o.openmp {
            s.push_str("#define __UPC_SPLIT 1\n");
        }
        if self.o.aggregate {
            s.push_str("#define __UPC_AGGREGATE 1\n");
        }
        if self.o.sanitize {
            s.push_str("#define __UPC_SANITIZE 1\n");
        }
        if self.o.pic {
            s.push_str("#define __UPC_PIC 1\n");
        }
        s.push_str("#include <upcc_abi.h>\n");
        let main = self.main();
        if let Some(m) = main {
            // The user's main keeps its name, and all that C gives to it, but for the linker.
            s.push_str(if self.void_main(m) { "void" } else { "int" });
            s.push_str(&format!(" main() __asm__(\"{USER_MAIN}\");\n"));
        }
        for n in &self.pts_names {
            s.push_str(&format!("typedef {PTS} {n};\n"));
        }
        for r in &self.tag_aliases {
            let rec = &self.u.types.records[r.0 as usize];
            let key = if rec.is_union { "union" } else { "struct" };
            let tag = rec.tag.map_or("", |t| self.u.name(t));
            s.push_str(&format!("typedef {key} {tag} {};\n", abi::tag_alias(r.0)));
        }
        self.shared_objects(&mut s);
        self.outlined_functions(&mut s);
        s.push_str(&self.out.text);
        if !s.ends_with('\n') {
            s.push('\n');
        }
        if self.o.lines {
            s.push_str("#line 1 \"<upcc>\"\n");
        }
        self.layout_checks(&mut s);
        if let Some(m) = main {
            self.entry(&mut s, m);
        }
        self.library(&mut s);
        s
    }

    /// The functions that accesses go through.
    fn outlined_functions(&self, s: &mut String) {
        let (moves, rest): (Vec<_>, Vec<_>) = self.outlines.iter().partition(|o| o.what == "mv");
        for Outline { key, what, form, block, size } in rest {
            s.push_str(&format!("__UPC_OUT_{}({key}, {form}, {block}, {size})\n", what.to_uppercase()));
        }
        for Outline { key, block, size, .. } in moves {
            s.push_str(&format!("__UPC_OUT_MV({key}, {block}, {size})\n"));
        }
    }

    /// Proxies, aliases and records of the shared objects, and the facts for the link step.
    fn shared_objects(&self, s: &mut String) {
        let u = self.u;
        let pts = if self.o.pts_struct { "struct" } else { "packed" };
        let threads = self.o.threads.map_or("dynamic".to_string(), |n| n.to_string());
        let source: String =
            self.o.source.chars().map(|c| if c == '"' || c == '\\' || c < ' ' { '_' } else { c }).collect();
        let mut info = vec![format!("U 1 {pts} {threads} {source}")];
        if self.main().is_some() {
            info.push("M".into());
        }
        let initialised = self.initialised();
        for n in 0..u.decls.len() as u32 {
            let d = DeclId(n);
            if !self.is_shared_object(d) {
                continue;
            }
            let decl = u.decl(d);
            let proxy = self.proxy(d);
            let name = u.name(decl.name);
            let here = self.defined_here(d);
            let has_init = initialised.contains(&d);
            if here {
                let storage = if decl.linkage == Linkage::External { "" } else { "static " };
                let value = if has_init { " = { 0 }" } else { "" };
                let e = u.types.ultimate_elem(decl.ty);
                let mut align = u.types.align_of(e).max(decl.align.unwrap_or(1));
                if u.types.is_array(decl.ty) {
                    align = align.max(ARRAY_ALIGN);
                }
                s.push_str(&format!("{storage}{SHARED_VARIABLE} {proxy}{value};\n"));
                let (elements, threads) = u.types.total_elems(decl.ty).unwrap_or((1, false));
                let size = self.elem_size(decl.ty);
                let block = u.types.block(decl.ty).map_or(0, |b| b.size()).saturating_mul(size);
                s.push_str(&format!(
                    "static {SHARED_RECORD} __upc_r_{} __attribute__((__section__(\"upc_shvars\"), __used__, __aligned__(8))) = \
                     {{ &{proxy}, {}ul, {align}, \"{name}\", {}, {}ul, {block}ul }};\n",
                    &proxy[PROXY.len()..],
                    lower::bytes_per_thread(u, decl.ty),
                    u8::from(has_init) | u8::from(self.o.sanitize) << 1 | u8::from(threads) << 2,
                    elements.saturating_mul(size),
                ));
            }
            if self.aliases.contains(&d) {
                s.push_str(&format!(
                    "extern const {SHARED_VARIABLE} {} __asm__(\"{proxy}\");\n",
                    abi::alias(&proxy[PROXY.len()..])
                ));
            }
            if decl.linkage == Linkage::External && (here || decl.used) {
                let how = if has_init {
                    "i"
                } else if here {
                    "d"
                } else {
                    "e"
                };
                let (elems, times) = u.types.total_elems(decl.ty).unwrap_or((0, false));
                let block = u.types.block(decl.ty).map_or(0, |b| b.size());
                let size = self.elem_size(decl.ty);
                info.push(format!("V {how} {elems} {} {block} {size} {name}", u8::from(times)));
            }
        }
        if self.neutral() {
            return;
        }
        // For shared objects: whether a program loads those of its own kind is seen when it runs.
        s.push_str(&format!(
            "static {OBJECT_RECORD} {OBJECT} __attribute__((__section__(\"upc_objects\"), __used__, __aligned__(8))) = \
             {{ __UPC_ABI, {}, {}, \"{source}\" }};\n",
            u8::from(self.o.pts_struct),
            self.o.threads.unwrap_or(0),
        ));
        s.push_str("__asm__(\".pushsection ");
        s.push_str(crate::link::SECTION);
        s.push_str(",\\\"\\\",@progbits\\n\"\n");
        for l in info {
            s.push_str(&format!("  \"\\t.ascii \\\"{l}\\\\n\\\"\\n\"\n"));
        }
        s.push_str("  \"\\t.popsection\\n\");\n");
    }

    /// A file of plain C: it goes with any program.
    fn neutral(&self) -> bool {
        let u = self.u;
        let own = |t: u32| self.own_files.get(u.tokens.tok(t).file as usize).copied().unwrap_or(false);
        self.o.threads.is_none()
            && self.main().is_none()
            && u.items.iter().all(|i| !i.has_upc || own(i.toks.start))
            && !(0..u.decls.len()).any(|n| u.decls[n].used && self.from_own_header(DeclId(n as u32)))
    }

    /// Shared objects with an initialiser.
    fn initialised(&self) -> HashSet<DeclId> {
        let mut set = HashSet::new();
        let mut decl = |d: &crate::front::ast::Declaration| {
            set.extend(d.declarators.iter().filter(|i| i.init.is_some()).map(|i| i.decl));
        };
        for i in &self.u.items {
            match &i.kind {
                ItemKind::Decl(d) => decl(d),
                ItemKind::Func(f) if f.has_upc => {
                    for s in &f.body.stmts {
                        walk::stmt(
                            s,
                            &mut |s| {
                                if let crate::front::ast::StmtKind::Decl(d) = &s.kind {
                                    decl(d);
                                }
                            },
                            &mut |_| {},
                        );
                    }
                }
                _ => {}
            }
        }
        set
    }

    /// Offsets of members are computed by upcc: the C compiler must agree.
    fn layout_checks(&self, s: &mut String) {
        let u = self.u;
        for r in &self.laid_out {
            let rec = &u.types.records[r.0 as usize];
            let name = match (rec.tag, self.record_typedef.get(r)) {
                (Some(t), _) if rec.scope == 0 => {
                    format!("{} {}", if rec.is_union { "union" } else { "struct" }, u.name(t))
                }
                (None, Some(d)) => u.name(u.decl(*d).name).to_string(),
                _ => continue,
            };
            if !rec.complete || rec.variable {
                continue;
            }
            s.push_str(&format!(
                "_Static_assert(sizeof({name}) == {}, \"upcc: size of {name}\");\n",
                rec.size
            ));
            for f in &rec.fields {
                if let (Some(n), None) = (f.name, f.bits) {
                    let n = u.name(n);
                    s.push_str(&format!(
                        "_Static_assert(__builtin_offsetof({name}, {n}) == {}, \"upcc: offset of {n} in {name}\");\n",
                        f.offset
                    ));
                }
            }
        }
    }

    fn void_main(&self, main: DeclId) -> bool {
        let u = self.u;
        let ret = u.types.signature(u.decl(main).ty).map(|s| s.0);
        ret.is_some_and(|r| matches!(u.types.ckind(r), TypeKind::Scalar(Scalar::Void)))
    }

    /// The C `main`.
    fn entry(&self, s: &mut String, main: DeclId) {
        let u = self.u;
        let params = u.types.signature(u.decl(main).ty).map_or(0, |(_, p, _, _)| p.len());
        let args = match params {
            0 => "",
            1 => "__upc_argc",
            2 => "__upc_argc, __upc_argv",
            _ => "__upc_argc, __upc_argv, __environ",
        };
        let call = if self.void_main(main) {
            format!("main({args}); return 0;")
        } else {
            format!("return main({args});")
        };
        let name = PathBuf::from(&self.o.source);
        let name = out::string_literal(&name.file_stem().unwrap_or_default().to_string_lossy());
        for (t, sec) in [(SHARED_RECORD, "upc_shvars"), (START_FUNCTION, "upc_inits")] {
            for e in ["start", "stop"] {
                s.push_str(&format!(
                    "extern const {t} __{e}_{sec}[] __attribute__((__weak__, __visibility__(\"hidden\")));\n"
                ));
            }
        }
        if params > 2 {
            s.push_str("extern char **__environ;\n");
        }
        s.push_str(&format!(
            "extern const struct __upc_linked {LINKED} __attribute__((__weak__, __visibility__(\"hidden\")));\n\
             static int __upc_call_main(int __upc_argc, char **__upc_argv)\n{{\n  {call}\n}}\n\
             int __upc_c_main(int, char **) __asm__(\"main\");\n\
             int __upc_c_main(int __upc_argc, char **__upc_argv)\n{{\n\
             \x20 static const struct __upc_image __upc_img = {{ __UPC_ABI, {}, {}, __upc_call_main, __start_upc_shvars, \
             __stop_upc_shvars,\n    __start_upc_inits, __stop_upc_inits, {}ul, {name}, &{LINKED} }};\n\
             \x20 return __upc_run(__upc_argc, __upc_argv, &__upc_img);\n}}\n",
            u8::from(self.o.pts_struct),
            self.o.threads.unwrap_or(0),
            self.o.heap_bytes,
        ));
    }

    /// The library functions used here.
    fn library(&self, s: &mut String) {
        let mut any = false;
        for (n, d) in self.u.decls.iter().enumerate() {
            let own = self.from_own_header(DeclId(n as u32));
            if d.kind == DeclKind::Func && d.used && own && d.def == Definition::Declared {
                s.push_str(&format!("#define __UPC_USE_{} 1\n", self.u.name(d.name)));
                any = true;
            }
        }
        if any {
            s.push_str("#define __UPC_LIBRARY 1\n#include <upcc_abi.h>\n");
        }
    }
}
