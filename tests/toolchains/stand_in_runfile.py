"""A stand-in for NVIDIA's runfile: a makeself archive around an installer that fails as reports say NVIDIA's does.

Made with the real makeself where it is installed, whose header learns two things that NVIDIA's knows: `--tmpdir`,
and to hand unknown options on. Elsewhere a small header does the same.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.toolchains.cuda_runfile import install_request

__all__ = ["PROGRAMS", "REMOVED", "Run", "World", "make_runfile", "makeself_header"]

GUEST = Path(__file__).parents[2] / "torchbuild" / "shim" / "install_runfile.py"
PROGRAMS = ("bin/cudafe++", "bin/fatbinary", "bin/nvcc", "bin/nvlink", "bin/ptxas", "nvvm/bin/cicc")
REMOVED: dict[str, object] = {}
"""Functions of the guest script that do nothing but return this, for tests that take preventions away."""

INSTALLER = r"""#!/bin/sh
# takes the options of NVIDIA's installer; `traps` says in which way it fails
cd "$(dirname "$0")" || exit 1
trap_set() { grep -qx "$1" traps; }
told() { for word in $words; do case "$word" in "$1" | "$1="*) return 0 ;; esac; done; return 1; }
words="$*"
path=/usr/local/cuda-@MINOR@
for word; do case "$word" in --toolkitpath=*) path=${word#*=} ;; esac; done
if [ "$(id -u)" = 0 ]; then log=/var/log/cuda-installer.log; else log=/tmp/cuda-installer.log; fi
if [ -e "$log" ] && [ "$(stat -c %u "$log")" != "$(id -u)" ]; then
  kill -SEGV $$
fi
say() { echo "$*" >>"$log"; }
fail() { code=$1; shift; echo "$*"; exit "$code"; }
: >"$log" || fail 1 "cannot write $log"
say "[INFO]: Driver not installed."
env | sort | sed 's/^/[ENV]: /' >>"$log"
if trap_set locale && [ "${LC_ALL:-${LANG:-C}}" != C ]; then
  echo "terminate called after throwing an instance of 'std::out_of_range'"
  fail 134 "  what():  basic_string::substr: __pos (which is 6) > this->size() (which is 5)"
fi
told --silent || fail 1 "Do you accept the above EULA? (accept/decline/quit):"
if told --driver || { trap_set driver && ! told --toolkit; }; then
  say "[ERROR]: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel."
  echo "installing the driver" >/var/log/nvidia-installer.log
  fail 1 "Installation failed. See log at $log for details."
fi
if trap_set gcc && ! told --override; then
  say "[ERROR]: Missing gcc. gcc is required to continue."
  fail 1 "Failed to verify gcc version. See log at $log for details."
fi
if trap_set boost-space; then
  say "[INFO]: Extracting"
  say "[ERROR]: boost::filesystem::create_directory: No space left on device"
  fail 1 "An error occurred during extraction. See log at $log for details."
fi
if trap_set symlink; then
  say "[ERROR]: boost::filesystem::create_symlink: File exists: \"libnvvm.so.4\", \"$path/nvvm/lib64/libnvvm.so\""
  fail 134 "Aborted"
fi
trap_set empty && exit 0
if trap_set poison && [ -n "$(ls -A "$path" 2>/dev/null)" ]; then
  echo "terminate called after throwing an instance of 'boost::filesystem::filesystem_error'"
  fail 134 "  what():  boost::filesystem::copy_file: No such file or directory: \"./builds/cuda_nvcc/nvvm/bin/cicc\""
fi
mkdir -p "$path" "$HOME/.local/share/applications" || fail 1 "cannot write"
echo "[Desktop Entry]" >"$HOME/.local/share/applications/nsight.desktop"
cp -R ./builds/cuda_nvcc/bin "$path" || fail 1 "copy_file: No space left on device"
if trap_set hang; then echo half >"@MARK@"; sleep 300; fi
trap_set half && exit 0
cp -R ./builds/cuda_nvcc/nvvm "$path" || fail 1 "copy_file: No space left on device"
if told --samples && trap_set samples; then
  say "[ERROR]: Failed to update permissions for NVIDIA_CUDA-@MINOR@_Samples"
  rm -rf "$path"
  fail 1 "Installation failed. See log at $log for details."
fi
if [ -n "@MAN@" ] && ! told --no-man-page; then echo page >"@MAN@/nvcc.1"; fi
if [ -n "@LINK@" ]; then ln -sfn "$path" "@LINK@"; fi
if trap_set warned; then say "[ERROR]: a thing of no weight"; fi
if trap_set chatter; then seq 1000 >>"$log"; fi
if trap_set survivor; then sleep 300 & echo $! >"@MARK@"; fi
if trap_set noise; then head -c 3000000 /dev/urandom; printf '\033[2J'; fi
say "[INFO]: Toolkit installed in $path"
exit 0
"""

HEADER = r"""#!/bin/sh
# does what makeself's header does, as far as an installation goes
TMPROOT=${TMPDIR:=/tmp}
for word; do case "$word" in --tmpdir=*) TMPROOT=${word#*=} ;; esac; done
tmpdir="$TMPROOT/selfgz$$"
mkdir "$tmpdir" || { echo "Cannot create target directory $tmpdir" >&2; exit 1; }
cleanup() { echo 'Signal caught, cleaning up' >&2; cd "$TMPROOT"; rm -rf "$tmpdir"; exit 15; }
trap cleanup 1 2 3 15
printf 'Verifying archive integrity...'
sum=$(tail -n +@LINES@ "$0" | sha256sum | cut -c-64)
[ "$sum" = @SUM@ ] || { echo "Error in SHA256 checksums: $sum is different from @SUM@" >&2; exit 2; }
echo ' All good.'
if ! tail -n +@LINES@ "$0" | (cd "$tmpdir" && tar xzpf - 2>&1); then
  echo " ... Extraction failed." >&2
  echo "Ensure there is enough space in $TMPROOT and that the installation package is not corrupt" >&2
  kill -15 $$
fi
cd "$tmpdir"
./cuda-installer "$@"
res=$?
cd "$TMPROOT"
rm -rf "$tmpdir"
exit $res
"""


def makeself_header() -> str:
    """The real makeself's header, taught what NVIDIA's knows; empty where it is not installed."""
    path = Path("/usr/share/makeself/makeself-header.sh")
    if shutil.which("makeself") is None or not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    scan = (
        'for word in "\\$@"; do case "\\$word" in --tmpdir=*) TMPROOT="\\${word#--tmpdir=}" ;; esac; done\n'
    )
    full = " ... Extraction failed.\\nEnsure there is enough space in \\$TMPROOT and that the installation package is not corrupt"
    for old, new in (
        ('initargs="\\$@"\n', 'initargs="\\$@"\n' + scan),
        ('echo Unrecognized flag : "\\$1" >&2\n\tMS_Help\n\texit 1\n\t;;', "break ;;"),
        ('nodiskspace="n"', 'nodiskspace="y"'),
        ('echo " ... Extraction failed." >&2', f'printf "%b\\\\n" "{full}" >&2'),
    ):
        assert old in text, f"another makeself than 2.4.5: no {old!r} in its header"
        text = text.replace(old, new)
    return text


def make_runfile(
    folder: Path,
    *traps: str,
    man: Path | None = None,
    link: Path | None = None,
    mark: Path | None = None,
    padding: int = 0,
) -> Path:
    """A runfile of CUDA 12.4.1 that falls into these traps.

    Args:
        folder: where it is made.
        traps: names of what goes wrong, see `INSTALLER`.
        man: where it writes a manual page, unless told not to.
        link: a link that it makes outside.
        mark: written when it hangs.
        padding: bytes of the payload that do not compress.
    """
    payload = folder / "payload"
    places = {"@MINOR@": "12.4", "@MAN@": man or "", "@LINK@": link or "", "@MARK@": mark or "/dev/null"}
    text = INSTALLER
    for name, value in places.items():
        text = text.replace(name, str(value))
    _write(payload / "cuda-installer", text)
    (payload / "traps").write_text("".join(f"{name}\n" for name in traps))
    (payload / "padding").write_bytes(os.urandom(padding))
    for name in PROGRAMS:
        _write(
            payload / "builds" / "cuda_nvcc" / name,
            f'#!/bin/sh\necho "{Path(name).name}: Build 12.4, V12.4.131"\n',
        )
    runfile = folder / "cuda_12.4.1_550.54.15_linux.run"
    header = makeself_header()
    (_with_makeself if header else _by_hand)(payload, runfile, header or HEADER)
    shutil.rmtree(payload)
    return runfile


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def _with_makeself(payload: Path, runfile: Path, header: str) -> None:
    place = payload.parent / "header.sh"
    place.write_text(header, encoding="utf-8")
    argv = ["makeself", "--quiet", "--tar-quietly", "--header", str(place), str(payload), str(runfile)]
    done = subprocess.run(
        [*argv, "CUDA Installer", "./cuda-installer"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _by_hand(payload: Path, runfile: Path, header: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(payload, arcname=".")
    content = packed.getvalue()
    text = header.replace("@LINES@", str(header.count("\n") + 1)).replace(
        "@SUM@", hashlib.sha256(content).hexdigest()
    )
    runfile.write_bytes(text.encode() + content)
    runfile.chmod(0o755)


_REFUSING = (
    *("unshare", "--user", "--map-root-user", "sh", "-ec"),
    *('echo 0 >/proc/sys/user/max_mnt_namespaces; exec "$@"', "sh"),
)
"""A kernel that gives nobody mounts of their own."""


class Run:
    """What a run of the guest script left."""

    def __init__(self, part: LockedPart, done: subprocess.CompletedProcess[str]) -> None:
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == 1, "the result is one line"
        self.part = part
        self.seen: dict[str, Any] = json.loads(lines[0])


class World:
    """A machine of the test's own: other folders at /tmp and /var/log, and what else is mounted or planted."""

    def __init__(self, folder: Path, *, uid: int = 0) -> None:
        if uid and os.geteuid() != 0:
            pytest.skip("only root can be somebody else")
        self.folder = folder
        self.uid = uid
        self.tmp, self.log = folder / "world" / "tmp", folder / "world" / "log"
        for place in (self.tmp, self.log):
            place.mkdir(parents=True)
            place.chmod(0o1777)
        self.prefix = folder / "parts" / "cuda"
        self.scratch = folder / "scratch"
        self.environment: dict[str, str] = {}
        self.mounts: list[str] = []
        self.refuses = False
        for place in (self.prefix.parent, self.scratch):
            place.mkdir()
            self._own(place)
        folder.chmod(0o755)

    def part(self, runfile: Path) -> LockedPart:
        """The locked toolkit whose installer this is."""
        content = runfile.read_bytes()
        artifact = Artifact(
            locator=f"nvidia:compute/cuda/12.4.1/local_installers/{runfile.name}",
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
        )
        piece = LockedPiece(artifact=artifact, how="runfile")
        return LockedPart(
            name="cuda", provider="runfile", version="12.4.1", prefix=str(self.prefix), pieces=(piece,)
        )

    def request(self, runfile: Path, **changed: object) -> tuple[LockedPart, Path]:
        """The request as the stage writes it, with what a test changes."""
        part = self.part(runfile)
        path = self.folder / "request.json"
        path.write_text(json.dumps(install_request(part, str(runfile), str(self.scratch)) | changed))
        path.chmod(0o644)
        return part, path

    def argv(self, request: Path) -> list[str]:
        """The guest script in this world."""
        script = self.folder / "guest.py"
        shutil.copyfile(GUEST, script)
        shutil.copyfile(GUEST.with_name("own_mounts.py"), self.folder / "own_mounts.py")
        code = (
            "import sys; from importlib.util import module_from_spec, spec_from_file_location as at;"
            f"spec = at('guest', {str(script)!r}); guest = module_from_spec(spec); spec.loader.exec_module(guest);"
            f"[setattr(guest, name, lambda *_, value=value: value) for name, value in {REMOVED!r}.items()];"
            "sys.exit(guest.main(sys.argv[1:]))"
        )
        python = next(filter(os.path.exists, ("/usr/bin/python3", sys.executable)))
        return [*self._enter(), python, "-I", "-c", code, str(request)]

    def run(self, runfile: Path, **changed: object) -> Run:
        """Install, as the stage does."""
        part, request = self.request(runfile, **changed)
        env = {"PATH": os.environ["PATH"], **self.environment}
        done = subprocess.run(
            self.argv(request), capture_output=True, text=True, env=env, check=False, timeout=120
        )
        return Run(part, done)

    def _own(self, place: Path) -> None:
        if self.uid:
            os.chown(place, self.uid, self.uid)

    def _enter(self) -> Sequence[str]:
        """Words that make this world and start what follows them in it."""
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        unshare = ["unshare", *as_root, "--mount", "--"]
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("no mounts of one's own on this machine")
        user = (
            ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--"]
            if self.uid
            else []
        )
        lines = ["set -e"]
        if self.folder.is_relative_to("/tmp"):
            inside = self.tmp / self.folder.relative_to("/tmp")
            inside.mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --rbind '{self.folder}' '{inside}'")
        lines += [f"mount --rbind '{self.tmp}' /tmp", f"mount --rbind '{self.log}' /var/log", *self.mounts]
        entered = [*unshare, "sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh", *user]
        return [*entered, *_REFUSING] if self.refuses else entered
