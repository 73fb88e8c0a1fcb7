"""What would fail, before anything is fetched: host + recipe + target -> findings. Pure."""
