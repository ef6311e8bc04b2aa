"""What carries the events and effects of a member: gRPC streams, journal, threads and clock."""
