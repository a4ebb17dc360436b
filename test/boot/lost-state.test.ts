import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'

const plugins = { files: true, 'storage-local': true }

const start = (dataFolder: string, config: object = {}) =>
  createTestNode({ dataFolder, folder: import.meta.dirname, config: { plugins, ...config } })

/** Returns a data folder in which a node has kept a file of a user, and the state of a node without users. */
async function usedFolder(t: Test, config: object = {}): Promise<{ data: string; emptyState: string }> {
  const folder = t.testdir({ data: {}, new: {} })
  const data = join(folder, 'data')
  const node = await start(data, config)
  await store(node)
  await node.stop()
  await (await start(join(folder, 'new'))).stop()
  return { data, emptyState: join(folder, 'new/state.sqlite') }
}

async function store(node: TestNode): Promise<void> {
  const owner = await node.signIn('owner')
  const answer = await owner.fetch('/write?path=/mine.txt', { method: 'PUT', body: 'mine' })
  if (!answer.ok) throw new Error(await answer.text())
}

const losses: Record<string, (state: string, emptyState: string) => Promise<void>> = {
  emptied: (state) => truncate(state, 0),
  missing: (state) => rm(state),
  'without users': async (state, emptyState) => cp(emptyState, state),
  damaged: (state) => writeFile(state, 'This is no database. '.repeat(400)),
}

t.test('a node whose state was lost does not start beside the files of its users', async (t) => {
  for (const [loss, lose] of Object.entries(losses)) {
    const { data, emptyState } = await usedFolder(t)
    const state = join(data, 'state.sqlite')
    await lose(state, emptyState)
    for (const attempt of ['first', 'second']) {
      await t.rejects(
        start(data),
        {
          message:
            /^\S+state\.sqlite .* Restore the node from a backup: nodekeep backup restore FILE\. To begin anew /,
        },
        `${loss}, ${attempt} attempt`,
      )
    }
    if (loss === 'emptied' || loss === 'damaged') {
      // As the message says. The next one then tells of the files.
      await rm(state)
      await t.rejects(start(data), {
        message: new RegExp(`To begin anew .* move the folder ${join(data, 'files')} away`),
      })
    }
    await rename(join(data, 'files'), join(data, 'files-of-before'))
    const node = await start(data)
    await store(node)
    await node.stop()
  }
})

t.test('a state is looked after also beside files on another disk', async (t) => {
  const root = t.testdir({ disk: {} })
  const config = { 'storage-local': { root: join(root, 'disk') } }
  const data = t.testdir({ data: {}, disk: {} })
  const node = await start(join(data, 'data'), config)
  await store(node)
  await node.stop()
  await rm(join(data, 'data/state.sqlite'))
  await t.rejects(start(join(data, 'data'), config), {
    message: /has no users, but .*disk has files of users/,
  })
})

t.test('the write-ahead log of a lost state stays', async (t) => {
  const { data } = await usedFolder(t)
  const log = join(data, 'state.sqlite-wal')
  for (const lose of [() => truncate(join(data, 'state.sqlite'), 0), () => rm(join(data, 'state.sqlite'))]) {
    await lose()
    await writeFile(log, 'changes that were not in the file yet')
    await t.rejects(start(data), { message: /, but its write-ahead log is there\. Restore/ })
    t.ok(existsSync(log))
  }
})

t.test('a first start that was killed does not keep the next one from starting', async (t) => {
  const data = t.testdir({ 'state.sqlite': '', lock: '', files: { '.nodekeep': { incoming: {} } } })
  const node = await start(data)
  await store(node)
  await node.stop()
  t.equal((await readdir(join(data, 'files'))).filter((name) => !name.startsWith('.')).length, 1)
})

t.test('a node without an owner starts again', async (t) => {
  const data = t.testdir({ data: {} })
  for (let starts = 0; starts < 2; starts += 1) await (await start(join(data, 'data'))).stop()
  await mkdir(join(data, 'data/files/notes'), { recursive: true })
  await writeFile(join(data, 'data/files/notes/a'), 'no user has this')
  await (await start(join(data, 'data'))).stop()
})
