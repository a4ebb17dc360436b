import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import t, { type Test, test } from 'tap'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { createBackupNode, makeBackup, put } from '../fixtures/backup-node.ts'

t.jobs = 3

interface Found {
  readonly count: number
  readonly found: readonly { userUuid: string; username: string; path: string; type: string; size: number }[]
}

const post = (user: TestUser, path: string, body: object) =>
  user.fetch(`/api/backup/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const read = async (user: TestUser, path: string) => {
  const answer = await user.fetch(`/read?path=${encodeURIComponent(path)}`)
  return answer.ok ? answer.text() : answer.status
}

async function nodeFor(
  t: Test,
  config: object = {},
): Promise<{ node: TestNode; owner: TestUser; ada: TestUser }> {
  const node = await createBackupNode({
    config: { storage: { mounts: { '/memory': 'memory' } }, plugins: { 'storage-memory': true }, ...config },
  })
  t.teardown(() => node.stop())
  return { node, owner: await node.signIn('owner'), ada: await node.signIn() }
}

test('what a user lost is found by its name and put back, beside what is there now', async (t) => {
  const { node, owner, ada } = await nodeFor(t)
  const paths = ['/notes/Letter to Ben.txt', '/memory/letter.odt'] as const
  await put(ada, paths[0], 'as it was')
  await put(ada, '/notes/2026/plan.txt', 'plan')
  await put(ada, paths[1], 'in memory')
  await put(owner, '/letters/one', 'of the owner')
  const { filename } = await makeBackup(owner)
  const day = new Date().toISOString().slice(0, 10)
  const of = { filename, userUuid: ada.user.uuid }

  const { count, found } = (await (await post(owner, 'find', { filename, text: 'LETTER' })).json()) as Found
  t.equal(count, 3)
  const [folder, ...files] = found.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(({ path }) => path)
  t.strictSame([folder, ...files], ['/letters', paths[1], paths[0]])
  t.match(
    found.find(({ path }) => path === paths[0]),
    { userUuid: ada.user.uuid, username: ada.user.username, type: 'file', size: 9 },
  )
  const within = (await (await post(owner, 'find', { filename, text: '/notes/2026/' })).json()) as Found
  t.strictSame(
    within.found.map(({ path }) => path),
    ['/notes/2026/plan.txt'],
  )

  await ada.fetch(`/delete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: '/notes' }),
  })
  t.strictSame(await (await post(owner, 'put-back', { ...of, path: paths[0] })).json(), { path: paths[0] })
  t.equal(await read(ada, paths[0]), 'as it was')
  await put(ada, paths[0], 'as it is now')
  const beside = `/notes/Letter to Ben (backup ${day}).txt`
  t.strictSame(await (await post(owner, 'put-back', { ...of, path: paths[0] })).json(), { path: beside })
  t.equal(await read(ada, paths[0]), 'as it is now')
  t.equal(await read(ada, beside), 'as it was')
  t.strictSame(await (await post(owner, 'put-back', { ...of, path: '/notes' })).json(), {
    path: `/notes (backup ${day})`,
  })
  t.equal(await read(ada, `/notes (backup ${day})/2026/plan.txt`), 'plan')
  t.equal(await read(ada, `/notes (backup ${day})/Letter to Ben.txt`), 'as it was')
  const { changes } = (await (await ada.fetch('/api/files/changes/newest?limit=4')).json()) as {
    changes: { path: string; by: string; group: string; maker: object }[]
  }
  const [group, ...others] = new Set(changes.map((change) => change.group))
  t.match(group, /^[\w-]{20}$/)
  t.strictSame(others, [], 'what was put back at once is one group')
  const maker = { kind: 'plugin', id: 'backup', user: owner.user.uuid }
  for (const change of changes) t.match(change, { by: 'backup', maker })
  const memory = `/memory/letter (backup ${day}).odt`
  t.strictSame(await (await post(owner, 'put-back', { ...of, path: paths[1] })).json(), { path: memory })
  t.equal(await read(ada, memory), 'in memory')

  t.equal((await post(owner, 'put-back', { ...of, path: '/none' })).status, 404)
  t.equal((await post(owner, 'put-back', { ...of, userUuid: 'nobody', path: '/notes' })).status, 404)
  t.equal((await post(ada, 'put-back', { ...of, path: paths[0] })).status, 403)
  t.equal((await post(ada, 'find', { filename, text: 'a' })).status, 403)
  t.strictSame(readdirSync(join(node.dataFolder, 'plugins/backup/extracted')), [], 'nothing is left')
  t.match(await (await owner.fetch('/api/backup/status')).json(), { reading: null })
})

