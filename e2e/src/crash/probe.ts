import type { ExecutionClass } from '@holdpoint/contracts';
import type { Stack } from '@holdpoint/local';

/** An action under trial: how it is asked for, and how its remote end tells how often it took effect. */
export interface Probe {
  name: string;
  executionClass: ExecutionClass;
  /** A remote end that the system does not bring itself, started before it; `env` has its services use it. */
  remote?(): Promise<{ env: Record<string, string>; stop(): Promise<void> }>;
  /** The argument text of the n-th call. */
  args(n: number): string;
  /** Makes what must stand there before the n-th call. */
  prepare?(stack: Stack, n: number): Promise<void>;
  /** Counted where the effect is, never in Holdpoint. */
  effects(stack: Stack, call: { id: string; n: number }): Promise<number>;
}
