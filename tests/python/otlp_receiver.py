"""A collector of OpenTelemetry: protobuf over HTTP, or gRPC. `otlp_receiver.py [grpc]`.

It prints `ready PORT`, and then each span that it receives as a line of JSON.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

printing = threading.Lock()


def plain(value) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(member) for member in value.array_value.values]
    return getattr(value, kind) if kind else None


def attributes(pairs) -> dict:
    return {pair.key: plain(pair.value) for pair in pairs}


def told(span: Span, resource: dict) -> dict:
    return {
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "name": span.name,
        "kind": Span.SpanKind.Name(span.kind),
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "attributes": attributes(span.attributes),
        "status": Status.StatusCode.Name(span.status.code),
        "message": span.status.message,
        "service": resource.get("service.name"),
    }


def receive(request: ExportTraceServiceRequest) -> ExportTraceServiceResponse:
    with printing:
        for of_resource in request.resource_spans:
            resource = attributes(of_resource.resource.attributes)
            for scope in of_resource.scope_spans:
                for span in scope.spans:
                    print(json.dumps(told(span, resource)))
        sys.stdout.flush()
    return ExportTraceServiceResponse()


class OverGrpc(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request: ExportTraceServiceRequest, context: grpc.ServicerContext) -> ExportTraceServiceResponse:
        return receive(request)


class OverHttp(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/x-protobuf":
            self.send_error(404)
            return
        answer = receive(ExportTraceServiceRequest.FromString(body)).SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def over_grpc(server: grpc.Server) -> int:
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(OverGrpc(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return port


def over_http() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OverHttp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


if __name__ == "__main__":
    # It stops when nothing refers to it.
    grpc_server = grpc.server(ThreadPoolExecutor(max_workers=2))
    print("ready", over_grpc(grpc_server) if sys.argv[1:] == ["grpc"] else over_http(), flush=True)
    sys.stdin.read()
