#!/bin/sh
# Makes the objects beside this file: sh make.sh RELEASE, with nvcc, gcc and strip of that release on PATH.
# What is compiled makes no difference; for which architectures, and how it is packed, does.
set -eu
release=$1
g() { nvcc -Xcompiler -g0 "$@"; }
old="-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=[sm_90,compute_90]"
own="-gencode arch=compute_90a,code=[sm_90a,compute_90a]"
family="-gencode arch=compute_100f,code=sm_100f -gencode arch=compute_120f,code=[sm_120f,compute_120f]"
case $release in
12.4)
    g -c $old one.cu -o 12.4-plain.o
    g -c -no-compress $own one.cu -o 12.4-own-chip.o
    g -c -Xfatbin -compress-all $old $own one.cu -o 12.4-lz4.o
    g -c -lineinfo -gencode arch=compute_75,code=sm_75 two.cu -o 12.4-lines.o
    for name in one two; do g -Xcompiler -fPIC -c -rdc=true $old $name.cu -o 12.4-to-link-$name.o; done
    g -c -rdc=true -gencode arch=compute_90,code=[sm_90,lto_90] one.cu -o 12.4-lto.o
    g -lib 12.4-to-link-one.o 12.4-to-link-two.o -o 12.4-to-link.a
    g -dlink -Xcompiler -fPIC -Xfatbin -compress-all $old 12.4-to-link-one.o 12.4-to-link-two.o -o 12.4-link.o
    gcc -shared -nostdlib -s -Wl,-z,noseparate-code -o 12.4-linked.so 12.4-link.o 12.4-to-link-one.o 12.4-to-link-two.o
    ;;
13.0)
    g -c $old one.cu -o 13.0-plain.o
    g -c -compress-mode=size -Xfatbin -compress-all $old $own one.cu -o 13.0-zstd.o
    g -c -compress-mode=speed -Xfatbin -compress-all $old $own one.cu -o 13.0-lz4.o
    g -c -compress-mode=size -Xfatbin -compress-all $family one.cu -o 13.0-family.o
    g -shared -cudart none -Xcompiler -fPIC,-nostdlib -Xlinker --strip-all $old -Xfatbin -compress-all \
        one.cu two.cu -o 13.0-library.so
    ;;
13.5)
    g -c -concat -compress-mode=size $old $family one.cu -o 13.5-joined.o
    g -c -g -G -concat -compress-mode=size -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 \
        two.cu -o 13.5-joined-debug.o
    ;;
esac
for made in "$release"-*.o; do strip --strip-debug "$made"; done
