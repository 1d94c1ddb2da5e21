//! Files of an installation that the builds of GASNet's clients read: fragments for make, pkg-config files,
//! a package for CMake, the launchers' names, and the files that a client expects in GASNet's own build
//! folder.
//!
//! One library has all networks and thread modes. Clients ask for it by the names of a network and a mode, so
//! each pair of these has its names here, and all of them lead to the one library and the one launcher.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::files::{belongs, copy, write};
use crate::sh;

/// Networks under whose names clients look for files.
pub const CONDUITS: [&str; 5] = ["smp", "udp", "mpi", "ofi", "netvm"];
/// Those of them that every version of UPC++ knows: its `make all` builds for each conduit that a build tree
/// names, and stops at a name that it does not know.
const UPCXX_CONDUITS: [&str; 3] = ["smp", "udp", "mpi"];
/// Thread modes.
pub const MODES: [&str; 3] = ["seq", "par", "parsync"];
/// Folders below the prefix that clients take for build folders of GASNet: for programs, and for debugging
/// them.
pub const BUILD_TREES: [(&str, Code); 2] =
    [("share/gasnet/build", Code::Opt), ("share/gasnet/build-debug", Code::Debug)];

/// How programs are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// To run fast.
    Opt,
    /// To be debugged: with the checks of `GASNET_CHECK=1`.
    Debug,
}

/// An installation as clients see it.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder that has `bin`, `include` and `lib`, once installed.
    pub prefix: PathBuf,
    /// The C compiler that clients are told to use.
    pub cc: PathBuf,
    /// The C++ compiler that clients are told to use.
    pub cxx: PathBuf,
    /// The release that clients are told, as `gasnet_config.h` has it.
    pub release: String,
}

/// System libraries that static links with the archives need.
pub fn system_libraries() -> [&'static str; 4] {
    ["-lpthread", "-ldl", "-lm", "-lgcc_s"]
}

/// Names and values that the fragment of a network and a mode defines; `${NAME}` stands for an earlier one.
fn variables(site: &Site, conduit: &str, mode: &str, code: Code) -> Vec<(&'static str, String)> {
    let (optimised, debug) = match code {
        Code::Opt => ("-O2", ""),
        Code::Debug => ("-O0 -g", " -DGASNET_DEBUG=1"),
    };
    let threads = if mode == "seq" { "" } else { " -D_REENTRANT" };
    let (mode_name, conduit_name) = (mode.to_uppercase(), conduit.to_uppercase());
    // Programs that start without a launcher find plugins by their run path. The system's own folders need
    // none.
    let run_path = if site.prefix == Path::new("/usr") { "" } else { " -Wl,-rpath,${GASNET_PREFIX}/lib" };
    let own = |text: &str| text.to_string();
    vec![
        ("GASNET_CC", site.cc.display().to_string()),
        ("GASNET_OPT_CFLAGS", own(optimised)),
        ("GASNET_MISC_CFLAGS", String::new()),
        ("GASNET_MISC_CPPFLAGS", String::new()),
        (
            "GASNET_DEFINES",
            format!(
                "-D_GNU_SOURCE=1 -DGASNET_{mode_name}=1 -DGASNET_CONDUIT_{conduit_name}=1{threads}{debug}"
            ),
        ),
        ("GASNET_INCLUDES", own("-I${GASNET_PREFIX}/include")),
        ("GASNET_CXX", site.cxx.display().to_string()),
        ("GASNET_OPT_CXXFLAGS", own(optimised)),
        ("GASNET_MISC_CXXFLAGS", String::new()),
        ("GASNET_MISC_CXXCPPFLAGS", String::new()),
        ("GASNET_LD", own("${GASNET_CC}")),
        ("GASNET_LDFLAGS", format!("{optimised}{run_path}")),
        (
            "GASNET_LIBS",
            format!("-L${{GASNET_PREFIX}}/lib -lgasnet-{conduit}-{mode} {}", system_libraries().join(" ")),
        ),
        ("GASNET_LD_REQUIRES_MPI", own("0")),
        ("GASNET_CFLAGS", own("${GASNET_OPT_CFLAGS} ${GASNET_MISC_CFLAGS}")),
        ("GASNET_CPPFLAGS", own("${GASNET_MISC_CPPFLAGS} ${GASNET_DEFINES} ${GASNET_INCLUDES}")),
        ("GASNET_CXXFLAGS", own("${GASNET_OPT_CXXFLAGS} ${GASNET_MISC_CXXFLAGS}")),
        ("GASNET_CXXCPPFLAGS", own("${GASNET_MISC_CXXCPPFLAGS} ${GASNET_DEFINES} ${GASNET_INCLUDES}")),
    ]
}

