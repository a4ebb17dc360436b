// In a process of its own: it starts four nodes, one after the other.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { Wallet } from 'ethers'
import { test } from 'tap'

type Signer = Pick<Wallet, 'address' | 'signMessage'>
/** Calls a node with a session. */
type Caller = (path: string, init?: RequestInit) => Promise<Response>

interface Entry {
  readonly path: string
  readonly type: string
  readonly size: number
  readonly created: string
  readonly modified: string
}

/** A node whose users sign in with wallets. */
function startNode(dataFolder: string, owner: Signer): Promise<TestNode> {
  return createTestNode({
    dataFolder,
    folder: import.meta.dirname,
    config: {
      auth: { owner: owner.address },
      backup: { drill: false },
      plugins: { 'login-siwe': true, files: true, 'storage-local': true, backup: true },
    },
  })
}

async function signIn(node: TestNode, wallet: Signer): Promise<Caller & { readonly headers: object }> {
  const answer = (await (await node.fetch('/auth/siwe/nonce')).json()) as NonceAnswer
  const credentials = await siweCredentials(answer, wallet.address, (message) => wallet.signMessage(message))
  const signedIn = await node.fetch('/auth/siwe', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  })
  if (!signedIn.ok) throw new Error(await signedIn.text())
  const { sessionToken } = (await signedIn.json()) as { sessionToken: string }
  const headers = { authorization: `Bearer ${sessionToken}` }
  const call: Caller = (path, init = {}) =>
    node.fetch(path, { ...init, headers: { ...init.headers, ...headers } })
  return Object.assign(call, { headers })
}

async function post<T>(call: Caller, path: string, body: unknown = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const answer = await call(path, { method: 'POST', body: JSON.stringify(body), headers })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as T
}

