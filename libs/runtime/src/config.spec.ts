import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { baseConfig, ConfigError, loadConfig } from './config.js';

const good = {
  DATABASE_URL: 'postgres://hp_policy:secret@127.0.0.1:5432/holdpoint',
  NATS_URL: 'nats://127.0.0.1:4222',
  NATS_USER: 'policy',
  NATS_PASSWORD: 'secret',
  PORT: '4102',
  HOLDPOINT_IDENTITY_FILE: '/run/identities.json',
  HOLDPOINT_SERVICE_TOKEN: 'a-token-of-some-length',
};
const schema = baseConfig.extend({
  POLICY_MODE: z.enum(['enforce', 'log-only']).default('enforce').describe('enforce or log-only'),
  SWEEP_SECONDS: z.coerce.number().int().min(1),
});

function errorOf(env: NodeJS.ProcessEnv): ConfigError {
  try {
    loadConfig(schema, env);
  } catch (err) {
    if (err instanceof ConfigError) return err;
    throw err;
  }
  throw new Error('it was accepted');
}

describe('loadConfig', () => {
  test('reads numbers and fills defaults in', () => {
    expect(loadConfig(schema, { ...good, SWEEP_SECONDS: '5', PATH: '/bin' })).toEqual({
      ...good,
      PORT: 4102,
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      HOLDPOINT_DEV: '0',
      DATABASE_POOL_MAX: 10,
      POLICY_MODE: 'enforce',
      SWEEP_SECONDS: 5,
    });
  });

  test('names every wrong variable and what it must be, and shows no value', () => {
    const err = errorOf({ ...good, DATABASE_URL: 'mysql://root:hunter2@db', PORT: '99999', NATS_PASSWORD: undefined });
    expect(err.variables).toEqual(['DATABASE_URL', 'NATS_PASSWORD', 'PORT', 'SWEEP_SECONDS']);
    expect(err.message).toContain('DATABASE_URL is not valid: it must be a postgres:// URL');
    expect(err.message).toContain('NATS_PASSWORD is not set: it must be');
    expect(err.message).toContain('SWEEP_SECONDS is not set: Invalid input: expected number');
    expect(err.message).toContain('PORT is not valid: it must be a port number from 0 to 65535');
    expect(err.message).not.toMatch(/hunter2|99999|secret/);
  });

  test('an empty variable counts as absent', () => {
    expect(errorOf({ ...good, PORT: '', SWEEP_SECONDS: '1' }).message).toContain('PORT is not set');
    expect(loadConfig(schema, { ...good, SWEEP_SECONDS: '1', LOG_LEVEL: '' }).LOG_LEVEL).toBe('info');
  });
});
