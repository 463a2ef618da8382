#!/usr/bin/env node
// Starts the program that the package of this platform holds. Nothing is downloaded and nothing
// is kept: arguments, streams, signals and the exit code are those of the program.
'use strict';

const { spawn } = require('node:child_process');

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'milepost.exe' : 'milepost';

function fail(message, hint) {
  process.stderr.write(`error: ${message}\nhint: ${hint}\n`);
  process.exit(1);
}

let program;
try {
  program = require.resolve(`@milepost/${platform}/bin/${file}`);
} catch {
  const known = Object.keys(require('../package.json').optionalDependencies);
  if (known.includes(`@milepost/${platform}`)) {
    fail(`the package @milepost/${platform} is not installed`,
      'install milepost again, without --omit=optional and --no-optional');
  }
  fail(`there is no package of milepost for ${platform}`,
    'build it from source: cargo install --path crates/cli --locked');
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
for (const signal of process.platform === 'win32' ? [] : signals) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => fail(`cannot start ${program}: ${error.message}`,
  'install milepost again'));
child.on('exit', (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // Whoever waits for this process is to see what ended the program.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
