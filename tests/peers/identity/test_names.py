import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grassvine.foundations.errors import PlanError
from grassvine.peers.identity.names import MAX_NAME, as_address, as_name

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@given(st.lists(LABEL, min_size=1, max_size=5).map(".".join))
def test_dns_names_in_lower_case_are_names(name: str) -> None:
    if name.rsplit(".", 1)[-1].isdigit():
        with pytest.raises(PlanError):
            as_name(name)
    else:
        assert as_name(name) == name


@given(st.text() | st.none() | st.integers())
@example("a\n")
def test_whatever_is_accepted_is_safe_in_files_and_certificates(given: object) -> None:
    try:
        name = as_name(given)
    except PlanError as error:
        why = str(error)
        assert "\n" not in why
    else:
        assert 0 < len(name) <= MAX_NAME and name.isascii() and name == name.lower()
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
        assert not name.startswith((".", "-")) and ".." not in name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Clinic",
        "a b",
        "a_b",
        "-a",
        "a-",
        ".a",
        "a.",
        "a..b",
        "10",
        "127.0.0.1",
        "é",
        "a\n",
        "a" * 64,
        "../a",
        "a/b",
        "a\x00",
    ],
)
def test_other_names_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(PlanError, match="such as clinic-a"):
        as_name(name)


@pytest.mark.parametrize(
    "address",
    [
        "clinic-a.example:443",
        "localhost:1",
        "127.0.0.1:65535",
        "[::1]:443",
        "[2001:db8::7]:8443",
        "Clinic-A.Example:443",
    ],
)
def test_addresses_have_a_host_and_a_port(address: str) -> None:
    assert as_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "clinic-a.example",
        ":443",
        "a:0",
        "a:65536",
        "a:-1",
        "a:4 4",
        "::1:443",
        "[::g]:443",
        "a_b:443",
        "1.2.3.4.5:1",
        "256.1.1.1:443",
        "a:443\n",
        "a:４４３",
        "user@host:443",
        "a/b:443",
    ],
)
def test_other_addresses_are_refused_with_an_example(address: str) -> None:
    with pytest.raises(PlanError, match="use host:port"):
        as_address(address)
