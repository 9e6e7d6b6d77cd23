import { SERVICES, schemaOf, withClient } from '@holdpoint/provision';
import { expect, test } from '@jest/globals';
import { testDatabase } from '../src/index.js';

test('each file has a database of its own, with the real roles', async () => {
  const [one, other] = [await testDatabase(), await testDatabase()];
  expect(one.name).not.toBe(other.name);
  for (const service of SERVICES)
    await withClient(one.url(service), async (client) => {
      const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema');
      expect(rows[0]?.schema).toBe(schemaOf(service));
      await expect(client.query('CREATE TABLE mine (n int)')).rejects.toThrow(/permission denied/);
      await expect(client.query('CREATE TABLE public.mine (n int)')).rejects.toThrow(/permission denied/);
      const foreign = schemaOf(SERVICES.find((s) => s !== service) ?? service);
      await expect(client.query(`CREATE TABLE ${foreign}.mine (n int)`)).rejects.toThrow(/permission denied/);
    });
  await withClient(one.url('owner'), (client) => client.query('CREATE TABLE policy.made_by_owner (n int)'));
  await one.drop();
  await other.drop();
  await expect(withClient(one.url('superuser'), async () => {})).rejects.toThrow(/does not exist/);
});