test('one file or folder comes out of a backup on the command line', async (t) => {
  const key = await generateKey()
  const { node, owner, ada } = await nodeFor(t, { backup: { drill: false, recipients: [key.recipient] } })
  const plain = await nodeFor(t)
  const modified = '1700000000'
  for (const user of [ada, plain.ada]) {
    const answer = await user.fetch('/write?path=/notes/a.txt', {
      method: 'PUT',
      body: 'of ada',
      headers: { 'x-oc-mtime': modified },
    })
    t.ok(answer.ok)
  }
  await put(plain.ada, '/notes/deep/b.txt', 'deep')
  await put(plain.owner, '/notes/a.txt', 'of the owner')
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-extract-'))
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })
  writeFileSync(
    join(folder, 'nodekeep.json'),
    JSON.stringify({ plugins: { backup: { from: join(import.meta.dirname, '../..') } } }),
  )
  const run = async ({ dataFolder }: TestNode, ...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(['backup', ...args, '--data', dataFolder], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    })
    return { code, text: stdout + stderr }
  }
  const { filename } = await makeBackup(plain.owner)
  const written = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8')
  const ofAda = ['--user', plain.ada.user.username]

  t.match(await run(plain.node, 'find', filename, 'A.TXT'), { code: 0, text: /\/notes\/a\.txt/ })
  t.match(await run(plain.node, 'extract', filename, '/notes/a.txt'), { code: 0, text: /a\.txt/ })
  t.equal(written('a.txt'), 'of the owner', 'by default, it is that of the owner')
  t.match(await run(plain.node, 'extract', filename, '/notes/a.txt', ...ofAda), {
    code: 1,
    text: /Nothing was written\. With --yes/,
  })
  t.equal(written('a.txt'), 'of the owner')
  t.match(await run(plain.node, 'extract', filename, 'notes/a.txt', ...ofAda, '--yes'), { code: 0 })
  t.equal(written('a.txt'), 'of ada')
  t.equal(Math.floor(statSync(join(folder, 'a.txt')).mtimeMs), Number(modified) * 1000)
  t.match(await run(plain.node, 'extract', filename, '/notes/', ...ofAda, '--out', 'back'), { code: 0 })
  t.equal(written('back/notes/a.txt') + written('back/notes/deep/b.txt'), 'of adadeep')
  t.match(await run(plain.node, 'extract', filename, '/notes', '--out', 'back', '--yes'), {
    code: 1,
    text: /back\/notes exists already\. Name another folder: --out/,
  })
  t.match(await run(plain.node, 'extract', filename, '/none'), { code: 1, text: /has no "\/none" of / })
  t.match(await run(plain.node, 'extract', filename, '/a', '--user', 'eve'), {
    code: 1,
    text: new RegExp(`has no user "eve"\\. Its users are: .*${plain.ada.user.username}`),
  })

  const encrypted = join(node.dataFolder, 'backups', (await makeBackup(owner)).filename)
  const uuid = ['--user', ada.user.uuid]
  t.match(await run(node, 'extract', encrypted, '/notes/a.txt', ...uuid, '--out', 'opened'), {
    code: 1,
    text: /is encrypted\. Give its recovery key: --key FILE/,
  })
  t.strictSame(readdirSync(join(folder, 'opened')), [], 'a failure leaves nothing')
  writeFileSync(join(folder, 'recovery.key'), key.identity)
  const opened = ['--out', 'opened', '--key', 'recovery.key']
  t.match(await run(node, 'extract', encrypted, '/notes/a.txt', ...uuid, ...opened), { code: 0 })
  t.equal(written('opened/a.txt'), 'of ada')

  const overHttp = { filename: basename(encrypted), text: 'a.txt' }
  t.equal((await post(owner, 'find', overHttp)).status, 400)
  const answer = await post(owner, 'find', { ...overHttp, key: key.identity })
  t.match(await answer.json(), { count: 1, found: [{ userUuid: ada.user.uuid, path: '/notes/a.txt' }] })
  const putBack = { filename: basename(encrypted), userUuid: ada.user.uuid, path: '/notes/a.txt' }
  t.equal((await post(owner, 'put-back', { ...putBack, key: key.identity })).status, 200)

  const archive = join(plain.node.dataFolder, 'backups', filename)
  const bytes = readFileSync(archive)
  bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1
  mkdirSync(join(folder, 'damaged'))
  writeFileSync(join(folder, 'damaged.tar.gz'), bytes)
  t.match(await run(plain.node, 'extract', './damaged.tar.gz', '/notes/a.txt', '--out', 'damaged'), {
    code: 1,
  })
  t.strictSame(readdirSync(join(folder, 'damaged')), [], 'a backup that is damaged anywhere gives nothing')
})
