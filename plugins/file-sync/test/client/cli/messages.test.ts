import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Wallet } from 'ethers'
import t from 'tap'
import { login } from '../../../src/client/cli/login.ts'
import { readStatus, StatusFile, setPaused } from '../../../src/client/cli/status-file.ts'
import { printable, stateText, waitingText } from '../../../src/client/cli/status-text.ts'
import { sync } from '../../../src/client/cli/sync.ts'
import { startHostileNode } from '../fixtures/hostile-node.ts'
import { temporaryFolder } from '../fixtures/synced-folders.ts'

const status = {
  isConnected: true,
  isPaused: false,
  isIdle: true,
  synced: 100,
  open: 60,
  heldDeletions: 60,
  problems: new Map(),
  trouble: null,
}

t.test('wrong options are told, with advice', async (t) => {
  const folder = await temporaryFolder(t)
  const key = join(folder, 'wallet.key')
  await writeFile(key, 'no-key')
  const node = 'http://127.0.0.1:4200'
  await t.rejects(login({ node: 'me.example.org' }), { kind: 'stop', message: /such as https:/ })
  await t.rejects(login({ node, key: join(folder, 'none') }), { kind: 'stop', message: /no such file/ })
  const noKey = await login({ node, key }).catch((error: Error) => error.message)
  t.match(noKey, /must contain a private key/)
  t.notMatch(noKey, /no-key/, 'a message does not show what is in the file')
  await t.rejects(sync(folder, { node: 'me.example.org' }), { kind: 'stop', message: /such as https:/ })
  await t.rejects(setPaused(folder, true), { kind: 'stop', message: /not synced/ })
  process.env.NODEKEEP_SYNC_TOKEN = 'any'
  t.teardown(() => delete process.env.NODEKEEP_SYNC_TOKEN)
  for (const name of ['Büro', 'disk', ''])
    await t.rejects(sync(folder, { node, name }), { kind: 'stop', message: /no name for a device/ })
})

t.test('a wallet signs for no other site, and an answer that is none of a node is told', async (t) => {
  const folder = await temporaryFolder(t)
  const key = join(folder, 'wallet.key')
  await writeFile(key, Wallet.createRandom().privateKey)
  const node = await startHostileNode(t)
  const nonce = { nonce: 'abcdefgh', expires: '', uri: node.url.origin, chainId: 1, statement: 'Sign in.' }
  node.on('/auth/siwe/nonce', { ...nonce, domain: 'bank.example' })
  const options = { node: node.url.href, key }
  await t.rejects(login(options), { kind: 'stop', message: /asks for a sign-in at bank\.example/ })
  node.on('/auth/siwe/nonce', { ...nonce, domain: node.url.host })
  for (const answer of [{}, { sessionToken: 1 }, null]) {
    node.on('/auth/siwe', (_request, outgoing) => outgoing.end(JSON.stringify(answer)))
    await t.rejects(login(options), { kind: 'stop', message: /does not answer as a node/ })
  }
  t.same(
    node.requests.filter((path) => !path.startsWith('/auth/siwe')),
    [],
  )
})

t.test('a client that waits for its person says so', async (t) => {
  t.equal(stateText(status), 'waiting for you')
  t.match(waitingText('/cloud', status), /60 files would be deleted.*--allow-deletions/)
  const paused = { ...status, isPaused: true }
  t.match(waitingText('/cloud', paused), /nodekeep-sync resume \/cloud$/)
  t.equal(printable('a\u001b[2Jb\n'), 'a\ufffd[2Jb\ufffd')
})

t.test('a status is written when it has changed, and a damaged one is none', async (t) => {
  const folder = await temporaryFolder(t)
  const path = join(folder, '.nodekeep-sync/status.json')
  await mkdir(join(folder, '.nodekeep-sync'))
  const file = new StatusFile(folder, 'http://127.0.0.1:4200')
  await file.write(status)
  const { ino } = await stat(path)
  await file.write({ ...status })
  t.equal((await stat(path)).ino, ino)
  await file.write({ ...status, open: 1 })
  t.match(await readStatus(folder), { open: 1, isPaused: false })
  await setPaused(folder, true)
  t.match(await readStatus(folder), { isPaused: true }, 'also if no client has seen it yet')
  const problems = new Map(Array.from({ length: 1001 }, (_, number) => [`/${number}`, 'any']))
  await file.write({ ...status, problems })
  const printed = await readStatus(folder)
  t.match(printed, { problemCount: 1001, problems: { '/999': 'any' } })
  t.equal(Object.keys(printed?.problems ?? {}).length, 1000)
  await writeFile(path, '{')
  t.equal(await readStatus(folder), null)
})
