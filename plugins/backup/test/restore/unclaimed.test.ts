import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { TestNode, TestNodeOptions } from '@nodekeep/kernel/testing'
import t, { type Test, test } from 'tap'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { createBackupNode, makeBackup, put } from '../fixtures/backup-node.ts'
import { read, restoresIn } from './fixtures/house.ts'

t.jobs = 3

interface Archive {
  readonly bytes: Buffer<ArrayBuffer>
  readonly filename: string
  readonly owner: string
}

/** Makes a backup of a node with an owner, Ada and a file of each. */
async function archiveOf(t: Test, options: TestNodeOptions = {}): Promise<Archive> {
  const node = await createBackupNode(options)
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const ada = await node.signIn()
  await put(owner, '/a', 'of the owner')
  await put(ada, '/b', 'of Ada')
  // Several members of gzip: the upload reads only the first.
  await put(ada, '/large', randomBytes(3_000_000))
  const { filename } = await makeBackup(owner)
  const bytes = readFileSync(join(node.dataFolder, 'backups', filename))
  return { bytes, filename, owner: owner.user.username }
}

/** Starts a node without an owner, in an empty folder or on the data that it had. */
async function startUnclaimed(t: Test, options: TestNodeOptions = {}): Promise<TestNode> {
  const dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), 'nodekeep-unclaimed-'))
  const node = await createBackupNode({ ...options, dataFolder })
  t.teardown(async () => {
    await node.stop()
    rmSync(dataFolder, { recursive: true, force: true })
  })
  return node
}

function upload(node: TestNode, body: Buffer<ArrayBuffer>, headers: Record<string, string> = claimOf(node)) {
  return node.fetch('/auth/restore', {
    method: 'PUT',
    headers: { 'content-type': 'application/gzip', ...headers },
    body,
  })
}

function claimOf(node: TestNode): Record<string, string> {
  return { 'x-nodekeep-claim': node.claimCode() ?? '' }
}

