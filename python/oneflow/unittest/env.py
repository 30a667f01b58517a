"""Where a test runs, as the environment says."""

from __future__ import annotations

import os


def eager_execution_enabled() -> bool:
    """Whether ONEFLOW_TEST_ENABLE_EAGER is 1.

    >>> eager_execution_enabled()
    False
    """
    return os.getenv("ONEFLOW_TEST_ENABLE_EAGER") == "1"


def typing_check_enabled() -> bool:
    """Whether ONEFLOW_TEST_ENABLE_TYPING_CHECK is 1.

    >>> typing_check_enabled()
    False
    """
    return os.getenv("ONEFLOW_TEST_ENABLE_TYPING_CHECK") == "1"


def has_node_list() -> bool:
    """Whether ONEFLOW_TEST_NODE_LIST names hosts.

    >>> has_node_list()
    False
    """
    return bool(os.getenv("ONEFLOW_TEST_NODE_LIST"))


def node_list() -> list[str]:
    """The hosts of ONEFLOW_TEST_NODE_LIST. RuntimeError where it names none.

    >>> os.environ["ONEFLOW_TEST_NODE_LIST"] = "a,b"
    >>> node_list()
    ['a', 'b']
    >>> del os.environ["ONEFLOW_TEST_NODE_LIST"]
    """
    names = os.getenv("ONEFLOW_TEST_NODE_LIST")
    if not names:
        raise RuntimeError("[node_list] expects ONEFLOW_TEST_NODE_LIST to name hosts, got nothing")
    return names.split(",")


def node_size() -> int:
    """The number of hosts: ONEFLOW_TEST_NODE_NUM, or that of the list, or 1.

    >>> node_size()
    1
    """
    given = os.getenv("ONEFLOW_TEST_NODE_NUM")
    if given:
        return int(given)
    return len(node_list()) if has_node_list() else 1


def has_world_size() -> bool:
    """Whether the number of processes is known; it always is.

    >>> has_world_size()
    True
    """
    return True


def world_size() -> int:
    """The number of processes: WORLD_SIZE, or 1.

    >>> world_size()
    1
    """
    return int(os.getenv("WORLD_SIZE", "1"))


def device_num() -> int:
    """The number of devices of each host: ONEFLOW_TEST_DEVICE_NUM, or 1.

    >>> device_num()
    1
    """
    return int(os.getenv("ONEFLOW_TEST_DEVICE_NUM") or 1)
