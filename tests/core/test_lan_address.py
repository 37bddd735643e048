"""The address that is told to other machines is one of this machine's own."""

from __future__ import annotations

import socket

import psutil
import pytest

from app.core.lan_address import find_lan_address


def test_it_is_an_address_of_an_interface() -> None:
    own = {
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family is socket.AF_INET
    }
    assert find_lan_address() in own | {""}


def test_without_a_network_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert find_lan_address() == ""
