# Shared objects that do not go with a program, and threads that do not load the same: the job ends and says why.
set -e
cd "$SCRATCH"
export LD_LIBRARY_PATH=$PWD
make_part() { # name, flags
    name=$1
    shift
    "$BIN/upcc" "$@" -shared -fPIC -DNAME=one -DVALUE=10 -o "lib$name.so" "$SOURCES/_part.upc"
}
make_main() { # name, flags and libraries
    name=$1
    shift
    "$BIN/upcc" -I "$SOURCES/.." -o "$name" "$SOURCES/_uses_refused.upc" "$@"
}
refused() { # what is said, command
    text=$1
    shift
    status=0
    timeout 60 "$@" >said 2>&1 || status=$?
    if [ $status -ne 1 ] || ! grep -q "$text" said; then
        echo "$*: status $status, not 1 and '$text':" >&2
        cat said >&2
        exit 1
    fi
}
run="$BIN/upcrun -q -n $COUNT"
make_part one
make_part other -DMORE
make_part wide -fupc-pts=struct
make_part fixed -T "$COUNT"
make_main main
make_main ends -DNO_BARRIER
make_main inside -DINSIDE
make_main own -DOWN

# Of another kind: when it is linked with the program, and when it is loaded.
refused "compiled without -fupc-pts=struct and .*_part.upc' with" "$BIN/upcc" -I "$SOURCES/.." "$SOURCES/_uses_refused.upc" libwide.so
refused "for $COUNT threads (-T $COUNT): compile all files" "$BIN/upcc" -I "$SOURCES/.." "$SOURCES/_uses_refused.upc" -L. -lfixed
[ ! -e a.out ]
refused "_part.upc' of 'libwide.so' was compiled with -fupc-pts=struct and the program without" $run ./main ./libwide.so
refused "_part.upc' of 'libfixed.so' was compiled for $COUNT threads (-T $COUNT) and the program for any" $run ./main ./libfixed.so
make_main forced -nochecks -Wl,--no-as-needed libwide.so
refused "_part.upc' of 'libwide.so' was compiled with -fupc-pts=struct and the program without" $run ./forced ./libone.so

# Not by all threads, in every way of not doing so.
refused "dlopen: thread 0 loads 'libone.so', which has shared variables, and thread 1 does something else" $run ./main ./libone.so 0
refused "dlopen: thread 1 loads 'libone.so', which has shared variables, and thread 0 does something else" $run ./main ./libone.so 1
refused "'libone.so' is loaded: the threads call different\|thread 1 gave 5" env NAMED=1 $run ./main ./libone.so 0
refused "'libone.so' gets memory: the threads call different\|upc_all_alloc: the threads call different" env ALLOCATES=1 $run ./main ./libone.so 1
refused "thread [01] .*ended\|has ended" $run ./ends ./libone.so 0
refused "dlopen: 'lib[a-z]*.so' is loaded: the threads call different" $run ./main ./libone.so libother.so
refused "between upc_notify and upc_wait" $run ./inside ./libone.so

# What the program initialises, too.
refused "'libone.so' initialises shared variable 'one_given', which the program defines" $run ./own ./libone.so
"$BIN/upcc" -nochecks -DOWN -Wl,--no-as-needed -I "$SOURCES/.." -o both "$SOURCES/_uses_refused.upc" libone.so
refused "shared variable 'one_given' is initialised in the program and in 'libone.so'" $run ./both ./libone.so
$run ./main ./libone.so >/dev/null
