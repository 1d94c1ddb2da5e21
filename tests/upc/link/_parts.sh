# Shared objects that define shared variables: linked, loaded before main and by main, and several of them.
set -e
cd "$SCRATCH"
make_part() { # name, value, flags
    name=$1 value=$2
    shift 2
    "$BIN/upcc" "$@" -shared -fPIC -DNAME="$name" -DVALUE="$value" -o "lib$name.so" "$SOURCES/_part.upc"
}
make_main() { # name, flags and libraries
    name=$1
    shift
    "$BIN/upcc" -I "$SOURCES/.." -o "$name" "$SOURCES/_uses_parts.upc" "$@"
}
run() { # what `in_all` has at the end, program, arguments
    sum=$1
    shift
    SUM=$sum EARLY=$PWD/libone.so LD_LIBRARY_PATH=$PWD "$BIN/upcrun" -q -n "$COUNT" "$@"
}
all() { # flags
    make_part one 10 "$@"
    make_part two 20 "$@"
    make_part three 30 "$@"
    make_main linked "$@" -DLINKED -L. -lone -Wl,--no-as-needed ./libtwo.so
    make_main mixed "$@" -DLINKED libone.so
    make_main early "$@" -DEARLY
    make_main loads "$@"
    run 10 ./linked
    run 60 ./mixed two ./libtwo.so three ./libthree.so
    run 60 ./early two ./libtwo.so three ./libthree.so
    run 60 ./loads one ./libone.so two ./libtwo.so three ./libthree.so
}
all
for settings in GASNET_CONDUIT=udp "GASNET_CONDUIT=udp GASNET_NEIGHBORHOOD=off"; do
    export $settings
    run 60 ./mixed two ./libtwo.so three ./libthree.so
    run 60 ./loads two ./libtwo.so three ./libthree.so one ./libone.so
done
unset GASNET_CONDUIT GASNET_NEIGHBORHOOD
# By another linker, from two files.
for name in one two three; do
    printf '#include <upc.h>\nshared int %s_more[THREADS];\n' $name >more.upc
    case $name in one) value=10 ;; two) value=20 ;; three) value=30 ;; esac
    "$BIN/upcc" -c -fPIC more.upc -o more.o
    "$BIN/upcc" -c -fPIC -DNAME="$name" -DVALUE="$value" -o part.o "$SOURCES/_part.upc"
    cc -shared -o "lib$name.so" part.o more.o
done
run 10 ./linked
run 60 ./mixed two ./libtwo.so three ./libthree.so
run 60 ./early two ./libtwo.so three ./libthree.so
run 60 ./loads one ./libone.so two ./libtwo.so three ./libthree.so
# The same files in a program.
"$BIN/upcc" -I "$SOURCES/.." -DLINKED -fPIC -o whole "$SOURCES/_uses_parts.upc" part.o more.o -L. -lone
run 10 ./whole
"$BIN/upcc" -extern-main -o early_c "$SOURCES/_early.upc" "$SOURCES/_early.trans.c"
run 0 ./early_c ./libone.so ./libtwo.so
[ "$COUNT" -gt 1 ] || exit 0
all -fupc-pts=struct
all -T "$COUNT" -g