async function put(call: Caller, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const answer = await call(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${text}`)
}

/** Everything that a user sees: each entry with its dates, and each file with the hash of its content. */
async function treeOf(call: Caller): Promise<(Entry & { hash?: string })[]> {
  const found: (Entry & { hash?: string })[] = []
  const folders = ['/']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const answer = await call(`/readdir?path=${encodeURIComponent(folder)}`)
    if (!answer.ok) throw new Error(await answer.text())
    for (const { name } of (await answer.json()) as { name: string }[]) {
      const path = `${folder === '/' ? '' : folder}/${name}`
      const stat = await call(`/stat?path=${encodeURIComponent(path)}`)
      const { type, size, created, modified } = (await stat.json()) as Entry
      if (type === 'directory') {
        folders.push(path)
        found.push({ path, type, size, created: '', modified: '' })
        continue
      }
      const content = await call(`/read?path=${encodeURIComponent(path)}`)
      const hash = createHash('sha256')
        .update(Buffer.from(await content.arrayBuffer()))
        .digest('hex')
      found.push({ path, type, size, created, modified, hash })
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** A path of an exact number of bytes. */
function longPath(bytes: number): string {
  let path = ''
  while (bytes - path.length > 202) path += `/${'d'.repeat(200)}`
  return `${path}/${'f'.repeat(bytes - path.length - 1)}`
}

test('a node with three users is restored on another data path: sign-ins, files, dates, and the next backup', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-restore-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const wallets = [Wallet.createRandom(), Wallet.createRandom(), Wallet.createRandom()] as const
  const first = await startNode(join(folder, 'first'), wallets[0])
  let node = first
  t.teardown(() => node.stop())
  const users = await Promise.all(wallets.map((wallet) => signIn(first, wallet)))
  const [owner, ada, bob] = users as unknown as [Caller, Caller, Caller]
  await put(owner, '/notes.txt', 'first')
  await put(owner, '/notes.txt', 'second, with the date of the first')
  await post(owner, '/mkdir', { path: '/empty/inner' })
  await put(ada, '/zero', '')
  for (const name of [
    'with space',
    'quote"\'',
    'line\nbreak',
    'üñï',
    '😀',
    '-rf',
    'trailing.',
    '~',
    '%2e',
    'a:b',
  ]) {
    await put(ada, `/odd/${name}`, name)
  }
  await put(bob, '/large.bin', randomBytes(3_000_000))
  await put(bob, longPath(4096), 'deep')
  const token = await post<{ token: string }>(owner, '/api/account/tokens', {
    name: 'program',
    scopes: ['files:read'],
  })
  const before = await Promise.all(users.map(treeOf))
  const whoami = async (call: Caller) => {
    const { user } = (await (await call('/whoami')).json()) as { user: { uuid: string; username: string } }
    return user
  }
  const names = await Promise.all(users.map(whoami))
  const { filename } = await post<{ filename: string }>(owner, '/api/backup/create')
  await put(bob, '/later.txt', 'not in the backup')
  await first.stop()

  // Another machine: an empty node takes the archive, and restores it.
  const second = join(folder, 'second')
  const stranger = Wallet.createRandom()
  node = await startNode(second, stranger)
  const strangers = await signIn(node, stranger)
  await put(strangers, '/mine.txt', 'of the former node')
  const { user: former } = (await (await strangers('/whoami')).json()) as {
    user: { uuid: string; username: string }
  }
  mkdirSync(join(second, 'backups'), { recursive: true })
  await cp(join(folder, 'first', 'backups', filename), join(second, 'backups', filename))
  const planned = await post<{ addedUsers: { first: string[] } }>(strangers, '/api/backup/restore', {
    filename,
    confirm: true,
  })
  t.match(planned, {
    success: true,
    planned: true,
    supervised: false,
    addedUsers: { count: 3 },
    removedUsers: { count: 1, first: [former.username] },
    changedUsers: { count: 0, first: [] },
    owner: {
      present: { username: former.username, wallet: stranger.address },
      restored: { username: names[0]?.username, wallet: wallets[0].address },
    },
  })
  t.strictSame(planned.addedUsers.first, names.map(({ username }) => username).sort())
  t.equal(await (await strangers('/read?path=/mine.txt')).text(), 'of the former node', 'the node works on')
  await node.stop()

  node = await startNode(second, wallets[0])
  t.equal((await node.fetch('/readdir?path=/', { headers: { ...strangers.headers } })).status, 401)
  t.equal(
    (await node.fetch('/readdir?path=/', { headers: { ...users[1]?.headers } })).status,
    401,
    'sessions are gone',
  )
  const headers = { authorization: `Bearer ${token.token}` }
  t.equal((await node.fetch('/readdir?path=/', { headers })).status, 401, 'API tokens of the backup are gone')
  const back = await Promise.all(wallets.map((wallet) => signIn(node, wallet)))
  t.strictSame(await Promise.all(back.map(whoami)), names)
  t.strictSame(await Promise.all(back.map(treeOf)), before)
  t.equal(statSync(join(second, 'state.sqlite')).mode & 0o777, 0o600)
  t.strictSame(
    readdirSync(join(second, 'files'))
      .filter((name) => name !== '.nodekeep')
      .sort(),
    names.map(({ uuid }) => uuid).sort(),
  )
  const name = filename.replace('.tar.gz', '')
  const kept = join(second, 'files', '.nodekeep', 'restore', name, 'previous', former.uuid, 'mine.txt')
  t.ok(existsSync(kept), 'the former data is kept')
  const status = async () =>
    (await (await (back[0] as Caller)('/api/backup/status')).json()) as { previous: { bytes: number }[] }
  while ((await status()).previous.length === 0);
  t.ok(((await status()).previous[0]?.bytes ?? 0) > 0)

  const again = await post<{ filename: string }>(back[0] as Caller, '/api/backup/create')
  t.not(again.filename, filename)
  await put(back[2] as Caller, '/large.bin', 'changed')
  await post(back[0] as Caller, '/api/backup/restore', { filename: again.filename, confirm: true })
  await node.stop()
  node = await startNode(second, wallets[0])
  const thrice = await Promise.all(wallets.map((wallet) => signIn(node, wallet)))
  t.strictSame(await Promise.all(thrice.map(treeOf)), before, 'the second backup restores the same')
})
