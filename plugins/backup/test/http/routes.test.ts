import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { createBackupNode, makeBackup, put } from '../fixtures/backup-node.ts'

const filenames = /^backup-\d{8}-\d{6}\.tar\.gz$/

test('a backup is made, listed, downloaded, opened with plain tar, and deleted', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const ada = await node.signIn()
  await put(ada, '/notes/hello.txt', 'hello')
  await ada.fetch('/mkdir', {
    method: 'POST',
    body: JSON.stringify({ path: '/empty' }),
    headers: { 'content-type': 'application/json' },
  })

  t.strictSame(await (await owner.fetch('/api/backup/list')).json(), { backups: [] })
  const before = Date.now()
  const answer = await owner.fetch('/api/backup/create', { method: 'POST' })
  t.equal(answer.status, 200)
  const made = (await answer.json()) as { success: boolean; filename: string; size: number }
  t.strictSame(Object.keys(made), ['success', 'filename', 'size'])
  t.match(made.filename, filenames)

  const { backups } = (await (await owner.fetch('/api/backup/list')).json()) as {
    backups: { filename: string; size: number; created: string }[]
  }
  t.strictSame(backups, [{ filename: made.filename, size: made.size, created: backups[0]?.created }])
  const created = Date.parse(backups[0]?.created ?? '')
  t.ok(created >= before && created <= Date.now(), 'created is the moment of the state')

  const download = await owner.fetch(`/api/backup/download/${made.filename}`)
  t.equal(download.status, 200)
  t.equal(download.headers.get('content-disposition'), `attachment; filename=${made.filename}`)
  const bytes = Buffer.from(await download.arrayBuffer())
  t.equal(bytes.length, made.size)
  const range = await owner.fetch(`/api/backup/download/${made.filename}`, {
    headers: { range: 'bytes=10-19' },
  })
  t.equal(range.status, 206)
  t.strictSame(Buffer.from(await range.arrayBuffer()), bytes.subarray(10, 20))

  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-backup-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'backup.tar.gz'), bytes)
  execFileSync('tar', ['xzf', 'backup.tar.gz'], { cwd: folder })
  t.equal(readFileSync(join(folder, 'files/local', ada.user.uuid, 'notes/hello.txt'), 'utf8'), 'hello')
  t.strictSame(readdirSync(join(folder, 'files/local', ada.user.uuid, 'empty')), [])
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder, stdio: 'ignore' })

  const second = await makeBackup(owner)
  t.not(second.filename, made.filename, 'a second backup within the same second has another name')
  const removed = await owner.fetch(`/api/backup/${made.filename}`, { method: 'DELETE' })
  t.strictSame(await removed.json(), { success: true })
  t.equal((await owner.fetch(`/api/backup/${made.filename}`, { method: 'DELETE' })).status, 404)
  t.strictSame(readdirSync(join(node.dataFolder, 'backups')), [second.filename], 'nothing else is left')
})

test('only the owner has backups', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const [method, path] of [
    ['POST', 'create'],
    ['GET', 'list'],
    ['GET', 'status'],
    ['GET', 'download/backup-20260101-000000.tar.gz'],
    ['DELETE', 'backup-20260101-000000.tar.gz'],
  ] as const) {
    t.equal((await ada.fetch(`/api/backup/${path}`, { method })).status, 403, path)
    t.equal((await node.fetch(`/api/backup/${path}`, { method })).status, 401, path)
  }
})

test('a name of a file leads nowhere else', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  await makeBackup(owner)
  for (const name of [
    '..%2Fstate.sqlite',
    '%2e%2e%2fstate.sqlite',
    '..%5cstate.sqlite',
    '%252e%252e%252fstate.sqlite',
    'backup-20260101-000000.tar.gz%00',
    'backup-20260101-000000.tar.gz%2f..%2f..%2fstate.sqlite',
    '%2Fetc%2Fpasswd',
    'backup-20260101-000000.tar.gz',
    '..%c0%af..%c0%afstate.sqlite',
  ]) {
    const answer = await owner.fetch(`/api/backup/download/${name}`)
    t.ok([400, 404].includes(answer.status), `${name}: ${answer.status}`)
    t.match(await answer.json(), { error: true }, name)
  }
})

test('a second backup meanwhile is refused, and a client that leaves ends nothing', async (t) => {
  const node = await createBackupNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  for (let index = 0; index < 200; index += 1) await put(owner, `/many/${index}.txt`, `${index}`)
  const leave = new AbortController()
  const left = owner.fetch('/api/backup/create', { method: 'POST', signal: leave.signal }).catch(() => null)
  const status = async () =>
    (await (await owner.fetch('/api/backup/status')).json()) as {
      running: { step: string } | null
      last: { filename: string | null } | null
    }
  const hasBegun = async () => {
    const { running, last } = await status()
    return running !== null || last !== null
  }
  while (!(await hasBegun()));
  const second = await owner.fetch('/api/backup/create', { method: 'POST' })
  leave.abort()
  await left
  if (second.status !== 200) {
    t.equal(second.status, 409)
    t.match(await second.json(), { error: true, code: 'CONFLICT' })
  }
  while ((await status()).running !== null);
  t.match((await status()).last, { filename: filenames, problem: null })
})

test('what lies in the folder and cannot be read does not hide the backups, and is told once', async (t) => {
  const lines: string[] = []
  const node = await createBackupNode({ onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const { filename } = await makeBackup(owner)
  const folder = join(node.dataFolder, 'backups')
  mkdirSync(join(folder, 'backup-20250101-000000.tar.gz'))
  execFileSync('mkfifo', [join(folder, 'backup-20250102-000000.tar.gz')])
  writeFileSync(join(folder, 'backup-20250103-000000.tar.gz'), 'no archive')
  // Also the one who may read everything cannot follow it.
  symlinkSync('backup-20250104-000000.tar.gz', join(folder, 'backup-20250104-000000.tar.gz'))
  const listed = async () => {
    const answer = await owner.fetch('/api/backup/list')
    t.equal(answer.status, 200)
    const { backups } = (await answer.json()) as { backups: { filename: string }[] }
    return backups.map((backup) => backup.filename)
  }
  for (let count = 0; count < 2; count++) t.strictSame(await listed(), [filename])
  const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /cannot be read/.test(msg))
  t.match(
    told.sort((a, b) => (a.filename < b.filename ? -1 : 1)),
    ['1', '2', '3', '4'].map((day) => ({
      filename: `backup-2025010${day}-000000.tar.gz`,
      reason: day === '4' ? /^ELOOP/ : /^The archive backup-\S+ is /,
    })),
  )
  const second = await makeBackup(owner)
  t.strictSame(await listed(), [second.filename, filename], 'backups are made all the same')
})