function post(node: TestNode, step: string, body: object, headers = claimOf(node)): Promise<Response> {
  return node.fetch(`/auth/restore/${step}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** Begins an upload of a number of bytes, of which the test sends some. */
function beginUpload(node: TestNode, bytes: number): ClientRequest {
  return request(new URL('/auth/restore', node.url), {
    method: 'PUT',
    headers: { 'content-type': 'application/gzip', 'content-length': bytes, ...claimOf(node) },
  })
}

const uploadedIn = (node: TestNode) => join(node.dataFolder, 'plugins', 'backup', 'uploaded')

test('a backup comes into a node without an owner by the claim code, and the next start has it', async (t) => {
  const key = await generateKey()
  const archive = await archiveOf(t, { config: { backup: { recipients: [key.recipient] } } })
  const lines: string[] = []
  const node = await startUnclaimed(t, {
    config: { supervised: true },
    onLog: (line) => lines.push(line),
  })
  t.equal((await post(node, 'compare', {})).status, 404, 'there is none yet')

  const uploaded = await upload(node, archive.bytes)
  t.match(await uploaded.json(), { size: archive.bytes.length, encrypted: true, created: /^\d{4}-/ })
  const closed = await post(node, 'compare', {})
  t.equal(closed.status, 400)
  t.match(await closed.json(), { message: /encrypted/ })
  t.equal((await post(node, 'compare', { key: (await generateKey()).identity })).status, 400)
  const compared = await post(node, 'compare', { key: key.identity })
  const found = (await compared.json()) as { prepared: string }
  t.match(found, {
    planned: false,
    supervised: true,
    addedUsers: { count: 2 },
    removedUsers: { count: 0 },
    owner: { present: null, restored: { username: archive.owner } },
  })
  t.strictSame(await (await node.fetch('/auth/restore', { headers: claimOf(node) })).json(), {
    reading: null,
  })
  t.notOk(existsSync(join(node.dataFolder, 'restore', 'plan.json')), 'nothing is planned yet')
  t.equal((await post(node, 'confirm', { prepared: '../state' })).status, 404)
  const confirmed = await post(node, 'confirm', { prepared: found.prepared })
  t.strictSame(await confirmed.json(), { restarts: true })
  t.notOk(existsSync(uploadedIn(node)), 'the archive is gone')
  t.match(
    lines.map((line) => JSON.parse(line)).filter(({ event }) => event !== undefined),
    [
      { event: 'backup-uploaded', bytes: archive.bytes.length, ip: '127.0.0.1' },
      { event: 'restore-planned', filename: archive.filename, ip: '127.0.0.1' },
    ],
  )
  const former = claimOf(node)
  t.notOk(lines.join().includes(node.claimCode() ?? ''), 'the log has no claim code')
  const { dataFolder } = node
  await node.stop()

  const restored = await startUnclaimed(t, { dataFolder })
  t.equal(restored.claimCode(), null)
  const owner = await restored.signIn('owner')
  t.equal(owner.user.username, archive.owner)
  t.equal(await read(owner, '/a'), 'of the owner')
  const refused = await restored.fetch('/auth/restore', { headers: former })
  t.equal(refused.status, 403)
  t.match(await refused.json(), { message: /has an owner/ })
})

test('only the claim code opens the upload, and nothing does once the node has an owner', async (t) => {
  const { bytes } = await archiveOf(t)
  const node = await startUnclaimed(t)
  const code = claimOf(node)
  const isRefused = async (headers: Record<string, string>, message: RegExp) => {
    const answers = [
      await upload(node, bytes, headers),
      await node.fetch('/auth/restore', { headers }),
      await post(node, 'compare', {}, headers),
      await post(node, 'confirm', { prepared: 'x' }, headers),
    ]
    for (const answer of answers) {
      t.equal(answer.status, 403)
      t.match(await answer.json(), { error: true, message })
    }
    t.notOk(existsSync(uploadedIn(node)))
  }
  await isRefused({}, /claim code is wrong/)
  await isRefused({ 'x-nodekeep-claim': 'AAAA-AAAA-AAAA' }, /claim code is wrong/)
  await isRefused({ 'x-nodekeep-claim': 'A'.repeat(5000) }, /claim code is wrong/)
  await isRefused({ ...code, origin: 'https://evil.example' }, /another site/)
  t.equal((await upload(node, bytes, { ...code, 'content-type': 'text/plain' })).status, 415)

  t.equal((await upload(node, bytes)).status, 200)
  const { prepared } = (await (await post(node, 'compare', {})).json()) as { prepared: string }
  await node.signIn('owner')
  t.equal((await post(node, 'confirm', { prepared }, code)).status, 403)
  t.notOk(existsSync(join(node.dataFolder, 'restore', 'plan.json')))
  const { dataFolder } = node
  await node.stop()

  const again = await startUnclaimed(t, { dataFolder })
  const owner = await again.signIn('owner')
  while (existsSync(uploadedIn(again)) || restoresIn(dataFolder).length > 0)
    await (await owner.fetch('/api/backup/status')).json()
  t.pass('the next start removes what was uploaded before the node had an owner')

  const other = await startUnclaimed(t)
  const statuses: number[] = []
  for (let count = 0; count < 121; count++) {
    const answer = await other.fetch('/auth/restore', { headers: { 'x-nodekeep-claim': `WRONG-${count}` } })
    statuses.push(answer.status)
    await answer.body?.cancel()
  }
  t.equal(statuses.at(-1), 429, 'tries are limited')
})

test('an upload that breaks off, is no backup or finds no room leaves nothing', async (t) => {
  const { bytes } = await archiveOf(t)
  const node = await startUnclaimed(t)
  const isRefused = async (body: Buffer<ArrayBuffer>, message: RegExp) => {
    const answer = await upload(node, body)
    t.equal(answer.status, 400)
    t.match(await answer.json(), { message })
    t.notOk(existsSync(uploadedIn(node)))
  }
  await isRefused(Buffer.from('a letter'), /is no backup/)
  await isRefused(Buffer.alloc(0), /is no backup/)
  await isRefused(gzipSync('a letter'), /uploaded\.tar\.gz/)

  const large = beginUpload(node, 2 ** 50)
  large.on('error', () => {})
  const full = await new Promise<string>((resolve, reject) => {
    large.once('response', (answer) => {
      t.equal(answer.statusCode, 507)
      text(answer).then(resolve, reject)
    })
    large.write(bytes.subarray(0, 1000))
  })
  large.destroy()
  t.match(full, /too little space for this backup/)

  const cut = beginUpload(node, bytes.length)
  cut.on('error', () => {})
  cut.write(bytes.subarray(0, 1000))
  while (!existsSync(uploadedIn(node))) await (await node.fetch('/whoami')).json()
  const second = await upload(node, bytes)
  t.equal(second.status, 409, 'one at a time')
  cut.destroy()
  while (existsSync(uploadedIn(node))) await (await node.fetch('/whoami')).json()
  t.pass('it is gone')

  const damaged = Buffer.from(bytes)
  const middle = Math.floor(bytes.length * 0.7)
  damaged[middle] = (damaged[middle] ?? 0) ^ 1
  let answer = await upload(node, damaged)
  // The upload that broke off may end just now.
  while (answer.status === 409) answer = await upload(node, damaged)
  t.equal(answer.status, 200)
  const compared = await post(node, 'compare', {})
  t.equal(compared.status, 400)
  t.match(await compared.json(), { message: /The archive backup-\S+ / })
  t.strictSame(restoresIn(node.dataFolder), [])

  t.equal((await upload(node, bytes)).status, 200, 'the next one takes its place')
  t.equal(readdirSync(uploadedIn(node)).length, 1)
  t.equal((await post(node, 'compare', {})).status, 200)
})
