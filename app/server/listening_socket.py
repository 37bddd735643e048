"""A socket that listens, or the reason why not and a port that is free."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from contextlib import closing

import psutil

from app.core.errors import PortBusyError, UsageError
from app.core.sentence import Sentence

_logger = logging.getLogger(__name__)

_NUM_NEXT_PORTS = 20
# Windows: ports that Hyper-V and its like reserved (netsh int ipv4 show excludedportrange).
_WSAEACCES = 10013


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Port 0 takes any free one.

    Raises PortBusyError, naming a free port, where the port is taken or reserved, and UsageError
    for a host that is not this machine's.
    """
    try:
        return _bind(host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise UsageError(
                "{host} is no address of this machine.", host=host, detail=str(error)
            ) from error
        raise _to_port_busy(error, host, port) from error


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        _claim_alone(listener)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _claim_alone(listener: socket.socket) -> None:
    """SO_REUSEADDR means two things: on Windows it takes a port away from who listens there."""
    if sys.platform == "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def _to_port_busy(error: OSError, host: str, port: int) -> PortBusyError:
    problem, detail = _describe(error, port), str(error)
    free_port = _find_free_port(host, port)
    if free_port is None:
        return PortBusyError("{problem}", problem=problem, detail=detail)
    return PortBusyError(
        "{problem} Port {free} is free.",
        problem=problem,
        free=free_port,
        free_port=free_port,
        detail=detail,
    )


def _describe(error: OSError, port: int) -> str:
    if error.errno in (errno.EACCES, _WSAEACCES):
        return Sentence("The system has reserved port {port}.", port=port)
    holder = _find_holder(port)
    if holder:
        return Sentence("Port {port} is in use by {holder}.", port=port, holder=holder)
    return Sentence("Port {port} is in use.", port=port)


def _find_holder(port: int) -> str:
    """The program that listens there; '' where the system does not tell."""
    try:
        for connection in psutil.net_connections("tcp"):
            is_listening = connection.status == psutil.CONN_LISTEN
            if is_listening and connection.laddr[1:] == (port,) and connection.pid:
                name = psutil.Process(connection.pid).name()
                return Sentence("{name} (process {pid})", name=name, pid=connection.pid)
    except (psutil.Error, OSError) as error:
        _logger.info("Who listens on port %d is not told: %s", port, error)
    return ""


def _find_free_port(host: str, port: int) -> int | None:
    """One of the next ports, else any; None where the host cannot be bound at all."""
    following = range(port + 1, min(port + 1 + _NUM_NEXT_PORTS, 65536))
    for candidate in (*following, 0):
        try:
            with closing(_bind(host, candidate)) as listener:
                return int(listener.getsockname()[1])
        except OSError:
            continue
    return None
