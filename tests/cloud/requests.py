"""Requests to AWS read as calls, by moto's own routing and parsing."""

from __future__ import annotations

from collections.abc import Mapping

from moto.core.parse import PROTOCOL_PARSERS, RequestDict
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model

from provisioning.testbeds.aws.rehearsal.iam.calls import Call

# services whose requests are signed by another name than their model has
MODELS: Mapping[str, str] = {
    "elasticmapreduce": "emr",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}


def read_call(service: str, request: Request) -> Call:
    """From a request; `service` as it is signed for. Raises werkzeug's NotFound for what no operation of the service is."""
    name = MODELS.get(service, service)
    operation, of_path = get_service_router(name).match(request)
    if service == "s3":  # its body is an object's content, or XML on which no permission depends
        return Call(service, operation.name, of_path)
    protocol = determine_request_protocol(get_service_model(name), request.content_type)
    parts: RequestDict = {
        "method": request.method,
        "values": request.values,
        "headers": request.headers,
        "body": request.data,
        "url_path": request.path,
        "url_params": of_path,
    }
    return Call(service, operation.name, PROTOCOL_PARSERS[protocol](operation).parse(parts))
