import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ask, backupProgram, fill } from './backup-client.ts'
import type { Fault, Round } from './fault.ts'
import { bytesOf } from './files-client.ts'
import { type FilesProcess, startFiles } from './files-process.ts'

const run = promisify(execFile)

/** Work that a kill may interrupt. Each round takes one of them. */
interface Scene {
  readonly name: string
  /** Begins the work; the node may be killed at any moment after that. */
  begin(node: FilesProcess): Promise<unknown>
  /** Milliseconds after which the work is over, roughly. */
  readonly lasts: number
}

const scenes: readonly [Scene, ...Scene[]] = [
  { name: 'create', lasts: 700, begin: (node) => ask(node, '/api/backup/create', { method: 'POST' }) },
  {
    name: 'moment',
    lasts: 400,
    begin: (node) => ask(node, '/api/backup/moment?copies=true', { method: 'POST' }),
  },
]

/** Lets a client write until the node is killed, so that a backup has something to follow. */
async function write(node: FilesProcess): Promise<void> {
  for (let round = 0; ; round += 1) {
    const answer = await ask(node, '/write?path=/written', { method: 'PUT', body: bytesOf(`5000:${round};`) })
    if (answer === null) return
    await answer.arrayBuffer().catch(() => {})
  }
}

async function listed(node: FilesProcess): Promise<string[]> {
  const answer = await ask(node, '/api/backup/list')
  assert.equal(answer?.status, 200)
  const { backups } = (await answer.json()) as { backups: { filename: string }[] }
  return backups.map(({ filename }) => filename)
}

/** Checks that every listed backup is whole, with programs that do not belong to Nodekeep. */
async function checkBackups(dataFolder: string, filenames: readonly string[]): Promise<void> {
  for (const filename of filenames) {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-opened-'))
    try {
      await run('tar', ['-xzf', join(dataFolder, 'backups', filename), '-C', folder])
      await run('sha256sum', ['--quiet', '--strict', '-c', 'SHA256SUMS'], { cwd: folder })
      assert.ok((await readdir(folder)).includes('manifest.json'), `${filename} has no manifest`)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Resolves when nothing but the listed backups is in their folder, and no view is in the storage. */
async function cleanedUp(
  dataFolder: string,
  filenames: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const names = await readdir(join(dataFolder, 'backups')).catch(() => [])
    const inStorage = await readdir(join(dataFolder, 'files/.nodekeep'))
    const left = [
      ...names.filter((name) => !filenames.includes(name)),
      ...inStorage.filter((name) => !['lock', 'storage-id'].includes(name)),
    ]
    if (left.length === 0) return
    if (signal.aborted) assert.deepEqual(left, [], 'the next start leaves these behind')
    await delay(20)
  }
}

export default {
  name: 'After a node is killed while it makes a backup, every listed backup is whole, and the next start cleans up.',
  defaultRounds: 60,
  async round(round: Round) {
    const { random, signal, log } = round
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    try {
      const node = await startFiles(dataFolder, undefined, { program: backupProgram })
      const scene = random.pick(scenes)
      let answered: string | null = null
      try {
        await fill(node, random)
        if (random.chance(0.5)) await ask(node, '/api/backup/create', { method: 'POST' })
        const writing = write(node)
        const working = scene.begin(node).then(async (answer) => {
          if (!(answer instanceof Response) || scene.name !== 'create') return
          const body = (await answer.json().catch(() => null)) as { filename?: string } | null
          answered = body?.filename ?? null
        })
        const after = random.integer(0, scene.lasts)
        log(`${scene.name} was killed after ${after} ms`)
        await delay(after)
        await node.kill()
        await Promise.all([writing, working])
      } finally {
        await node.kill()
      }
      const again = await startFiles(dataFolder, undefined, { program: backupProgram })
      try {
        const filenames = await listed(again)
        if (answered !== null) assert.ok(filenames.includes(answered), 'an answered backup is lost')
        const limit = AbortSignal.any([signal, AbortSignal.timeout(20_000)])
        await cleanedUp(dataFolder, filenames, limit)
        await checkBackups(dataFolder, filenames)
        const made = await ask(again, '/api/backup/create', { method: 'POST' })
        assert.equal(made?.status, 200, 'the next backup is made')
      } finally {
        await again.kill()
      }
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
