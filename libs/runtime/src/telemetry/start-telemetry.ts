import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { spansAreOn } from './spans.js';

/** A collector that is away must not hold up a stop. */
const FLUSH_MS = 2_000;
const QUIET_MS = 60_000;
const LONGEST_COMPLAINT = 300;

/**
 * Starts the export of spans if the environment names an endpoint by OpenTelemetry's own variables; otherwise not even the
 * SDK is loaded. JSON over HTTP unless OTEL_EXPORTER_OTLP_PROTOCOL says otherwise. Loses spans rather than work: an endpoint
 * that is away or slow costs nothing but the spans.
 * @returns what sends the last spans, within 2 s, and ends the export
 */
export async function startTelemetry(service: string): Promise<() => Promise<void>> {
  const { env } = process;
  if (!wanted(env)) return async () => undefined;
  env['OTEL_EXPORTER_OTLP_PROTOCOL'] ||= 'http/json';
  const [{ NodeSDK }, { envDetector, resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/resources'),
  ]);
  const log = new Logger('Telemetry');
  let quietUntil = 0;
  const complain = (message: string) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + QUIET_MS;
    log.warn(`spans are not exported as they should be: ${message.slice(0, LONGEST_COMPLAINT)}`);
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const sdk = new NodeSDK({
    // what is detected besides holds the command line and the paths of this machine
    resource: resourceFromAttributes({
      'service.namespace': 'holdpoint',
      'service.name': service,
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
      'process.runtime.name': 'nodejs',
      'process.runtime.version': process.versions.node,
    }),
    resourceDetectors: [envDetector],
    instrumentations: [],
    textMapPropagator: null,
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  spansAreOn(true);
  return async () => {
    spansAreOn(false);
    const late = new AbortController();
    await Promise.race([
      sdk.shutdown().catch((err: Error) => complain(err.message)),
      delay(FLUSH_MS, undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
  };
}

/** OpenTelemetry's default is an endpoint on this machine; here nothing is sent unless somebody has said where to. */
function wanted(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  if (env['OTEL_TRACES_EXPORTER']?.trim() === 'none') return false;
  return Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}
