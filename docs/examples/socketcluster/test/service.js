// Starts Portico for the test, with its own PostgreSQL.

import { spawn, execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = process.env.PORTICO;
if (!PROGRAM) throw new Error('PORTICO must be set to the path of the program');

// The settings that all instances share.
const dataDir = mkdtempSync(join(tmpdir(), 'portico-socketcluster-'));
// If the test runs as root, the database runs as another account, which needs access to the directory.
chmodSync(dataDir, 0o755);
const common = { ...process.env, PORTICO_ENVIRONMENT: 'development', PORTICO_DEV__DATA_DIR: dataDir, PORTICO_HTTP__LISTEN: '127.0.0.1:0', PORTICO_HTTP__ADMIN_LISTEN: 'off', PORTICO_LOG__FILTER: 'warn' };

const running = [];

/** Starts an instance. The first one starts the database. Returns its address and the keys of the demonstration company. */
export async function startPortico(settings = {}) {
  const program = spawn(PROGRAM, ['serve'], { env: { ...common, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(program);
  const url = await new Promise((answers, fails) => {
    program.once('exit', (code) => fails(new Error(`portico ended with ${code}`)));
    createInterface(program.stdout).on('line', (line) => {
      const address = /answers at (http:\S+)/.exec(line)?.[1];
      if (address) answers(address);
    });
  });
  return { ...JSON.parse(execFileSync(PROGRAM, ['demo', '--json'], { env: common })), url };
}

/** Stops every instance, the one with the database last. */
export async function stopAll() {
  for (const program of running.reverse()) {
    const ended = new Promise((resolve) => program.once('exit', resolve));
    if (program.exitCode === null && program.kill('SIGTERM')) await ended;
  }
  rmSync(dataDir, { recursive: true, force: true });
}
