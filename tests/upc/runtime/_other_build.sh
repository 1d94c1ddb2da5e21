#!/bin/sh
# Usage: _other_build.sh BIN SOURCES SCRATCH
# Runs two builds of other_build.upc as the ranks of one job, in both orders: the job ends and says what differs.
bin=$1 source=$2/other_build.upc scratch=$3
both() { # what the message says, flags of one build, flags of the other
    "$bin/upcc" $2 -o "$scratch/one" "$source" && "$bin/upcc" $3 -o "$scratch/other" "$source" || exit 1
    for order in "one other" "other one"; do
        set -- "$1" $order
        rmdir "$scratch/first" 2>/dev/null
        choice="if mkdir $scratch/first 2>/dev/null; then exec $scratch/$2; else exec $scratch/$3; fi"
        said=$("$bin/gasnetrun" -n 2 sh -c "$choice" 2>&1)
        status=$?
        rmdir "$scratch/first" 2>/dev/null
        if [ $status -ne 1 ] || ! echo "$said" | grep -q "run different builds of the program.*$1"; then
            echo "$order: status $status: $said" >&2
            exit 1
        fi
    done
    rm -f "$scratch/one" "$scratch/other"
}
both "shared variables differ" "" -DMORE=1
both "shared variables differ" -DMORE=1 -DMORE=1000
both "different forms" "" -fupc-pts=struct
both "numbers of threads" "" "-T 2"
both "different sizes" -shared-heap=8MB -shared-heap=9MB
