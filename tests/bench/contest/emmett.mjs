// Emmett on PostgreSQL: appendToStream of the event store, without an expected version and without projections.
//
// Callers are promises; the pool has CONNECTIONS. An append without an expected version still fails if another
// writes to the same stream at the same time, so no caller takes an account that another is at. A batch is one
// append of so many events to one stream.
//
// Told what to do, and telling what came of it, as driving.py says.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const CONNECTIONS = 16;
const [npm, said] = process.argv.slice(2);
const config = JSON.parse(said);
const require = createRequire(`${npm}/`);
const pg = require('pg');
const { getPostgreSQLEventStore } = require('@event-driven-io/emmett-postgresql');

const PURSE = 'purse/';
const bodies = readFileSync(config.payloads, 'utf8').split('\n').map((line) => JSON.parse(line));
const accounts = [...new Set(bodies.map((body) => body.postings[0].from.slice(PURSE.length)))];
const events = bodies.map((body) => ({ type: 'Transferred', data: body }));

const pool = new pg.Pool({ connectionString: config.url, max: Math.min(CONNECTIONS, config.callers) });
const store = getPostgreSQLEventStore(config.url, { connectionOptions: { pool } });
await store.schema.migrate();

const waiting = [];
let number = 0;

async function append() {
  const account = accounts.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
  const several = [];
  for (let at = 0; at < config.batch; at += 1) several.push(events[(number * config.batch + at) % events.length]);
  number += 1;
  await store.appendToStream(`account-${account}`, several);
  const next = waiting.shift();
  if (next) next(account);
  else accounts.unshift(account);
}

const begin = performance.now() + config.warm_up * 1000;
const end = begin + config.seconds * 1000;
const took = [];
let appends = 0;

async function caller() {
  for (let begun = performance.now(); begun < end; ) {
    await append();
    const now = performance.now();
    if (begin <= now && now < end) took.push(now - begun);
    appends += 1;
    begun = now;
  }
}

let before;
let used;
setTimeout(() => (before = process.cpuUsage()), begin - performance.now());
setTimeout(() => (used = process.cpuUsage(before)), end - performance.now());
await Promise.all(Array.from({ length: config.callers }, caller));
await store.close();
await pool.end();

took.sort((one, other) => one - other);
const quantile = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))] ?? 0;
const commands = took.length * config.batch;
const outcome = {
  rate: commands / config.seconds,
  commands,
  p50_ms: quantile(0.5),
  p99_ms: quantile(0.99),
  cpu_s: ((used?.user ?? 0) + (used?.system ?? 0)) / 1e6,
  acknowledged: appends * config.batch,
};
console.log(JSON.stringify(outcome));