/// The same for programs that use the tools alone; `mode` is `seq` or `par`.
fn tool_variables(site: &Site, mode: &str) -> Vec<(&'static str, String)> {
    let threads = if mode == "seq" { "SINGLE" } else { "SAFE" };
    vec![
        ("GASNETTOOLS_CC", site.cc.display().to_string()),
        (
            "GASNETTOOLS_CPPFLAGS",
            format!("-D_GNU_SOURCE=1 -DGASNETT_THREAD_{threads}=1 -I${{GASNET_PREFIX}}/include"),
        ),
        ("GASNETTOOLS_CFLAGS", "-O2".to_string()),
        ("GASNETTOOLS_CXX", site.cxx.display().to_string()),
        ("GASNETTOOLS_CXXFLAGS", "-O2".to_string()),
        ("GASNETTOOLS_LD", site.cc.display().to_string()),
        ("GASNETTOOLS_LDFLAGS", "-O2".to_string()),
        (
            "GASNETTOOLS_LIBS",
            format!("-L${{GASNET_PREFIX}}/lib -lgasnet_tools-{mode} {}", system_libraries().join(" ")),
        ),
    ]
}

/// A fragment that makefiles include. It finds the prefix from its own place, `depth` folders below, also
/// where the installation was moved. A copy of the fragment alone finds no headers there, and leads to where
/// the installation was made.
fn make_fragment(site: &Site, variables: &[(&'static str, String)], depth: usize) -> String {
    let up = vec![".."; depth].join("/");
    let mut text =
        format!("GASNET_PREFIX := $(abspath $(realpath $(dir $(lastword $(MAKEFILE_LIST))))/{up})\n");
    text += &format!(
        "ifeq ($(wildcard $(GASNET_PREFIX)/include/gasnet_config.h),)\nGASNET_PREFIX := {}\nendif\n",
        site.prefix.display()
    );
    for (name, value) in variables {
        text += &format!("{name} = {}\n", value.replace("${", "$(").replace('}', ")"));
    }
    text
}

/// A pkg-config file with the same variables. The prefix is spelt out: some clients read the text themselves.
fn package_file(
    site: &Site,
    name: &str,
    variables: &[(&'static str, String)],
    flags: &str,
    libs: &str,
) -> String {
    let mut text = format!("prefix={}\nGASNET_PREFIX=${{prefix}}\n", site.prefix.display());
    for (name, value) in variables {
        text += &format!("{name}={value}\n");
    }
    text + &format!(
        "\nName: {name}\nDescription: GASNet over gasnet-rs\nVersion: {}\nCflags: {flags}\nLibs: {libs}\n",
        site.release
    )
}

/// The pkg-config files of programs that leave the network to the start: the shared library, for each thread
/// mode, and again for programs whose whole memory is the segment.
fn plain_package_files(site: &Site) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for mode in MODES {
        for (suffix, segment) in [("", ""), ("-everything", " -DGASNET_SEGMENT_EVERYTHING=1")] {
            let name = format!("gasnet{suffix}-{mode}");
            let flags = format!("-I${{prefix}}/include -DGASNET_{}=1{segment}", mode.to_uppercase());
            let private = format!("Libs.private: {}\n", system_libraries().join(" "));
            let libs = "-L${prefix}/lib -Wl,-rpath,${prefix}/lib -lgasnet";
            files.push((format!("{name}.pc"), package_file(site, &name, &[], &flags, libs) + &private));
        }
    }
    files
}

/// The pkg-config file of the VI Provider Library.
fn vipl_package_file(site: &Site) -> String {
    format!(
        "prefix={}\n\nName: vipl\nDescription: VI Provider Library over gasnet-rs\nVersion: 1.0\n\
         Cflags: -I${{prefix}}/include\nLibs: -L${{prefix}}/lib -Wl,-rpath,${{prefix}}/lib -lvipl\n\
         Libs.private: {}\n",
        site.prefix.display(),
        system_libraries().join(" ")
    )
}

/// The pkg-config file of Fortran programs with coarrays. Flags are the compiler's own business.
fn fortran_package_file(site: &Site) -> String {
    format!(
        "prefix={}\n\nName: caf-gasnet\nDescription: coarrays of gfortran over gasnet-rs\nVersion: {}\n\
         Libs: -L${{prefix}}/lib -Wl,-rpath,${{prefix}}/lib -lcaf_gasnet\nLibs.private: {}\n",
        site.prefix.display(),
        env!("CARGO_PKG_VERSION"),
        system_libraries().join(" ")
    )
}

/// The package for CMake that projects ask for as OpenCoarrays: in a folder where nothing looks unless
/// `Coarray_ROOT` or `OpenCoarrays_DIR` says so.
const FORTRAN_CMAKE: &str = "\
# find_package(OpenCoarrays) with OpenCoarrays_DIR or Coarray_ROOT set to this folder: the target OpenCoarrays::caf_mpi, for gfortran.
get_filename_component(CafGasnet_PREFIX \"${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)
if(NOT TARGET OpenCoarrays::caf_mpi)
  add_library(OpenCoarrays::caf_mpi SHARED IMPORTED)
  set_target_properties(OpenCoarrays::caf_mpi PROPERTIES
    IMPORTED_LOCATION \"${CafGasnet_PREFIX}/lib/libcaf_gasnet.so\"
    INTERFACE_COMPILE_OPTIONS \"$<$<COMPILE_LANGUAGE:Fortran>:-fcoarray=lib>\")
endif()
set(OpenCoarrays_FOUND TRUE)
set(OpenCoarrays_RUN \"${CafGasnet_PREFIX}/bin/cafrun\")
";

/// Writes what the builds of Fortran programs read.
pub fn lay_down_fortran(prefix: &Path, site: &Site) -> Result<(), String> {
    let packages = prefix.join("lib/pkgconfig");
    write(&packages.join("caf-gasnet.pc"), &fortran_package_file(site))?;
    let share = prefix.join("share/caf-gasnet");
    copy(&sh::root().join("caf/fortran/opencoarrays.F90"), &share.join("opencoarrays.F90"))?;
    write(&share.join("cmake/OpenCoarraysConfig.cmake"), FORTRAN_CMAKE)
}

/// The launcher under a network's name. It takes the options of GASNet's launcher of that name beside those
/// of `gasnetrun`, and what the variables of those launchers say.
fn launcher(name: &str, conduit: &str) -> String {
    LAUNCHER.replace("@NAME@", name).replace("@CONDUIT@", conduit)
}

const LAUNCHER: &str = r#"#!/bin/sh
# Starts a program over the network @CONDUIT@: @NAME@ -n N [options] PROGRAM [arguments]
# -np N is -n N; -N HOSTS uses that many of the hosts that are named; -E NAMES, -c N, -k and -spawner=X change nothing, since
# all variables reach the ranks. -spawn L and GASNET_SPAWNFN=L: on this host; S: by ssh on the hosts of GASNET_SSH_SERVERS.
here=$(dirname "$(readlink -f "$0")")
spawn=${GASNET_SPAWNFN-}
nodes=
verbose=
count=$#
# Each turn takes a word from the front; what gasnetrun is to see goes to the end.
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
    -n | -np | --np | -N | -E | -c | -spawn | -H | -e | -t | --ranks | --hosts | --nodes | --hostfile | --env | --timeout | --conduit)
        if [ "$count" -eq 0 ]; then
            echo "@NAME@: $word needs a value" >&2
            exit 2
        fi
        value=$1
        shift
        count=$((count - 1))
        case $word in
        -np | --np) set -- "$@" -n "$value" ;;
        -N) nodes=$value ;;
        -spawn) spawn=$value ;;
        -E | -c) ;;
        *) set -- "$@" "$word" "$value" ;;
        esac
        ;;
    -k | -spawner=*) ;;
    -v) verbose=-v ;;
    --)
        break
        ;;
    -*) set -- "$@" "$word" ;;
    *)
        set -- "$@" "$word"
        break
        ;;
    esac
