// Package export sets up the OpenTelemetry SDK for the programs, by the standard
// OTEL_ variables, and makes their logger.
//
// Traces, and metrics beside those of /metrics, go where the variables say; where
// they say nothing, nothing is exported and nothing complains.
//
// What belongs here: the SDK, its exporters and log handlers. The names of spans
// and metrics do not: they are package telemetry's, which every room may use.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

// flushTime bounds what Close waits for the exporters.
const flushTime = 5 * time.Second

// Config says who is observed.
type Config struct {
	// Service is the service.name, unless OTEL_SERVICE_NAME gives one. Required.
	Service string
	// Version and Replica are the service.version and service.instance.id.
	Version string
	Replica string
	// Env looks up an OTEL_ variable; nil finds none. The exporters read theirs
	// from the process's environment whatever it says.
	Env func(name string) string
	// Logger hears of exports that fail, once a minute at most. Nil discards.
	Logger *slog.Logger
}

// SDK is a running set-up. There is one in a process: it is global.
type SDK struct {
	metrics *sdkmetric.MeterProvider
	traces  *sdktrace.TracerProvider // nil if no traces are exported
	page    http.Handler
}

// Start sets up the SDK and makes it the process's. On an error nothing is left
// running.
func Start(ctx context.Context, cfg Config) (*SDK, error) {
	if cfg.Env == nil {
		cfg.Env = func(string) string { return "" }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	otel.SetErrorHandler(&complaints{log: cfg.Logger, often: rate.Sometimes{Interval: time.Minute}})
	who, err := identity(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &SDK{}
	if err := s.startMetrics(ctx, cfg, who); err != nil {
		return nil, err
	}
	if err := s.startTraces(ctx, cfg, who); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// Metrics serves the metrics in the format of Prometheus.
func (s *SDK) Metrics() http.Handler { return s.page }

// Close sends what is left, within five seconds, and stops the exporters.
func (s *SDK) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	err := s.metrics.Shutdown(ctx)
	if s.traces != nil {
		err = errors.Join(s.traces.Shutdown(ctx), err)
	}
	if err != nil {
		return fmt.Errorf("export: flushing telemetry: %w", err)
	}
	return nil
}

func identity(ctx context.Context, cfg Config) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", cfg.Service)}
	if cfg.Version != "" {
		attrs = append(attrs, attribute.String("service.version", cfg.Version))
	}
	if cfg.Replica != "" {
		attrs = append(attrs, attribute.String("service.instance.id", cfg.Replica))
	}
	// What the environment says comes last, so it wins.
	who, err := resource.New(ctx, resource.WithAttributes(attrs...), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("export: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return who, nil
}

func (s *SDK) startMetrics(ctx context.Context, cfg Config, who *resource.Resource) error {
	registry := prometheus.NewRegistry()
	page, err := promexporter.New(promexporter.WithRegisterer(registry), promexporter.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("export: metrics: %w", err)
	}
	s.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	options := []sdkmetric.Option{sdkmetric.WithResource(who), sdkmetric.WithReader(page)}
	if wantsMetrics(cfg.Env) {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("export: metrics by OTEL_METRICS_EXPORTER=%s: %w", cfg.Env("OTEL_METRICS_EXPORTER"), err)
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	s.metrics = sdkmetric.NewMeterProvider(options...)
	otel.SetMeterProvider(s.metrics)
	if err := runtime.Start(runtime.WithMeterProvider(s.metrics)); err != nil {
		return errors.Join(fmt.Errorf("export: runtime metrics: %w", err), s.Close(ctx))
	}
	return nil
}

func (s *SDK) startTraces(ctx context.Context, cfg Config, who *resource.Resource) error {
	if !wantsTraces(cfg.Env) {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("export: traces by OTEL_TRACES_EXPORTER=%s: %w", cfg.Env("OTEL_TRACES_EXPORTER"), err)
	}
	s.traces = sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(s.traces)
	return nil
}

// wantsTraces reports whether the environment names an exporter or an address.
// The specification's default is an address on this machine, where mostly nobody
// listens.
func wantsTraces(env func(string) string) bool {
	switch {
	case env("OTEL_SDK_DISABLED") == "true", env("OTEL_TRACES_EXPORTER") == "none":
		return false
	default:
		return env("OTEL_TRACES_EXPORTER") != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	}
}

// wantsMetrics reports whether metrics go anywhere but to /metrics. The exporter
// "prometheus" is what /metrics is.
func wantsMetrics(env func(string) string) bool {
	switch env("OTEL_METRICS_EXPORTER") {
	case "", "none", "prometheus":
		return false
	default:
		return env("OTEL_SDK_DISABLED") != "true"
	}
}

// complaints logs what the SDK can not tell anybody.
type complaints struct {
	log   *slog.Logger
	often rate.Sometimes
}

// Handle is otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.often.Do(func() { c.log.Warn("telemetry export failed", "err", err) })
}
