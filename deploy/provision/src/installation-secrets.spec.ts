import { expect, test } from '@jest/globals';
import { completeSecrets, parseSecrets, SecretsIncomplete } from './installation-secrets.js';

const whole = completeSecrets({}, ['mine']);
const parsed = (content: unknown, consumers: string[] = []) => parseSecrets(JSON.stringify(content), consumers);

test('what is there stays, what is missing is made, and what nobody declares any more is kept', () => {
  const { policy, ...others } = whole.bus;
  const again = completeSecrets({ ...whole, bus: others }, []);
  expect(again).toEqual({ ...whole, bus: { ...others, policy: expect.any(String) } });
  expect(again.bus.policy).not.toBe(policy);
  expect(parsed(whole, ['mine'])).toEqual(whole);
});

test('a provisioner is not given half of them: each that lacks is named, none is shown', () => {
  const { audit: _, ...database } = whole.database;
  const fault = (content: unknown, consumers?: string[]) => {
    try {
      return String(parsed(content, consumers));
    } catch (err) {
      expect(err).toBeInstanceOf(SecretsIncomplete);
      return (err as Error).message;
    }
  };
  expect(fault({ ...whole, database, cluster: undefined }, ['other'])).toContain(
    'the secrets lack database.audit, cluster, consumers.other:',
  );
  const short = fault({ ...whole, bus: { ...whole.bus, hub: 'hunter2' } });
  expect(short).toContain('bus.hub');
  expect(short).not.toContain('hunter2');
  expect(() => parseSecrets('{"bus": hunter2', [])).toThrow(/^(?!.*hunter2).*the secrets are wrong/);
});
