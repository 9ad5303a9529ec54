"""The files of local chat models: which there are, and how one comes onto the disk, whole.

Nothing is downloaded but by ``ModelStore.pull``, and nothing is put in its place unchecked.
"""

from paper_qa.llm.model_files.manifest import GgufModel, HubFile, Packages, read_models
from paper_qa.llm.model_files.store import ModelStore, Progress

__all__ = ["GgufModel", "HubFile", "ModelStore", "Packages", "Progress", "read_models"]
