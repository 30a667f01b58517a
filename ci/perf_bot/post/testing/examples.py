"""The smallest JSON value that an OpenAPI schema allows: what the fake GitHub's answers are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STRINGS = {
    "date-time": "2027-01-15T08:00:00Z",
    "uri": "https://github.example/x",
    "uri-template": "https://github.example/x",
}


class Examples:
    """Makes values for the schemas of one description."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._schemas = description["components"]["schemas"]

    def of(self, name: str) -> Any:
        """A value for a schema of the components, as `issue-comment`."""
        return self._make(self._schemas[name])

    def _make(self, schema: Mapping[str, Any]) -> Any:
        if "$ref" in schema:
            return self.of(schema["$ref"].rpartition("/")[2])
        if schema.get("nullable"):
            return None
        if "allOf" in schema:
            return self._joined(schema["allOf"])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self._make(schema[word][0])
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type", "object")
        if kind == "object":
            known = schema.get("properties", {})
            return {name: self._make(known.get(name, {})) for name in schema.get("required", ())}
        if kind == "string":
            return _STRINGS.get(schema.get("format", ""), "x")
        return {"array": [], "boolean": False, "integer": 1, "number": 1.0}[kind]

    def _joined(self, parts: list[Mapping[str, Any]]) -> Any:
        found: dict[str, Any] = {}
        for part in parts:
            found |= self._make(part) or {}
        return found
