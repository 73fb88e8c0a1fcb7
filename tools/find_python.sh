#!/bin/sh
# Print the Python to use: $1 where it is given, else the first on PATH that is new enough and can make
# environments, else the first that is new enough, else any. prerequisites.py says what is wrong with it.
# Where there is none at all, say how to install one. For any POSIX shell: nothing else is sure to be here.
set -u

here=${0%/*}
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
complete='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'

first_that() {
    test=$1
    shift
    for python in "$@"; do
        if command -v "$python" >/dev/null 2>&1 && "$python" -c "$test" >/dev/null 2>&1; then
            command -v "$python"
            return 0
        fi
    done
    return 1
}

install_line() {
    id=linux
    like=
    release=${TORCHBUILD_OS_RELEASE:-/etc/os-release}
    [ -r "$release" ] && id=$(. "$release" && printf '%s' "${ID:-linux}") && like=$(. "$release" && printf '%s' "${ID_LIKE:-}")
    for word in $id $like; do
        while IFS='|' read -r name install _ _ python _; do
            name=$(echo $name)
            if [ "$name" = "$word" ]; then
                echo "  fix   $(echo $install) $(echo $python)"
                return
            fi
        done <"$here/packages.txt"
    done
    echo "  fix   install Python 3.11 or newer with your package manager"
}

wanted=${1:-}
if [ -n "$wanted" ]; then
    set -- "$wanted"
else
    set -- python3 python3.15 python3.14 python3.13 python3.12 python3.11 python
fi
first_that "$complete" "$@" && exit 0
first_that "$new_enough" "$@" && exit 0
first_that 'import sys; sys.exit(sys.version_info < (3, 6))' "$@" && exit 0

if [ -n "$wanted" ]; then
    echo "error: PYTHON=$wanted is no Python that starts" >&2
    echo "  fix   name one that is 3.11 or newer: make PYTHON=python3.12" >&2
else
    echo "error: no Python is installed" >&2
    install_line >&2
fi
exit 1
