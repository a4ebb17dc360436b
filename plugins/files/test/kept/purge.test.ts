import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ageKept } from '../fixtures/age-kept.ts'
import { userOfNode } from '../fixtures/kept-api.ts'
import { createKeptNode, keptFilesOf } from '../fixtures/kept-node.ts'

const dayMs = 24 * 60 * 60 * 1000

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(5)
}

/** A user of a node with kept files of different ages, before and after a restart. */
async function restarted(t: Test, ages: Readonly<Record<string, number>>) {
  const dataFolder = t.testdir()
  const mounts = { '/': 'local', '/cold': 'memory' }
  const first = await createKeptNode(t, 'local', { mounts }, { dataFolder })
  const { ada, files, write } = await first.newUser()
  for (const path of ['/old', '/young', '/folder/a', '/file', '/orphan']) await write(path, '1')
  for (const path of ['/file', '/orphan']) for (const text of ['2', '3']) await write(path, text)
  for (const path of ['/old', '/young', '/folder']) await files.remove(path)
  // Its versions do not move with it.
  await files.move('/orphan', '/cold/orphan')
  await first.node.stop()
  ageKept(dataFolder, ages)
  return {
    dataFolder,
    ada,
    async start(onLog: (line: string) => void = () => {}) {
      const { node, services, backend } = await createKeptNode(t, 'local', { mounts }, { dataFolder, onLog })
      return { node, ...keptFilesOf(services, userOfNode(node, ada), backend) }
    },
  }
}

t.test('the trash and versions that were kept long enough are deleted', async (t) => {
  const { start } = await restarted(t, { '/old': 31, '/folder': 31, '/young': 29, '/file': 31 })
  const { kept, trashed, keptOnStorage } = await start()
  await until(async () => (await keptOnStorage()).length === 1)
  await until(async () => (await kept.versions('/file')).items.length === 0)
  t.strictSame(await trashed(), ['/young'])
})

t.test('nothing is deleted by a clock that has jumped', async (t) => {
  const { start } = await restarted(t, {})
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  for (const years of [1, 1, 0]) {
    Date.now = () => now() + years * 365 * dayMs
    const waits = Promise.withResolvers<void>()
    const { node, trashed, versionTexts } = await start((line) => {
      if (line.includes('not purged before the node has run')) waits.resolve()
    })
    await waits.promise
    // Sessions end a year later.
    Date.now = now
    t.strictSame(await trashed(), ['/folder', '/young', '/old'])
    t.strictSame(await versionTexts('/file'), ['2', '1'])
    await node.stop()
  }
})

t.test('a deletion that was broken off takes no room after the next start', async (t) => {
  const { dataFolder, ada, start } = await restarted(t, {})
  const folder = join(dataFolder, 'files', 'kept', ada.user.uuid)
  // A crash came after the files were gone, and before the index took note of it.
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
  const { files, kept, trashed, write, keptOnStorage } = await start()
  await until(async () => (await trashed()).length === 0)
  await until(async () => (await kept.versions('/file')).items.length === 0)
  await write('/file', '4')
  t.equal((await kept.versions('/file')).items.length, 1, 'what is kept since stays')
  t.equal((await keptOnStorage()).length, 1)
  await files.remove('/file')
  t.strictSame(await trashed(), ['/file'])
})
