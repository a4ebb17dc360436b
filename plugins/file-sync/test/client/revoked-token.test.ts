import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { createSyncNode, put, send, withToken } from '../fixtures/sync-node.ts'
import { startLine } from './fixtures/line.ts'
import { syncFolder, temporaryFolder } from './fixtures/synced-folders.ts'

const node = await createSyncNode()
t.teardown(() => node.stop())

const bytes = randomBytes(12_000_000)
const stopped = {
  kind: 'stop',
  message: /does not accept the token any more. Log in again with ".* login --node http:\/\/127.0.0.1:\d+"/,
}

/** A line to the node, and tokens of a user for sync. */
async function prepare(t: Test, user: TestUser) {
  const line = await startLine(node.url)
  t.teardown(() => line.stop())
  const newToken = () => withToken(node, user, ['files:read', 'files:write'])
  const revoke = (id: string) => send(user, 'DELETE', `/api/account/tokens/${id}`)
  return { line, newToken, revoke, folder: await temporaryFolder(t) }
}

t.test('a token that is revoked during an upload stops the client, and nothing is lost', async (t) => {
  const user = await node.signIn()
  const { line, newToken, revoke, folder } = await prepare(t, user)
  await writeFile(join(folder, 'large'), bytes)
  const held = line.holdAfter(4_000_000)
  const token = await newToken()
  const sync = await syncFolder(t, node, token, { folder, url: line.url })
  await held
  await revoke(token.id)
  line.release()
  await t.rejects(sync.ended, stopped)
  t.equal((await user.fetch('/stat?path=/large')).status, 404, 'the node has no half of the file')
  t.ok((await readFile(join(folder, 'large'))).equals(bytes), 'the device has the whole file')

  const before = line.bytes
  const again = await syncFolder(t, node, await newToken(), { folder, url: line.url })
  await again.idle()
  const stored = await (await user.fetch('/read?path=/large')).arrayBuffer()
  t.ok(Buffer.from(stored).equals(bytes), 'with another token, the upload goes on')
  t.ok(line.bytes - before < bytes.length - 2_000_000, 'where it was')
})

t.test('a token that is revoked during a download stops the client, and nothing is lost', async (t) => {
  const user = await node.signIn()
  const { line, newToken, revoke, folder } = await prepare(t, user)
  await put(user, '/large', bytes)
  const held = line.holdAfter(4_000_000)
  const token = await newToken()
  const sync = await syncFolder(t, node, token, { folder, url: line.url })
  await held
  await revoke(token.id)
  line.cut()
  await t.rejects(sync.ended, stopped)
  t.same(await readdir(folder), ['.nodekeep-sync'], 'no half of the file has its name')
  t.same(await readdir(join(folder, '.nodekeep-sync/incoming')), [], 'nor stays elsewhere')

  const again = await syncFolder(t, node, await newToken(), { folder, url: line.url })
  await again.idle()
  t.ok((await readFile(join(folder, 'large'))).equals(bytes), 'with another token, the file arrives')
})
