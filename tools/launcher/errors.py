"""The one exception of tools/bazel: its text is the whole message that the user sees."""


class LauncherError(Exception):
    """A problem that the user can act on; printed as one line, without a traceback."""
