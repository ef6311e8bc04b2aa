"""One process per organisation: agents that exchange frames over mutual TLS, without a server."""
