import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { ask, backupProgram, fill } from './backup-client.ts'
import type { Fault, Round } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import type { Random } from './random.ts'

/** All that a round changes on a node: the files of its owner, the state, and a plugin's database. */
interface Content {
  readonly mark: unknown
  readonly files: ReadonlyMap<string, Buffer>
}

/** Calls that change the names of a restore: some more than preparing, planning and applying one needs. */
const steps = 40

/** The files below a folder by their paths. */
async function filesIn(folder: string): Promise<Map<string, Buffer>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = paths.sort().map(async (path) => [path.slice(folder.length), await readFile(path)] as const)
  return new Map(await Promise.all(files))
}

async function markOf(node: FilesProcess): Promise<unknown> {
  const answer = await ask(node, '/mark')
  assert.equal(answer?.status, 200)
  return await answer.json()
}

async function contentOf(dataFolder: string, node: FilesProcess): Promise<Content> {
  return { mark: await markOf(node), files: await filesIn(join(dataFolder, 'files', node.session.uuid)) }
}

/** Gives the node content of its own. */
async function change(node: FilesProcess, random: Random, mark: string): Promise<void> {
  await fill(node, random)
  const written = await ask(node, `/write?path=/${mark}`, { method: 'PUT', body: mark })
  assert.equal(written?.status, 200)
  assert.equal((await ask(node, `/mark/${mark}`, { method: 'POST' }))?.status, 200)
}

/** Makes a start fail by a kill, or starts the node: null after a kill. */
async function startKilled(dataFolder: string, { random, log }: Round): Promise<FilesProcess | null> {
  const program = backupProgram
  const atStep = random.chance(0.6) ? random.integer(1, steps) : null
  const killAfter = random.integer(1, 1500)
  log(atStep === null ? `a start was killed after ${killAfter} ms` : `a start was killed at step ${atStep}`)
  const options =
    atStep === null ? { program, killAfter } : { program, environment: { KILL_AT_STEP: `${atStep}` } }
  try {
    return await startFiles(dataFolder, undefined, options)
  } catch (error) {
    if (error instanceof Error && error.cause === 'SIGKILL') return null
    throw error
  }
}

/** Restores at the next start. Returns whether the node has answered that it will. */
async function planned(node: FilesProcess, filename: string): Promise<boolean> {
  const body = JSON.stringify({ filename, confirm: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await ask(node, '/api/backup/restore', { method: 'POST', headers, body })
  // A node that stops gives up the restore, and says so.
  if (answer === null || answer.status === 503) return false
  assert.equal(answer.status, 200, await answer.text().catch(() => ''))
  return true
}

/** Takes the restore back. Returns whether the node has answered that it is; null if it has not answered. */
async function takenBack(node: FilesProcess): Promise<boolean | null> {
  const answer = await ask(node, '/api/backup/restore', { method: 'DELETE' })
  if (answer === null) return null
  // There may be none yet, or one that is just being prepared.
  assert.ok([200, 404, 409].includes(answer.status), await answer.text().catch(() => ''))
  return answer.status === 200
}

/** Checks that the API shows the files on the disk, too. */
async function checkServed(node: FilesProcess, files: Content['files']): Promise<void> {
  for (const [path, bytes] of files) {
    const answer = await ask(node, `/read?path=${path}`)
    assert.equal(answer?.status, 200, `${path} is served`)
    assert.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())), `${path} is served as it is on the disk`)
  }
}

/** Resolves when only the former data of applied restores is left of restores. Returns their names. */
async function settled(dataFolder: string, signal: AbortSignal): Promise<string[]> {
  for (;;) {
    const own = await readdir(join(dataFolder, 'restore')).catch(() => [])
    const left: string[] = []
    const names = own.filter((name) => name !== 'applied.json' && name !== 'lock')
    for (const name of names) {
      const record = await readFile(join(dataFolder, 'restore', name, 'restore.json'), 'utf8').catch(() => '')
      if (!/"state": *"applied"/.test(record)) left.push(name)
    }
    const inStorage = await readdir(join(dataFolder, 'files/.nodekeep/restore')).catch(() => [])
    for (const name of inStorage) {
      const kept = await readdir(join(dataFolder, 'files/.nodekeep/restore', name))
      if (!names.includes(name) || kept.some((one) => one !== 'previous')) left.push(`files: ${name}`)
    }
    if (left.length === 0) return names
    if (signal.aborted) assert.deepEqual(left, [], 'the next start leaves these behind')
    await delay(20)
  }
}

