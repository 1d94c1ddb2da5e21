# Both threads of a program run under gdb: each prints the other's elements, if they are mapped.
set -e
program=$SCRATCH/print_both
"$BIN/upcc" -g -fupc-pts=struct -o "$program" "$SOURCES/print_shared.upc"
cat >"$SCRATCH/commands" <<'END'
break visit
run
print MYTHREAD + 10 * THREADS
print cells
upc-print rows[9*THREADS - 1]
print cells[3] + 1
continue
END
both() { # each into a file of its own
    rm -f "$SCRATCH"/said.*
    "$BIN/upcrun" -q -n 2 sh -c 'exec gdb -q -nx -batch -iex "set debuginfod enabled off" \
        -iex "add-auto-load-safe-path $SCRATCH" -x "$SCRATCH/commands" "$0" >"$SCRATCH/said.$$" 2>&1' \
        "$program" </dev/null >/dev/null 2>&1 || true
}
said() { # how often, what
    if [ "$(cat "$SCRATCH"/said.* | grep -c -F -x "$2")" -ne "$1" ]; then
        echo "not $1 times: $2" >&2
        tail -n 30 "$SCRATCH"/said.* >&2
        exit 1
    fi
}
both
said 1 '$1 = 20'
said 1 '$1 = 21'
said 2 '$2 = {0, 1, 4, 9, 16, 25}'
said 2 8.5
said 2 '$3 = 10'
sed -i /upc-print/d "$SCRATCH/commands"
export GASNET_NEIGHBORHOOD=off
both
said 1 "\$2 = {0, <thread 1's>, 4, <thread 1's>, 16, <thread 1's>}"
said 1 "the object is not mapped in this process: it is thread 1's"
said 1 '$3 = 10'
said 1 "\$2 = {<thread 0's>, 1, <thread 0's>, 9, <thread 0's>, 25}"
