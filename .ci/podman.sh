#!/usr/bin/env bash
# Runs a command where podman works: .ci/podman.sh exec COMMAND [ARGUMENT...]
#
# Two conditions of some virtual machines stop podman, and neither is podman's fault:
# - a hybrid cgroup layout, where it finds /sys/fs/cgroup/unified and takes it for cgroup v2: it is unmounted
#   in a mount namespace of our own, so that the machine keeps it;
# - a root without CAP_SYS_RESOURCE, which may not raise limits: .ci/containers.conf asks for none.
# On any other machine this is plain exec.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${1:-}" != exec ] || [ $# -lt 2 ]; then
  echo "usage: ${0##*/} exec COMMAND [ARGUMENT...]" >&2
  exit 2
fi
shift

cap_sys_resource=24
effective=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if [ "$(id -u)" = 0 ] && ! (( 0x$effective >> cap_sys_resource & 1 )); then
  export CONTAINERS_CONF=${CONTAINERS_CONF:-$here/containers.conf}
fi

if [ "$(id -u)" = 0 ] && mountpoint -q /sys/fs/cgroup/unified; then
  # The constant script sees the command as its arguments only.
  exec unshare -m sh -c 'umount /sys/fs/cgroup/unified && exec "$@"' sh "$@"
fi
exec "$@"
