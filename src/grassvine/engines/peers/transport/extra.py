"""Import what runs between organisations need beyond the core, when it is needed."""

import os
from functools import cache
from types import ModuleType

from grassvine.foundations.extras import load_extra

# gRPC for Python has no parameter for the version of TLS. It may use one cipher suite of TLS 1.2,
# which takes an RSA certificate; as members have none, the handshake of version 1.2 fails.
NO_OLD_TLS = {"GRPC_SSL_CIPHER_SUITES": "ECDHE-RSA-AES128-GCM-SHA256"}
QUIET = {"GRPC_VERBOSITY": "NONE"}  # strangers could fill the log; refusals are told in words


@cache
def load_peers_extra(module: str) -> ModuleType:
    """Import a module that needs the extra, or raise an error that names the extra.

    gRPC reads its settings from the environment at its first use, so they are made before.
    """
    if module.partition(".")[0] == "grpc":
        for name, value in {**NO_OLD_TLS, **QUIET}.items():
            os.environ.setdefault(name, value)
    return load_extra(module, "a run between organisations", "peers")


@cache
def load_grpc() -> ModuleType:
    """Import gRPC's asyncio interface."""
    return load_peers_extra("grpc.aio")
