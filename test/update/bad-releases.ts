import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { patch } from './expanded-release.ts'
import { type ReleaseChange, replaceContent } from './release-server.ts'

/** A release that does not work. */
export interface BadRelease {
  /** The fault, as the end of a sentence about the release. */
  readonly name: string
  readonly change: ReleaseChange
  /** The outcome: `refused` before the former version stops, and otherwise the result in the history. */
  readonly result: 'refused' | 'failed' | 'went back'
  /** Matches the reason in the history. */
  readonly reason: RegExp
  /** Whether the release is installed first, and left in its first minutes. */
  readonly onProbation?: boolean
  /** Whether the fault is seen only at a public address, `http://localhost:<port>`. */
  readonly atPublicAddress?: boolean
  /** Whether another program fills the disk as soon as clients reach the release. */
  readonly onFullDisk?: boolean
}

/** Runs a program before the node, where the release starts one; its other commands work. */
function beforeStart(program: string): ReleaseChange {
  return (folder) =>
    replaceContent(join(folder, 'node_modules/@nodekeep/kernel/bin/nodekeep.js'), (content) =>
      content.replace('\n', `\nif (process.argv[2] === 'start') { ${program} }\n`),
    )
}

/** Makes a release that crashes at its start. */
export const crashAtStart = beforeStart('process.exit(3)')

/** Makes a release that opens files until no descriptor is left, as soon as clients reach it. */
const leakDescriptors: ReleaseChange = async (folder) => {
  await beforeStart(
    `const { openSync } = await import('node:fs');
process.on('message', ({ nodekeep }) => {
  if (nodekeep === 'admit') setInterval(() => { try { for (;;) openSync('/dev/null') } catch {} }, 100)
})`,
  )(folder)
  await replaceContent(join(folder, 'bin/nodekeep'), (content) =>
    content.replace('\n', '\nif [ "$1" = start ]; then ulimit -n 1024; fi\n'),
  )
  await chmod(join(folder, 'bin/nodekeep'), 0o755)
}

/** Replaces a text in a file of a package. */
function inPackage(file: string, text: string, by: string): ReleaseChange {
  return (folder) => patch(join(folder, 'node_modules/@nodekeep', file), [[text, by]])
}

/** The begin of the answer to `GET /whoami`. */
const whoami = 'if (request.user !== null)\n            return'
const signInRoutes = 'kernel/dist/sign-in/sign-in-routes.js'

/** The faults that releases may have. The former version runs again after each of them, by itself. */
export const badReleases: readonly BadRelease[] = [
  {
    name: 'crashes at its start',
    change: crashAtStart,
    result: 'failed',
    reason: /^It ended with the code 3\.$/,
  },
  {
    name: 'dies right after its admission',
    change: beforeStart(
      `process.on('message', ({ nodekeep }) => { if (nodekeep === 'admit') process.kill(process.pid, 'SIGKILL') })`,
    ),
    result: 'went back',
    reason: /^It was ended by SIGKILL\.$/,
  },
  {
    name: 'has lost a required plugin',
    change: (folder) => rm(join(folder, 'node_modules/@nodekeep/storage-local'), { recursive: true }),
    result: 'refused',
    reason: /storage-local/,
  },
  {
    name: 'fails in a migration, after another one has removed all sessions',
    change: (folder) =>
      replaceContent(join(folder, 'node_modules/@nodekeep/kernel/dist/state/database-schema.js'), (content) =>
        content.replace(
          '];',
          `  { id: 'removal', change: 'expand', up: (database) => database.exec('DELETE FROM sessions') },
  { id: 'mistake', change: 'expand', up: (database) => database.exec('DROP TABLE missing') },
];`,
        ),
      ),
    result: 'failed',
    reason: /missing|mistake/,
  },
  {
    name: 'answers 503',
    change: (folder) =>
      replaceContent(join(folder, 'node_modules/@nodekeep/storage-local/dist/index.js'), (content) =>
        content.replace('await backend.probe(signal);', `return { ok: false, state: 'broken' };`),
      ),
    result: 'failed',
    reason: /^It is not healthy: .*storage-local.*\.$/,
  },
  {
    name: 'hangs at its start',
    change: beforeStart('await new Promise(() => setInterval(() => {}, 1000))'),
    result: 'failed',
    reason: /^It was not ready within \d+ s\.$/,
  },
  {
    name: 'does not answer its clients',
    change: inPackage(signInRoutes, whoami, `throw new Error('broken');\n        ${whoami}`),
    result: 'went back',
    onProbation: true,
    reason: /did not work in its first minutes\. The node answers wrongly at http:\/\/127\.0\.0\.1:\d+\.$/,
  },
  {
    name: 'cannot store files',
    change: inPackage(
      'files/dist/files-service.js',
      'write: async (path, content, options) =>',
      `write: async () => { throw new Error('broken') }, written: async (path, content, options) =>`,
    ),
    result: 'went back',
    onProbation: true,
    reason: /did not work in its first minutes\. A file of the owner cannot be stored\.$/,
  },
  {
    name: 'computes wrongly in WebAssembly',
    change: inPackage(
      'wasm-native/dist/index.js',
      "runtimes.add('native', runtime)",
      "runtimes.add('native', Object.assign(runtime, { call: async () => [0] }))",
    ),
    result: 'went back',
    onProbation: true,
    reason: /did not work in its first minutes\. A WebAssembly function returns wrong results\.$/,
  },
  {
    name: 'does not answer at its public address',
    change: inPackage(
      signInRoutes,
      whoami,
      `if (request.host.startsWith('localhost')) throw new Error('broken');\n        ${whoami}`,
    ),
    result: 'went back',
    onProbation: true,
    atPublicAddress: true,
    reason: /did not work in its first minutes\. The node answers wrongly at http:\/\/localhost:\d+\.$/,
  },
  {
    name: 'leaves no descriptor for anything',
    change: leakDescriptors,
    result: 'went back',
    onProbation: true,
    reason: /did not work in its first minutes\. [^.]*(stored|answer)/,
  },
  {
    name: 'does not answer its clients on a full disk',
    change: inPackage(signInRoutes, whoami, `throw new Error('broken');\n        ${whoami}`),
    result: 'went back',
    onProbation: true,
    onFullDisk: true,
    reason: /did not work in its first minutes\. The node answers wrongly at http:\/\/127\.0\.0\.1:\d+\.$/,
  },
]
