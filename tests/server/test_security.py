"""Who may ask: own Host, own Origin, the key; and no word that lets a web page read an answer."""

from __future__ import annotations

import httpx2
import openai
import pytest

from app.core.errors import UsageError
from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.server.conftest import StartServer, create_client, create_http
from tests.server.raw_client import RawClient

KEY = "schlüssel-7f3a"


def _port(server: ServerRunner) -> str:
    return server.base_url.removesuffix("/v1").rsplit(":", 1)[1]


@pytest.mark.parametrize(
    "name",
    ["a.com", "a.com:{port}", "127.0.0.1.evil.example", "[::2]", "[::1", "localhost.", ""],
)
def test_a_foreign_host_is_refused(server: ServerRunner, http: httpx2.Client, name: str) -> None:
    reply = http.get("/v1/models", headers={"host": name.format(port=_port(server))})
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "forbidden_host"


@pytest.mark.parametrize("name", ["localhost:{port}", "LOCALHOST", "127.0.0.1", "[::1]:{port}"])
def test_names_of_this_machine_are_taken(
    server: ServerRunner, http: httpx2.Client, name: str
) -> None:
    reply = http.get("/v1/models", headers={"host": name.format(port=_port(server))})
    assert reply.status_code == 200


def test_a_second_host_is_refused(server: ServerRunner) -> None:
    with RawClient(server) as client:
        client.send(f"GET /health HTTP/1.1\r\nHost: {client.host}\r\nHost: a.b\r\n\r\n".encode())
        assert client.read_until(b"\r\n").startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "file://",
        "http://127.0.0.1.evil.example",
    ],
)
@pytest.mark.parametrize("method", ["POST", "OPTIONS", "GET"])
def test_a_foreign_origin_is_refused(http: httpx2.Client, origin: str, method: str) -> None:
    headers = {"origin": origin, "access-control-request-method": "POST"}
    reply = http.request(method, "/v1/chat/completions", headers=headers)
    assert reply.status_code == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_an_own_origin_is_taken_and_told_nothing(server: ServerRunner, http: httpx2.Client) -> None:
    reply = http.get("/v1/models", headers={"origin": server.base_url.removesuffix("/v1")})
    assert reply.status_code == 200
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_key_is_asked_for_everywhere_but_at_health(start_server: StartServer) -> None:
    server = start_server(api_key=KEY)
    with create_http(server) as http:
        assert http.get("/health").status_code == 200
        for path in ("/v1/models", "/metrics", "/openapi.json", "/nothing"):
            reply = http.get(path)
            assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")
        for value in (KEY, f"Basic {KEY}", "Bearer", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}"):
            headers = {"authorization": value.encode()}
            assert http.get("/v1/models", headers=headers).status_code == 401
        headers = {"authorization": f"bearer {KEY}".encode()}
        assert http.get("/v1/models", headers=headers).status_code == 200


def test_openai_s_client_says_that_its_key_is_wrong(start_server: StartServer) -> None:
    server = start_server(api_key="right")
    with create_client(server, "wrong") as client, pytest.raises(openai.AuthenticationError):
        client.models.list()
    with create_client(server, "right") as client:
        assert client.models.list().data


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.0.5", "my-machine"])
def test_other_machines_are_let_in_with_a_key_only(host: EngineHost, address: str) -> None:
    with pytest.raises(UsageError, match="needs a key"):
        ServerRunner(host, ServerOptions(host=address, port=0)).start()


def test_on_all_addresses_any_address_is_an_own_host(start_server: StartServer) -> None:
    server = start_server(host="0.0.0.0", api_key="k")
    assert server.base_url.startswith("http://127.0.0.1:")
    headers = {"authorization": "Bearer k"}
    with create_http(server) as http:
        for name, status in (("192.168.7.9:80", 200), ("localhost", 200), ("evil.example", 403)):
            reply = http.get("/v1/models", headers={"host": name, **headers})
            assert reply.status_code == status


def test_an_address_of_no_own_interface_is_refused(start_server: StartServer) -> None:
    with pytest.raises(UsageError, match="no address of this machine"):
        start_server(host="203.0.113.7", api_key="k")
