"""What is fuzzed, and by how many mutants."""

from tests.fuzz import checkpoints, frames, messages, peer_documents, plans, run_folders

TARGETS = {
    "messages": (messages.fuzz, messages.COUNT),
    "plans": (plans.fuzz, plans.COUNT),
    "run-folders": (run_folders.fuzz, run_folders.COUNT),
    "checkpoints": (checkpoints.fuzz, checkpoints.COUNT),
    "frames": (frames.fuzz, frames.COUNT),
    "peer-documents": (peer_documents.fuzz, peer_documents.COUNT),
}
