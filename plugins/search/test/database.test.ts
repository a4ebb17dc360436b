import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestNode } from '@nodekeep/kernel/testing'
import { findDatabases } from '@nodekeep/plugin-sdk/data-folder'
import t, { test } from 'tap'
import { createSearchNode, found, put, send, untilComplete } from './fixtures/search-node.ts'

// Other tests may use both processors.
t.setTimeout(120_000)

const folderOf = (dataFolder: string) => join(dataFolder, 'plugins/search/not-in-backups/users')

/** A user of a node that may be started again. */
async function prepare(t: { testdir(): string; teardown(end: () => unknown): void }) {
  const dataFolder = t.testdir()
  const lines: string[] = []
  const onLog = (line: string) => lines.push(line)
  let node: TestNode = await createSearchNode({ dataFolder, onLog })
  t.teardown(() => node.stop())
  const { token, user } = await node.signIn()
  const headers = { authorization: `Bearer ${token}` }
  const ada = {
    fetch: (path: string, init: RequestInit = {}) =>
      node.fetch(path, { ...init, headers: { ...headers, ...(init.headers as Record<string, string>) } }),
  }
  return {
    ada,
    lines,
    dataFolder,
    file: join(folderOf(dataFolder), `${user.uuid}.sqlite`),
    async restart({ meanwhile, search = true }: { meanwhile?: () => Promise<void>; search?: boolean } = {}) {
      await node.stop()
      await meanwhile?.()
      node = await createSearchNode({ dataFolder, onLog, config: { plugins: { search } } })
    },
  }
}

test('a lost, damaged or older index is made anew', async (t) => {
  const { ada, lines, file, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross')
  await untilComplete(ada)
  await restart({ meanwhile: () => rm(file) })
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])

  await restart({ meanwhile: () => writeFile(file, Buffer.alloc(8192, 'x')) })
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
  t.ok(lines.some((line) => line.includes('is damaged, and is made anew')))

  const makeOlder = async () => {
    const database = new DatabaseSync(file)
    database.exec('PRAGMA user_version = 999; DROP TABLE entries')
    database.close()
  }
  await restart({ meanwhile: makeOlder })
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
})

test('changes while the search was switched off are found', async (t) => {
  const { ada, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross')
  await put(ada, '/b.txt', 'albatross')
  await untilComplete(ada)
  await restart({ search: false })
  await put(ada, '/c/c.txt', 'albatross again')
  await put(ada, '/b.txt', 'other')
  await send(ada, 'POST', '/delete', { path: '/a.txt' })
  await restart()
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/c/c.txt'])
})

test('neither backups nor updates copy the index, and a user without files has none', async (t) => {
  const { ada, dataFolder, file } = await prepare(t)
  await untilComplete(ada)
  t.strictSame(await readdir(folderOf(dataFolder)).catch(() => []), [])
  await put(ada, '/a.txt', 'albatross')
  await untilComplete(ada)
  t.ok((await stat(file)).isFile())
  t.equal((await stat(file)).mode & 0o077, 0, 'other accounts of the machine cannot read it')
  t.notOk(findDatabases(dataFolder).some(({ path }) => path.includes('search')))
})

test('the index of a user who is gone is removed', async (t) => {
  const { ada, dataFolder, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross')
  await untilComplete(ada)
  const left = '00000000-0000-4000-8000-000000000000.sqlite'
  await restart({ meanwhile: () => writeFile(join(folderOf(dataFolder), left), '') })
  while ((await readdir(folderOf(dataFolder))).includes(left)) await new Promise(setImmediate)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
})
