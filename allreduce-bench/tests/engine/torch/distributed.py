"""Processes that meet at a port of this host; the first one adds up what all have."""

import array
import signal
import socket
import struct
import time

# Sums in place double with every replay; those of a real tensor end as infinity.
MOST = 1 << 61

links = []
is_first = False


def init_process_group(init_method, world_size, rank):
    global is_first
    host, port = init_method.removeprefix("tcp://").split(":")
    is_first = rank == 0
    if is_first:
        with socket.create_server((host, int(port))) as server:
            links.extend(server.accept()[0] for _ in range(world_size - 1))
        return
    while True:
        try:
            links.append(socket.create_connection((host, int(port))))
            return
        except ConnectionRefusedError:
            # The first one does not listen yet.
            time.sleep(0.01)


def get_backend(_):
    return "stand-in"


def send(link, numbers):
    data = array.array("q", numbers).tobytes()
    link.sendall(struct.pack("q", len(data)) + data)


def receive(link):
    def take(count):
        data = b""
        while len(data) < count:
            more = link.recv(count - len(data))
            while not more:
                # As a kernel waits for a rank that has gone.
                signal.pause()
            data += more
        return data

    (count,) = struct.unpack("q", take(8))
    return list(array.array("q", take(count)))


def summed(numbers):
    """The sum over all processes."""
    if not is_first:
        send(links[0], numbers)
        return receive(links[0])
    for link in links:
        numbers = [min(mine + theirs, MOST) for mine, theirs in zip(numbers, receive(link))]
    for link in links:
        send(link, numbers)
    return numbers


def all_reduce(tensor, group):
    """In place, 50 us."""
    from . import cuda

    def work():
        tensor.numbers = summed(tensor.numbers)
        cuda.takes(50.0)

    if cuda.recording is None:
        work()
    else:
        cuda.recording.append(work)
