#!/bin/sh
# As Caffeine's installer does it: PACKAGE OUT. Of the libraries only words that begin with -L or -l are used.
set -e
of() { pkg-config --variable="GASNET_$1" "$package"; }
package=$1 out=$2
libs=
for word in $(of LIBS); do
    case $word in
    -L* | -l*) libs="$libs $word" ;;
    esac
done
first=$(of LIBS | sed 's/ .*//')
prefix=$(dirname "${first#-L}")
test -r "$prefix/include/gasnet.h"
compiler=$(of CC)
test "$compiler" = "$(realpath -s "$compiler")"
$compiler $(of CPPFLAGS) $(of CFLAGS) -c client.c -o "$out.o"
$compiler $(of LDFLAGS) -o "$out" "$out.o" $libs
