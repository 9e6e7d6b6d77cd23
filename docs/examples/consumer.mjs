// Prints what became of each call. Run it with the file that `npm start` wrote for this consumer:
//   node consumer.mjs <home>/consumers/notifier.json
import { readFileSync } from 'node:fs';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

const { servers, user, pass, apiPrefix, stream, consumers } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const nc = await connect({ servers, user, pass, pingInterval: 5_000, maxReconnectAttempts: -1 });
const seen = new Set(); // delivery is at least once: a program with effects keeps these with its effects

await Promise.all(
  consumers.map(async ({ name }) => {
    const consumer = await jetstream(nc, { apiPrefix }).consumers.get(stream, name);
    for await (const message of await consumer.consume()) {
      const event = message.json();
      if (!seen.has(event.id)) console.log(message.seq, event.type, event.data.call?.tool, event.data.status ?? '');
      seen.add(event.id);
      message.ack();
    }
  }),
);
