import { mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestNode } from '@nodekeep/kernel/testing'
import { findDatabases } from '@nodekeep/plugin-sdk/data-folder'
import { test } from 'tap'
import { createSearchNode, found, put, send, statusOf, until, untilComplete } from './fixtures/search-node.ts'

const folderOf = (dataFolder: string) => join(dataFolder, 'plugins/search/not-in-backups/users')

interface Restart {
  readonly meanwhile?: () => Promise<void>
  readonly search?: boolean
  readonly maxFileSize?: number
}

function configOf(search: boolean, maxFileSize: number) {
  return { plugins: { search }, ...(search && { search: { maxFileSize } }) }
}

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
    async healthOf() {
      const owner = await node.signIn('owner')
      const { checks } = (await send(owner, 'GET', '/api/system/health')) as {
        readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly message?: string }>>
      }
      return checks.search
    },
    user,
    lines,
    dataFolder,
    file: join(folderOf(dataFolder), `${user.uuid}.sqlite`),
    async restart({ meanwhile, search = true, maxFileSize = 1e6 }: Restart = {}) {
      await node.stop()
      await meanwhile?.()
      node = await createSearchNode({ dataFolder, onLog, config: configOf(search, maxFileSize) })
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

test('files are found by their present words, however often parts of the index were merged', async (t) => {
  const { ada, lines } = await prepare(t)
  // FTS5 merges 16 parts into one, and each text that is complete alone is a part.
  for (let number = 0; number < 20; number += 1) {
    await put(ada, `/${number}.txt`, `albatross word${number}`)
    await untilComplete(ada)
  }
  await put(ada, '/0.txt', 'heron')
  await send(ada, 'POST', '/delete', { path: '/1.txt' })
  await put(ada, '/last.txt', 'heron')
  await until(async () => (await found(ada, 'albatross')).length === 18)
  await untilComplete(ada)
  t.strictSame((await found(ada, 'heron')).sort(), ['/0.txt', '/last.txt'])
  t.strictSame(lines, [])
})

test('the health tells that an index cannot be written, until it can', async (t) => {
  const { ada, file, healthOf, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross')
  await untilComplete(ada)
  t.match(await healthOf(), { ok: true })
  const meanwhile = async () => {
    await rm(file)
    await mkdir(file)
  }
  await restart({ meanwhile })
  await until(async () => (await healthOf())?.ok === false)
  t.match(await healthOf(), { message: /^New files cannot be found now: .* tried again within minutes\.$/ })
  t.equal((await ada.fetch('/stat?path=/a.txt')).status, 200)
  await rmdir(file)
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
  await until(async () => (await healthOf())?.ok === true)
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

test('a larger bound of files counts from the next start on', async (t) => {
  const { ada, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross among others')
  await untilComplete(ada)
  await restart({ maxFileSize: 5 })
  await put(ada, '/b.txt', 'albatross alone')
  await untilComplete(ada)
  t.strictSame((await statusOf(ada)).failed, { 'too-large': 1 })
  await restart()
  await until(async () => (await found(ada, 'albatross')).length >= 2)
  t.strictSame((await statusOf(ada)).failed, {})
})

test('a file that another program has changed waits until the node has noticed it', async (t) => {
  const { ada, user, dataFolder, file, restart } = await prepare(t)
  await put(ada, '/a.txt', 'albatross')
  await untilComplete(ada)
  const meanwhile = async () => {
    await rm(file)
    await writeFile(join(dataFolder, 'files', user.uuid, 'a.txt'), 'albatross among others')
  }
  await restart({ meanwhile })
  await until(async () => (await statusOf(ada)).failed.unreadable === 1)
  t.strictSame(await found(ada, 'albatross'), [])
  await put(ada, '/a.txt', 'an albatross')
  await untilComplete(ada)
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
  t.strictSame((await statusOf(ada)).failed, {})
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
  await until(async () => !(await readdir(folderOf(dataFolder))).includes(left))
  t.strictSame(await found(ada, 'albatross'), ['/a.txt'])
})
