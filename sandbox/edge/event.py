"""The event that CloudFront hands to a viewer-request function."""

import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl

from sandbox.edge.values import Deployed
from sandbox.edge.wire import Request
from sandbox.ministack import LOOPBACK


def make_event(request: Request, deployed: Deployed) -> dict[str, object]:
    """Describe a request, its path as it was sent."""
    cookies = [part.partition("=") for part in (request.find("cookie") or "").split(";")]
    headers = {name: values for name, values in request.headers.items() if name != "cookie"}
    query: dict[str, tuple[str, ...]] = {}
    for name, value in parse_qsl(request.query, keep_blank_values=True, encoding="latin-1"):
        query[name] = (*query.get(name, ()), value)
    return {
        "version": "1.0",
        "context": {
            "distributionDomainName": deployed.domain_name,
            "distributionId": deployed.distribution_id,
            "eventType": "viewer-request",
            "requestId": secrets.token_hex(16),
        },
        "viewer": {"ip": LOOPBACK},
        "request": {
            "method": request.method,
            "uri": request.path,
            "querystring": _list_values(query),
            "headers": _list_values(headers),
            "cookies": {name.strip(): {"value": value} for name, _, value in cookies if name.strip()},
        },
    }


def _list_values(values: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    return {
        name: {"value": found[0]}
        if len(found) == 1
        else {"value": found[0], "multiValue": [{"value": each} for each in found]}
        for name, found in values.items()
    }
