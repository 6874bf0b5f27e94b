#!/bin/busybox sh
# The first process of an emulated machine. A bind mount over the first root file system, which nothing can move, lets a sandbox pivot.
/bin/busybox mkdir -p /proc /sys /dev /tmp /host
/bin/busybox mount --bind / /host
cd /host || exit 1
/bin/busybox mount --move . /
exec /bin/busybox chroot . /bin/busybox sh /guest.sh