/** Checks that everything from before the restore is kept. */
async function checkPrevious(dataFolder: string, name: string, uuid: string, former: Content): Promise<void> {
  const files = await filesIn(join(dataFolder, 'files/.nodekeep/restore', name, 'previous', uuid))
  assert.deepEqual(files, former.files, 'the former files are kept')
  const previous = join(dataFolder, 'restore', name, 'previous')
  assert.ok(existsSync(join(previous, 'state.sqlite')), 'the former state is kept')
  const database = new DatabaseSync(join(previous, 'plugins/marked/marks.sqlite'))
  try {
    assert.equal(database.prepare('SELECT mark FROM marks').get()?.mark, 'former')
  } finally {
    database.close()
  }
}

export default {
  name: 'After a node is killed while it restores a backup or starts with it, it has its former data or that of the backup, and no mixture.',
  defaultRounds: 60,
  async round(round: Round) {
    const { random, signal, log } = round
    const program = backupProgram
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    let node: FilesProcess | null = null
    try {
      const killedPreparing = random.chance(0.5)
      // The start itself takes some three steps.
      const atStep = killedPreparing && random.chance(0.5) ? random.integer(4, steps) : null
      const environment = atStep === null ? undefined : { KILL_AT_STEP: `${atStep}` }
      node = await startFiles(dataFolder, undefined, { program, ...(environment && { environment }) }).catch(
        (error) => {
          // It took more steps than that.
          if (error.cause === 'SIGKILL') return startFiles(dataFolder, undefined, { program })
          throw error
        },
      )
      await change(node, random, 'backup')
      const made = await ask(node, '/api/backup/create', { method: 'POST' })
      assert.equal(made?.status, 200)
      const { filename } = (await made.json()) as { filename: string }
      const backup = await contentOf(dataFolder, node)
      await ask(node, '/delete', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ path: '/a' }),
      })
      await change(node, random, 'former')
      const former = await contentOf(dataFolder, node)
      const { uuid } = node.session

      const planning = planned(node, filename)
      // It may fail before it is awaited.
      planning.catch(() => {})
      let isPlanned = false
      if (killedPreparing) {
        const after = random.integer(0, 500)
        log(atStep === null ? `the restore was killed after ${after} ms` : `it was killed at step ${atStep}`)
        await (atStep === null ? delay(after) : Promise.race([planning, delay(10_000)]))
      } else assert.ok(await planning, 'a restore that nothing disturbs is planned')
      const taking = random.chance(0.25) ? takenBack(node) : null
      if (taking !== null) {
        const after = random.chance(0.5) ? random.integer(0, 30) : null
        log(after === null ? 'the restore was taken back' : `it was taken back, and killed after ${after} ms`)
        await (after === null ? taking : delay(after))
      }
      await (random.chance(0.8) ? node.kill() : node.stop())
      isPlanned = await planning
      const isTaken = taking === null ? false : await taking
      // Without an answer, the node has either.
      if (taking !== null) isPlanned &&= isTaken === false
      for (let kills = random.integer(killedPreparing ? 0 : 1, 3); kills > 0; kills -= 1) {
        const started: FilesProcess | null = await startKilled(dataFolder, round)
        await started?.kill()
      }

      node = await startFiles(dataFolder, undefined, { program })
      const found = await contentOf(dataFolder, node)
      const isRestored = JSON.stringify(found.mark) === JSON.stringify(backup.mark)
      log(isRestored ? 'the node has the data of the backup' : 'the node has its former data')
      if (isPlanned) assert.ok(isRestored, 'a restore that was answered is lost')
      if (isTaken) assert.ok(!isRestored, 'a restore that was taken back was applied')
      assert.deepEqual(found, isRestored ? backup : former)
      await checkServed(node, found.files)
      const names = await settled(dataFolder, AbortSignal.any([signal, AbortSignal.timeout(20_000)]))
      assert.equal(names.length, isRestored ? 1 : 0)
      for (const name of names) await checkPrevious(dataFolder, name, uuid, former)

      assert.ok(await planned(node, filename), 'the next restore is prepared')
      await node.kill()
      node = await startFiles(dataFolder, undefined, { program })
      assert.deepEqual(await contentOf(dataFolder, node), backup)
    } finally {
      await node?.kill()
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