done
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    set -- "$@" "$word"
done
hosts=
case $spawn in
'' | [Ll]* | [Ss]* | fork | ssh | mpi | pmi) ;;
*)
    echo "@NAME@: unknown way to start ranks, '$spawn': L is on this host, S by ssh on the hosts of GASNET_SSH_SERVERS" >&2
    exit 2
    ;;
esac
case $spawn in
[Ll]* | fork) unset GASNET_HOSTS GASNET_HOSTFILE ;;
*)
    hosts=$(echo "${GASNET_SSH_SERVERS-${SSH_SERVERS-}}" | tr -s ' ,;:/' ',,,,,')
    hosts=${hosts#,}
    hosts=${hosts%,}
    ;;
esac
if [ -n "$hosts" ]; then
    set -- --hosts "$hosts" "$@"
fi
if [ -n "$nodes" ] && [ -n "$hosts${GASNET_HOSTS-}${GASNET_HOSTFILE-}" ]; then
    set -- --nodes "$nodes" "$@"
fi
unset GASNET_SPAWNFN GASNET_SSH_SERVERS
exec "$here/gasnetrun" --conduit=@CONDUIT@ $verbose "$@"
"#;

/// The package for CMake: a target for each network and mode, and one for each mode that leaves the network
/// to the start.
fn cmake_package() -> String {
    let mut text = "\
# find_package(GASNet): targets GASNet::MODE (the shared library; the network is chosen when a job starts) and GASNet::CONDUIT-MODE (the
# archive under the name of a network).
get_filename_component(GASNet_PREFIX \"${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)
set(GASNet_INCLUDE_DIRS \"${GASNet_PREFIX}/include\")
"
    .to_string();
    text += &format!("set(GASNet_CONDUITS {})\nset(GASNet_MODES {})\n", CONDUITS.join(" "), MODES.join(" "));
    let libraries: Vec<&str> = system_libraries().iter().map(|word| word.trim_start_matches("-l")).collect();
    text += &format!("set(_gasnet_system {})\n", libraries.join(" "));
    text += "\
function(_gasnet_target name kind file mode)
  if(NOT TARGET GASNet::${name})
    string(TOUPPER ${mode} upper)
    set(defines GASNET_${upper}=1 ${ARGN})
    add_library(GASNet::${name} ${kind} IMPORTED)
    set_target_properties(GASNet::${name} PROPERTIES
      IMPORTED_LOCATION \"${GASNet_PREFIX}/lib/${file}\"
      IMPORTED_LINK_INTERFACE_LANGUAGES C
      INTERFACE_INCLUDE_DIRECTORIES \"${GASNet_INCLUDE_DIRS}\"
      INTERFACE_COMPILE_DEFINITIONS \"${defines}\")
    if(kind STREQUAL STATIC)
      set_target_properties(GASNet::${name} PROPERTIES INTERFACE_LINK_LIBRARIES \"${_gasnet_system}\")
    endif()
  endif()
endfunction()
foreach(_gasnet_mode IN LISTS GASNet_MODES)
  _gasnet_target(${_gasnet_mode} SHARED libgasnet.so ${_gasnet_mode})
  foreach(_gasnet_conduit IN LISTS GASNet_CONDUITS)
    string(TOUPPER ${_gasnet_conduit} _gasnet_upper)
    _gasnet_target(${_gasnet_conduit}-${_gasnet_mode} STATIC libgasnet.a ${_gasnet_mode} GASNET_CONDUIT_${_gasnet_upper}=1)
  endforeach()
endforeach()
unset(_gasnet_mode)
unset(_gasnet_conduit)
unset(_gasnet_upper)
";
    text
}

/// Which releases this one serves: those of the same year and before.
fn cmake_version(release: &str) -> String {
    format!(
        "set(PACKAGE_VERSION {release})\n\
         if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n  \
           set(PACKAGE_VERSION_COMPATIBLE TRUE)\n  \
           if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n    \
             set(PACKAGE_VERSION_EXACT TRUE)\n  \
           endif()\n\
         endif()\n"
    )
}

/// The makefile of the build folder: nothing is left to be made, and to install it elsewhere is to link to
/// what is installed.
const TREE_MAKEFILE: &str = "\
# All is made already. 'make install prefix=DIR' makes DIR a link to this installation.
here := $(abspath $(realpath $(dir $(lastword $(MAKEFILE_LIST))))/../../..)
all clean: ;
install:
\tmkdir -p \"$(dir $(DESTDIR)$(prefix))\"
\tln -sfn \"$(here)\" \"$(DESTDIR)$(prefix)\"
";

/// Fills the templates of a client's build with what GASNet's own configure would have found.
fn config_status(site: &Site) -> String {
    let family = |compiler: &Path| {
        let name = compiler.canonicalize().unwrap_or_else(|_| compiler.to_path_buf());
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains("clang") { "Clang" } else { "GNU" }
    };
    let values = [
        ("PERL", "perl".to_string()),
        ("CONDUITS", UPCXX_CONDUITS.join(" ")),
        ("EXESUFFIX", String::new()),
        ("CC_FAMILY", family(&site.cc).to_string()),
        ("CXX_FAMILY", family(&site.cxx).to_string()),
        ("CC_SUBFAMILY", "none".to_string()),
        ("CXX_SUBFAMILY", "none".to_string()),
        ("GASNET_THREAD_DEFINES", "-D_REENTRANT".to_string()),
        ("GASNET_THREAD_LIBS", "-lpthread".to_string()),
    ];
    let mut text = "#!/bin/sh\n# Fills templates: CONFIG_FILES='OUTPUT:TEMPLATE ...' ./config.status\nfor pair in $CONFIG_FILES; do\n    sed"
        .to_string();
    for (name, value) in values {
        text += &format!(" \\\n        -e 's|@{name}@|{value}|g'");
    }
    text + " \\\n        \"${pair#*:}\" >\"${pair%%:*}\" || exit 1\ndone\n"
}

fn executable(at: &Path, text: &str) -> Result<(), String> {
    write(at, text)?;
    let runnable = fs::set_permissions(at, fs::Permissions::from_mode(0o755));
    runnable.map_err(|e| format!("{}: {e}", at.display()))
}

/// Makes `at` a link to `to`.
fn link(to: &str, at: &Path) -> Result<(), String> {
    belongs(at);
    if fs::read_link(at).is_ok_and(|old| old == Path::new(to)) {
        return Ok(());
    }
    let parent = at.parent().unwrap_or(Path::new("."));
    let made = fs::create_dir_all(parent).and_then(|()| {
        let _ = fs::remove_file(at);
        symlink(to, at)
    });
    made.map_err(|e| format!("{}: {e}", at.display()))
}

/// Lays down what clients take for a build folder, where nothing is left to be made.
fn lay_down_tree(tree: &Path, site: &Site, code: Code) -> Result<(), String> {
    for conduit in CONDUITS {
        let folder = tree.join(format!("{conduit}-conduit"));
        for mode in MODES {
            let fragment = make_fragment(site, &variables(site, conduit, mode, code), 4);
            write(&folder.join(format!("{conduit}-{mode}.mak")), &fragment)?;
        }
        let nothing = format!(
            "# All is made already.\nall: ;\n{} {}: ;\n",
            MODES.join(" "),
            MODES.map(|mode| format!("{conduit}-{mode}.mak")).join(" ")
        );
        write(&folder.join("Makefile"), &nothing)?;
    }
    executable(&tree.join("config.status"), &config_status(site))?;
    write(&tree.join("Makefile"), TREE_MAKEFILE)?;
    link("../../../include/gasnet_config.h", &tree.join("gasnet_config.h"))?;
    link("../../../bin", &tree.join("bin"))?;
    write(&tree.join("other/amudp/Makefile"), "# All is made already.\nall amudprun: ;\n")?;
    link("../../../../../bin/amudprun", &tree.join("other/amudp/amudprun"))
}

/// The header that configure scripts look for in the folder of a network to see whether it is there, and a
/// few include by this name.
const CORE_HEADER: &str = "\
/* GASNet's core as the network @CONDUIT@ has it: all networks have the same, and programs include gasnet.h or gasnetex.h. */
#ifndef _GASNET_CORE_H
#define _GASNET_CORE_H
#include <gasnetex.h>
#endif
";

/// Lays everything down in `place`, which will be the site's prefix.
pub fn lay_down(place: &Path, site: &Site) -> Result<(), String> {
    let (bin, lib, packages) = (place.join("bin"), place.join("lib"), place.join("lib/pkgconfig"));
    for (name, text) in plain_package_files(site) {
        write(&packages.join(name), &text)?;
    }
    write(&packages.join("vipl.pc"), &vipl_package_file(site))?;
    for conduit in CONDUITS {
        let core = place.join(format!("include/{conduit}-conduit/gasnet_core.h"));
        write(&core, &CORE_HEADER.replace("@CONDUIT@", conduit))?;
        for mode in MODES {
            let name = format!("gasnet-{conduit}-{mode}");
            let variables = variables(site, conduit, mode, Code::Opt);
            let fragment = make_fragment(site, &variables, 2);
            write(&place.join(format!("include/{conduit}-conduit/{conduit}-{mode}.mak")), &fragment)?;
            let (flags, libs) = ("${GASNET_CPPFLAGS} ${GASNET_CFLAGS}", "${GASNET_LDFLAGS} ${GASNET_LIBS}");
            let text = package_file(site, &name, &variables, flags, libs);
            write(&packages.join(format!("{name}.pc")), &text)?;
            link("libgasnet.a", &lib.join(format!("lib{name}.a")))?;
        }
        let name = format!("gasnetrun_{conduit}");
        executable(&bin.join(&name), &launcher(&name, conduit))?;
    }
    executable(&bin.join("amudprun"), &launcher("amudprun", "udp"))?;
    for mode in ["seq", "par"] {
        let name = format!("gasnet_tools-{mode}");
        let variables = tool_variables(site, mode);
        write(&place.join(format!("include/{name}.mak")), &make_fragment(site, &variables, 1))?;
        let (flags, libs) = ("${GASNETTOOLS_CPPFLAGS}", "${GASNETTOOLS_LDFLAGS} ${GASNETTOOLS_LIBS}");
        write(&packages.join(format!("{name}.pc")), &package_file(site, &name, &variables, flags, libs))?;
        link("libgasnet.a", &lib.join(format!("lib{name}.a")))?;
    }
    write(&lib.join("cmake/GASNet/GASNetConfig.cmake"), &cmake_package())?;
    write(&lib.join("cmake/GASNet/GASNetConfigVersion.cmake"), &cmake_version(&site.release))?;
    for (tree, code) in BUILD_TREES {
        lay_down_tree(&place.join(tree), site, code)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn site(prefix: &str) -> Site {
        Site {
            prefix: prefix.into(),
            cc: "/usr/bin/cc".into(),
            cxx: "/usr/bin/c++".into(),
            release: "2025.8.0".into(),
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-clients-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Make understands the fragments, and finds the prefix by their place, wherever the installation was
    /// moved to.
    #[test]
    fn makefiles_of_clients_find_the_prefix() {
        let folder = folder("make");
        lay_down(&folder, &site("/nowhere")).unwrap();
        fs::write(folder.join("include/gasnet_config.h"), "").unwrap();
        link("share/gasnet/build", &folder.join("linked")).unwrap();
        for (fragment, debug) in [
            ("include", ""),
            ("share/gasnet/build", ""),
            ("linked", ""),
            ("share/gasnet/build-debug", " -DGASNET_DEBUG=1"),
        ] {
            let fragment = format!("{fragment}/udp-conduit/udp-par.mak");
            let text = format!("include {fragment}\nall:\n\t@echo $(GASNET_CPPFLAGS) $(GASNET_LIBS)\n");
            fs::write(folder.join("Makefile"), text).unwrap();
            let Ok(said) = Command::new("make").arg("-s").current_dir(&folder).output() else { return };
            let (said, at) = (String::from_utf8_lossy(&said.stdout).into_owned(), folder.display());
            assert!(
                said.starts_with(&format!(
                    "-D_GNU_SOURCE=1 -DGASNET_PAR=1 -DGASNET_CONDUIT_UDP=1 -D_REENTRANT{debug} \
                     -I{at}/include -L{at}/lib -lgasnet-udp-par "
                )),
                "{said}"
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A fragment that was copied into a client's own folder leads to the installation.
    #[test]
    fn a_copied_fragment_leads_to_the_installation() {
        let (folder, client) = (folder("copied"), folder("copied-client"));
        lay_down(&folder, &site(&folder.display().to_string())).unwrap();
        for (from, name) in [
            ("include/smp-conduit/smp-seq.mak", "GASNET_CPPFLAGS"),
            ("include/gasnet_tools-par.mak", "GASNETTOOLS_CPPFLAGS"),
        ] {
            fs::create_dir_all(folder.join("include")).unwrap();
            fs::copy(folder.join(from), client.join("copy.mak")).unwrap();
            let text = format!("include copy.mak\nall:\n\t@echo $({name})\n");
            fs::write(client.join("Makefile"), text).unwrap();
            let Ok(said) = Command::new("make").arg("-s").current_dir(&client).output() else { return };
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            assert!(said.contains(&format!("-I{}/include", folder.display())), "{said}");
        }
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_dir_all(&client).unwrap();
    }

    /// Of the libraries, only words that begin with -L and -l survive in some clients, which take the first
    /// one for the folder.
    #[test]
    fn library_words_need_no_others() {
        for (conduit, mode) in CONDUITS.iter().flat_map(|c| MODES.map(|m| (c, m))) {
            let variables = variables(&site("/some/where"), conduit, mode, Code::Debug);
            let libs = &variables.iter().find(|(name, _)| *name == "GASNET_LIBS").unwrap().1;
            assert!(libs.starts_with("-L${GASNET_PREFIX}/lib "), "{libs}");
            assert!(libs.split(' ').all(|word| word.starts_with("-L") || word.starts_with("-l")), "{libs}");
        }
    }

    /// The launcher of a network's name, with a `gasnetrun` that only says what it was given.
    fn launched(setup: &str, words: &str) -> (i32, String) {
        let folder = folder(&format!("launch-{}", words.len() * 1000 + setup.len()));
        executable(&folder.join("amudprun"), &launcher("amudprun", "udp")).unwrap();
        let say = "#!/bin/sh\necho \"$@ [${GASNET_SPAWNFN-}${GASNET_HOSTS-}]\"\n";
        executable(&folder.join("gasnetrun"), say).unwrap();
        let line = format!("{setup} exec ./amudprun {words} 2>&1");
        let said = Command::new("sh").args(["-c", &line]).current_dir(&folder).output().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let text = String::from_utf8_lossy(&said.stdout).trim_end().to_string();
        (said.status.code().unwrap_or(-1), text)
    }

    #[test]
    fn launchers_understand_the_words_of_others() {
        let cases = [
            ("", "-np 4 ./a -np 5 'b c' -v", "--conduit=udp -n 4 ./a -np 5 b c -v []"),
            ("", "-v -E A,B -spawn L -n 2 ./a", "--conduit=udp -v -n 2 ./a []"),
            ("export GASNET_SPAWNFN=L GASNET_HOSTS=x;", "-n 2 ./a", "--conduit=udp -n 2 ./a []"),
            (
                "export GASNET_SPAWNFN=S GASNET_SSH_SERVERS='a b,c';",
                "-N 2 -n 2 ./a",
                "--conduit=udp --nodes 2 --hosts a,b,c -n 2 ./a []",
            ),
            (
                "export GASNET_HOSTS=x;",
                "-N 1 --timeout 9 -n 1 ./a",
                "--conduit=udp --nodes 1 --timeout 9 -n 1 ./a [x]",
            ),
            ("", "-n 1 -- ./a -v", "--conduit=udp -n 1 ./a -v []"),
            ("", "--help", "--conduit=udp --help []"),
        ];
        for (setup, words, expected) in cases {
            assert_eq!(launched(setup, words), (0, expected.to_string()), "{setup} {words}");
        }
        let (status, said) = launched("export GASNET_SPAWNFN=C;", "-n 1 ./a");
        assert!(status == 2 && said.contains("unknown way to start ranks, 'C'"), "{said}");
        assert_eq!(launched("", "-n").0, 2);
    }

    #[test]
    fn templates_are_filled() {
        let folder = folder("status");
        lay_down(&folder, &site("/nowhere")).unwrap();
        fs::write(folder.join("in"), "A @CONDUITS@ @CC_FAMILY@ @EXESUFFIX@.").unwrap();
        for (tree, _) in BUILD_TREES {
            let tree = folder.join(tree);
            let mut fill = Command::new("./config.status");
            fill.current_dir(&tree);
            fill.env("CONFIG_FILES", format!("{0}/out:{0}/in", folder.display()));
            assert!(fill.status().unwrap().success());
            let made = fs::read_to_string(folder.join("out")).unwrap();
            assert_eq!(made, "A smp udp mpi GNU .");
            let mut install = Command::new("make");
            install.arg("-s").arg("-C").arg(&tree).args(["all", "install"]);
            let Ok(made) = install.arg(format!("prefix={}/client/gasnet", folder.display())).output() else {
                return;
            };
            assert!(made.status.success(), "{made:?}");
            assert!(folder.join("client/gasnet/lib/cmake").is_dir(), "no link to the installation");
            fs::remove_dir_all(folder.join("client")).unwrap();
            for conduit in CONDUITS {
                let at = tree.join(format!("{conduit}-conduit"));
                for target in ["seq", &format!("{conduit}-par.mak")] {
                    let Ok(made) = Command::new("make").arg("-C").arg(&at).arg(target).output() else {
                        return;
                    };
                    assert!(made.status.success(), "{conduit} {target}: {made:?}");
                }
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_pair_has_a_package_file() {
        let folder = folder("packages");
        lay_down(&folder, &site("/some/where")).unwrap();
        let files: Vec<_> = fs::read_dir(folder.join("lib/pkgconfig")).unwrap().flatten().collect();
        assert_eq!(files.len(), CONDUITS.len() * MODES.len() + 2 * MODES.len() + 2 + 1);
        for file in files {
            let (name, text) = (file.file_name(), fs::read_to_string(file.path()).unwrap());
            let name = name.to_string_lossy().replace(".pc", "");
            assert!(text.contains(&format!("Name: {name}\n")), "{text}");
            assert!(text.starts_with("prefix=/some/where\n"), "{text}");
            assert_eq!(text.contains("EVERYTHING"), name.contains("everything"));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
