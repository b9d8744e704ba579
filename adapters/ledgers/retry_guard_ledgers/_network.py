"""Whether a path lies on a network file system, where a write-ahead log loses or tears data."""

import os
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = frozenset(
    {
        *("afs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb2", "smb3", "smbfs"),
    }
)


def network_file_system(path: Path, mounts: Path | None = None) -> str | None:
    """Return the kind of network file system that holds the path; None: none, or not known."""
    try:
        device = path.stat().st_dev
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        mount, _, source = line.partition(" - ")
        if mount.split()[2:3] == [number]:
            kind = source.partition(" ")[0]
            return kind if kind in NETWORK else None
    return None
