"""What each part of a toolchain is: who provides it, and what proves that it is what was asked for. Pure."""
