"""The only impure room: processes, files, sockets, clocks. Reached through `torchbuild.context`."""
