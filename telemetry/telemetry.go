// Package telemetry holds the names under which Botmesh is observed, and carries
// trace context through headers. It knows the OpenTelemetry API only: without an
// SDK it costs next to nothing. Package telemetry/export sets the SDK up for the
// programs.
//
// What belongs here: every span, metric and attribute name, in names.go, so that
// a dashboard can be checked against one file.
package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the instrumentation scope of every span and metric.
const Scope = "github.com/botmesh-go/botmesh"

// Tracer makes Botmesh's spans, with the provider that is global when a span begins.
func Tracer() trace.Tracer { return otel.Tracer(Scope) }

// Inject writes the trace context of ctx as headers (traceparent, tracestate); nil if there is none.
func Inject(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	m := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, m)
	return m
}

// Extract puts the trace context of headers written by [Inject] into ctx.
func Extract(ctx context.Context, headers map[string]string) context.Context {
	if len(headers) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(headers))
}

// Linked adds to links one to the span of headers written by [Inject], and says why;
// nothing if they name none.
func Linked(links []trace.Link, why string, headers map[string]string) []trace.Link {
	span := trace.SpanContextFromContext(Extract(context.Background(), headers))
	if !span.IsValid() {
		return links
	}
	return append(links, trace.Link{SpanContext: span, Attributes: []attribute.KeyValue{KeyLink.String(why)}})
}
