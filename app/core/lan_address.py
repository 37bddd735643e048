"""How other machines of the local network call this one."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import closing

# Of a network for examples (RFC 5737): nothing is sent, but the system says which of its addresses
# it would send from.
_SOMEWHERE = ("192.0.2.1", 9)


def find_lan_address() -> str:
    """The IPv4 address of this machine's way out; '' where it is on no network. Asks the routing
    table only.
    """
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(_SOMEWHERE)
        except OSError:
            return ""
        address = str(probe.getsockname()[0])
    return "" if ipaddress.ip_address(address).is_unspecified else address
