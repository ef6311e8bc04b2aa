"""The state machine of one member: events in, effects out, without sockets, clock or threads."""
